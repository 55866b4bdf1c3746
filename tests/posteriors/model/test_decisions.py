"""Decisions with outcomes, which schedules count."""

import numpy as np

import superarm as sa
from superarm.posteriors.model.decisions import NO_DECISIONS, RECENT
from tests.posteriors.model.streams import arrived


def test_a_round_counts_once_in_whatever_calls_it_comes():
    rng = np.random.default_rng(0)
    one, other = arrived(1, rng), arrived(2, rng)
    seen = NO_DECISIONS
    for round in (one, one, other, one, other):
        seen = seen.after(round)
    assert seen.count == 2
    again = sa.Round(t=1, contexts=one.contexts, groups=one.groups, constraint=sa.Sum() <= 1.0, feasible=sa.AtMost(3))
    assert seen.after(again) is seen, "what is promised is no part of it"


def test_another_t_other_contexts_or_other_labels_are_another_decision():
    contexts, labels = np.random.default_rng(0).uniform(size=(4, 2)), list("aabb")
    seen = NO_DECISIONS.after(sa.Round(t=1, contexts=contexts, groups=labels, feasible=sa.AtMost(2)))
    for t, x, groups in ((2, contexts, labels), (1, contexts + 1.0, labels), (1, contexts, list("abab"))):
        assert seen.after(sa.Round(t=t, contexts=x, groups=groups, feasible=sa.AtMost(2))).count == 2
    zero = (
        sa.Round(t=1, contexts=[[0.0]], feasible=sa.AtMost(1)),
        sa.Round(t=1, contexts=[[-0.0]], feasible=sa.AtMost(1)),
    )
    assert NO_DECISIONS.after(zero[0]) == NO_DECISIONS.after(zero[1])


def test_only_the_latest_are_remembered():
    seen = NO_DECISIONS
    for t in range(1, RECENT + 11):
        seen = seen.after(sa.Round(t=t, contexts=[[0.0]], feasible=sa.AtMost(1)))
    assert seen.count == RECENT + 10
    assert len(seen.recent) == RECENT
