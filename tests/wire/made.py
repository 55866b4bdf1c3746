"""Rounds of every kind that travels, as hypothesis strategies."""

import math
from datetime import UTC, time, timedelta, timezone
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

import superarm as sa

HOSTILE = [
    "",
    "array",
    "labels",
    "\0",
    "\ud800",
    "'); DROP TABLE round;--",
    "a\nb",
    "é" * 40,
    "NaN",
    "null",
    "{}",
    "__class__",
]
SINGLE = (
    st.sampled_from(HOSTILE)
    | st.text(max_size=5)
    | st.integers(-(2**70), 2**70)
    | st.just(2**5000)
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.none()
    | st.binary(max_size=4)
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3))]))
    | st.sampled_from([time(9), timedelta(1, 2, 3), Decimal("0.5"), Decimal("-7.25")])
    | st.sampled_from([np.float32(0.1), np.int8(3), np.str_("n"), np.bool_(True), np.datetime64(123, "ns")])
    | st.sampled_from([np.timedelta64(5, "m"), np.timedelta64(2, "D"), np.datetime64("2026-01-01T05:00")])
)
LABELS = st.recursive(
    SINGLE, lambda part: st.tuples(part, part) | st.frozensets(part, max_size=3) | st.just(()), max_leaves=4
)
KINDS = [st.integers(0, 3), st.sampled_from("abcd"), st.sampled_from(HOSTILE), st.floats(0, 1), st.dates(), LABELS]
NUMBERS = st.floats(-10, 10) | st.sampled_from([0.0, -0.0, 5e-324, 1e300, 1 / 3])
FUNCTIONS = [math.log1p, np.sqrt, np.tanh, float]


@st.composite
def group_rewards(draw, arms):
    if draw(st.integers(0, 4)) == 0:
        items = draw(st.lists(draw(st.sampled_from(KINDS)), min_size=arms, max_size=arms))
        return sa.DixitStiglitz(items=items, power=draw(st.sampled_from([1, 2.5, 3, np.float64(3.0)])))
    return draw(st.sampled_from([sa.Sum, sa.Mean, sa.Min, sa.Max, sa.Count, sa.Variance]))()


@st.composite
def rewards(draw, arms):
    if draw(st.integers(0, 2)):
        return draw(group_rewards(arms))
    weights = draw(st.sampled_from([1.0, 2, np.float64(0.3)]) | st.lists(st.floats(0, 5), min_size=arms, max_size=arms))
    if arms == 0 and isinstance(weights, list):
        weights = 1.0
    return sa.TransformedSum(draw(st.sampled_from(FUNCTIONS)), weights=weights)


@st.composite
def per_group(draw, labels, numbers):
    """One number, one for each group in order, or a mapping by label."""
    values = draw(st.lists(numbers, min_size=len(labels), max_size=len(labels)))
    return draw(st.sampled_from([draw(numbers), np.array(values), dict(zip(labels, values, strict=True))]))


@st.composite
def constraints(draw, labels, arms):
    form = draw(st.integers(0, 2))
    if form == 0:
        return None
    thresholds = NUMBERS.filter(math.isfinite)
    sense = st.sampled_from([">=", "<="])
    if form == 1:
        threshold = draw(per_group(labels, thresholds))
        return sa.Constraint(reward=draw(group_rewards(arms)), sense=draw(sense), threshold=threshold)
    kinds = [(draw(group_rewards(arms)), draw(sense)) for _ in range(2)]
    chosen = draw(st.permutations(labels))[: draw(st.integers(0, len(labels)))]
    promised = {}
    for label in chosen:
        reward, side = draw(st.sampled_from(kinds))
        promised[label] = sa.Constraint(reward=reward, sense=side, threshold=draw(thresholds))
    return promised


@st.composite
def contexts(draw, arms):
    """Numbers alone, or columns of numbers and text by name."""
    features = draw(st.integers(1, 3))
    if draw(st.booleans()):
        size = arms * features
        return np.array(draw(st.lists(NUMBERS, min_size=size, max_size=size))).reshape(arms, features)
    called = st.sampled_from(HOSTILE) | st.text(max_size=3)
    names = draw(st.lists(called, min_size=features, max_size=features, unique=True))
    text = st.lists(called, min_size=arms, max_size=arms).map(lambda each: np.array(each or [""][:0], dtype=str))
    column = st.lists(NUMBERS, min_size=arms, max_size=arms) | text
    return {name: draw(column) for name in names}


@st.composite
def rounds(draw, most=7):
    arms = draw(st.integers(0, most))
    labels = draw(st.none() | st.lists(draw(st.sampled_from(KINDS)), min_size=arms, max_size=arms))
    names = list(dict.fromkeys([0] * arms if labels is None else labels))
    caps = st.none() | per_group(
        sa.Round(t=1, contexts=np.zeros((arms, 1)), groups=labels, feasible=sa.AtMost(1)).labels, st.integers(0, 4)
    )
    feasible = draw(
        st.sampled_from([sa.AtMost, sa.Exactly]).flatmap(
            lambda kind: st.builds(kind, st.integers(0, 5), per_group=caps)
        )
        | st.builds(sa.AtMost, st.none() | st.integers(0, 5), per_group=caps)
        | st.builds(sa.WholeGroups, st.integers(0, 3))
    )
    named = draw(st.sampled_from(KINDS)).filter(lambda label: label is not None)
    ids = draw(st.none() | st.lists(named, min_size=arms, max_size=arms))
    mask = draw(st.none() | st.lists(st.booleans(), min_size=arms, max_size=arms))
    return sa.Round(
        t=draw(st.integers(1, 2**40)),
        contexts=draw(contexts(arms)),
        groups=labels,
        constraint=draw(constraints(names, arms)),
        feasible=feasible,
        reward=draw(rewards(arms)),
        arm_ids=ids,
        safe=mask,
    )
