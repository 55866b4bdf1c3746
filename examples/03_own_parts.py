# %% [markdown]
# A posterior, rewards, a constraint and an oracle of your own. None inherits anything: superarm asks for a few methods,
# and its checks (`sa.check_posterior` and others) say whether these do what superarm expects of them.

# %%
from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

import superarm as sa

# %% [markdown]
# ## A posterior: Bayesian linear regression of each outcome on (1, x)


# %%
@dataclass(frozen=True)
class LinearRegression:
    precision: np.ndarray  # (2, D + 1, D + 1), one per outcome
    moment: np.ndarray  # (2, D + 1)
    noise_std: float

    @classmethod
    def prior(cls, dimension: int, noise_std: float) -> LinearRegression:
        return cls(np.stack([np.eye(dimension + 1)] * 2), np.zeros((2, dimension + 1)), noise_std)

    def predict(self, contexts: np.ndarray) -> sa.Belief:
        features = np.column_stack([np.ones(len(contexts)), contexts])
        mean = features @ np.linalg.solve(self.precision, self.moment[..., None])[..., 0].T
        variance = np.einsum("mi,jik,mk->mj", features, np.linalg.inv(self.precision), features)
        return sa.Belief(mean=mean, std=np.sqrt(variance))

    def condition(self, contexts: np.ndarray, outcomes: np.ndarray) -> LinearRegression:
        features = np.column_stack([np.ones(len(contexts)), contexts])
        precision, moment = self.precision.copy(), self.moment.copy()
        for j in range(2):
            came = ~np.isnan(outcomes[:, j])  # an outcome that never came teaches nothing
            precision[j] += features[came].T @ features[came] / self.noise_std**2
            moment[j] += features[came].T @ outcomes[came, j] / self.noise_std**2
        return replace(self, precision=precision, moment=moment)


sa.check_posterior(LinearRegression.prior(1, noise_std=0.1))

# %% [markdown]
# ## A super-arm reward: the saturating utility log(1 + sum)
# `scores` and `transform` declare that it is a function of a sum, so the exact decomposition can maximise it.


# %%
class LogUtility:
    def value(self, outcomes, arms):
        return self.transform(math.fsum(outcomes))

    def scores(self, outcomes, arms):
        return outcomes

    def transform(self, total):
        return math.log1p(max(total, 0.0))


sa.check_reward(LogUtility())

# %% [markdown]
# ## A group reward and its constraint: the probability that at least one request leaks, 1 - prod(1 - p)
# Its normal form is linear in log(1 - p). Without `normal_form`, the solver would enumerate groups, up to 14 arms each.


# %%
class LeakProbability:
    monotone = "increasing"

    def value(self, outcomes, arms):
        return 1.0 - math.prod(1.0 - np.clip(outcomes, 0.0, 1.0))

    def normal_form(self, outcomes, arms, groups, thresholds, sense):
        with np.errstate(divide="ignore"):
            keeps = np.log1p(-np.clip(outcomes, 0.0, 1.0 - 1e-15))
            edge = np.log1p(-np.clip(thresholds + sense.sign * -sa.tolerance(thresholds), None, 1.0 - 1e-15))
        return sa.normal_forms.WeightedSum(weights=-sense.sign * keeps, least=-sense.sign * edge)


sa.check_group_reward(LeakProbability())

# %% [markdown]
# ## An oracle: add one arm after the other, always the best that keeps every promise
# An oracle is the solver that looks for the best super arm. This one proves nothing, so it claims no bound; `alpha` is
# then None.


# %%
class OneByOne:
    def __call__(self, index, round, good):
        allowed = good.without_promises() if good.is_empty() else good
        required, most = round.feasible.totals(len(round))
        caps = round.feasible.caps(round.grouping)
        arms: list[int] = []
        for arm in sorted(range(len(round)), key=lambda arm: -index[arm]):
            group = round.grouping.codes[arm]
            taken = sum(round.grouping.codes[other] == group for other in arms)
            if len(arms) < most and taken < caps[group] and index[arm] > 0 and allowed.allows([*arms, arm]):
                arms.append(arm)
        if len(arms) < required:
            raise sa.errors.UnsolvableRound("OneByOne cannot promise a size")
        return sa.Selection.of(arms, round=round, index=index, good=good, solver="one by one")


def sized_at_most(index, round, good):
    """Only rounds with AtMost: `check_oracle` lets an oracle refuse what it was not made for."""
    if not isinstance(round.feasible, sa.AtMost):
        raise sa.errors.UnsolvableRound("made for AtMost")
    return OneByOne()(index, round, good)


sa.check_oracle(sized_at_most)

# %% [markdown]
# ## All of them in TCGP-UCB

# %%
policy = sa.TCGPUCB(LinearRegression.prior(1, noise_std=0.05), oracle=sized_at_most)
rng = np.random.default_rng(0)
for t in range(1, 4):
    x = rng.uniform(size=(40, 1))
    round = sa.Round(
        t=t,
        contexts=x,
        groups=np.arange(40) % 4,
        constraint=sa.Constraint(reward=LeakProbability(), sense="<=", threshold=0.6),
        feasible=sa.AtMost(10),
        reward=LogUtility(),
    )
    selection = policy.select(round)
    indices = policy.indices(round)  # what the oracle was given; the exact one answers the same question
    best = sa.Automatic()(indices.reward, round, sa.GoodSubgroups(round, indices.satisfying))
    print(f"round {t}: one by one {selection.value:.3f}, exact {best.value:.3f} by {best.solver} (alpha {best.alpha})")
    outcomes = np.column_stack([0.3 + 0.5 * x, 0.4 - 0.3 * x])[selection.arms]
    policy.update(round, selection.arms, outcomes + rng.normal(0, 0.05, outcomes.shape))
