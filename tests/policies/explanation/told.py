"""Small rounds for the tests of explanations, and a posterior that believes what it is told."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

import superarm as sa

LABELS = ["a", 7, ("shop", 3), "two\nlines", None, b"bytes"]
REWARDS = [
    sa.Sum(),
    sa.Mean(),
    sa.Min(),
    sa.Max(),
    sa.Count(),
    sa.Variance(),
    sa.Custom(np.median, monotone="increasing"),
]


class Told:
    """A user's posterior without covariances: what is believed is looked up by the context, which numbers the arm."""

    def __init__(self, mean, std=0.0):
        self.mean = np.asarray(mean, dtype=float).reshape(-1, 2)
        self.std = np.broadcast_to(std, self.mean.shape)

    def predict(self, contexts):
        rows = np.asarray(contexts)[:, 0].astype(int)
        return sa.Belief(mean=self.mean[rows], std=self.std[rows])

    def condition(self, contexts, outcomes):
        return self


def numbered(arms, **rest):
    return sa.Round(t=1, contexts=np.arange(arms, dtype=float)[:, None], **rest)


@st.composite
def rounds(draw, rewards, most=7):
    """A round of few arms, of few different outcomes so that there are ties, and what is believed of them."""
    arms = draw(st.integers(0, most))
    tenths = st.integers(-4, 10).map(lambda n: n / 10)
    mean = draw(st.lists(st.tuples(tenths, tenths), min_size=arms, max_size=arms))
    labels = draw(st.lists(st.sampled_from(LABELS[:4]), min_size=arms, max_size=arms))
    distinct = list(dict.fromkeys(labels))
    promised = draw(st.lists(st.sampled_from(distinct), unique=True)) if distinct else []
    constraint = {}
    for label in promised:
        reward, threshold = draw(st.sampled_from(REWARDS)), draw(tenths)
        constraint[label] = reward >= threshold if draw(st.booleans()) else reward <= threshold
    cap = draw(st.none() | st.integers(0, 3))
    feasible = draw(
        st.sampled_from([sa.AtMost(per_group=cap), sa.WholeGroups(1), sa.WholeGroups(2)])
        | st.integers(0, 4).map(lambda k: sa.AtMost(k, per_group=cap))
        | st.integers(0, 4).map(lambda k: sa.Exactly(k, per_group=cap))
    )
    reward = draw(st.sampled_from(rewards))
    round = numbered(arms, groups=labels, constraint=constraint or None, feasible=feasible, reward=reward)
    return round, np.array(mean).reshape(-1, 2)


def units(round, arms):
    """What is picked as one: arms, or whole groups; those of ``arms``, and all others."""
    codes = round.grouping.codes
    if round.feasible.whole:
        every = [round.grouping.members(group) for group in range(len(round.labels))]
    else:
        every = [np.array([arm]) for arm in range(len(round))]
    mine = [unit for unit in every if unit[0] in arms]
    assert codes is not None
    return mine, [unit for unit in every if unit[0] not in arms]


def moved(arms, out, into):
    return np.sort(np.concatenate([np.setdiff1d(arms, [] if out is None else out).astype(int), into]))


def fits(round, arms, *, caps=True):
    """Whether a super arm is within caps, total and number of groups, however small it is."""
    touched = np.bincount(round.grouping.codes[arms], minlength=len(round.labels))
    most = round.feasible.totals(len(round))[1]
    return (
        len(arms) <= most
        and np.count_nonzero(touched) <= round.feasible.most_groups(round.grouping)
        and (not caps or bool((touched <= round.caps).all()))
    )


def single_moves(round, arms, into):
    mine, _ = units(round, arms)
    return [moved(arms, out, into) for out in (None, *mine)]


def without(round, label):
    """The same round, its promises written out again but for one."""
    kept = {}
    for promise in round.promises:
        for group, threshold in zip(promise.groups, promise.thresholds, strict=True):
            if round.labels[group] != label:
                kept[round.labels[group]] = sa.Constraint(
                    reward=promise.reward, sense=promise.sense, threshold=threshold
                )
    return sa.Round(
        t=round.t, contexts=round.contexts, groups=round.groups, constraint=kept, feasible=round.feasible,
        reward=round.reward, arm_ids=round.arm_ids, safe=round.safe,
    )  # fmt: skip


def subsets(arms):
    return (
        np.array(chosen, dtype=int) for size in range(len(arms) + 1) for chosen in itertools.combinations(arms, size)
    )
