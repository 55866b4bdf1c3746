# %% [markdown]
# An environment of your own: a class with three methods. It is checked, and several policies play in it, also the
# clairvoyant, which knows the truth.

# %%
import numpy as np

import superarm as sa


class Clinics:
    """Thirty appointments a day at three clinics: each brings health, and each clinic is promised a mean urgency."""

    def rounds(self, rng):
        t = 0
        while True:
            t += 1
            yield sa.Round(
                t=t,
                contexts=rng.uniform(size=(30, 2)),
                groups=rng.choice(["east", "north", "west"], 30),
                constraint=sa.Mean() >= 0.4,
                feasible=sa.AtMost(8),
            )

    def expected_outcomes(self, round):  # the truth: for regret and the clairvoyant only
        x, y = round.contexts.T
        return np.column_stack([x * (1 - 0.5 * y), 0.2 + 0.6 * y])

    def outcomes(self, round, rng):  # of every arm; a simulation shows those picked
        expected = self.expected_outcomes(round)
        return expected + rng.normal(0, 0.05, expected.shape)


sa.check_environment(Clinics())

# %% [markdown]
# `simulate` continues with what a policy has learnt, so make a new policy for every run. The prior never changes, so
# all policies may share it.

# %%
clinics = Clinics()
prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.05)
policies = {
    "TCGP-UCB": sa.TCGPUCB(prior),
    "without groups": sa.OCLOKUCB(prior),
    "uniform": sa.Uniform(),
    "clairvoyant": sa.Clairvoyant(clinics),
}
for name, policy in policies.items():
    trace = sa.simulate(policy, clinics, rounds=30, seed=1)
    ratio = trace["reward"].sum() / trace["optimal_reward"].sum()
    kept = trace["groups_satisfied"].sum() / trace["groups_touched"].sum()
    print(f"{name:15} reward {ratio:.3f} of the optimum's, {kept:.0%} of promises kept")
