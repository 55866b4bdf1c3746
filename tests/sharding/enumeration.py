"""Sharded rounds against every super arm tried, and against plain rounds: ``python -m tests.sharding.enumeration``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import superarm as sa
from tests.sharding.memory import SHARDINGS, Drawn, at_the_edge, drawn, prior

EVERY = (*SHARDINGS, (7, True))
PROMISES: dict[str, Any] = {
    "Sum": sa.Sum(),
    "Mean": sa.Mean(),
    "Min": sa.Min(),
    "Max": sa.Max(),
    "Count": sa.Count(),
    "Variance": sa.Variance(),
    **{f"DixitStiglitz {power:g}": sa.DixitStiglitz(items=(), power=power) for power in (1.0, 2.0, 3.0)},
    "Custom": sa.Custom(np.median, monotone="increasing"),
}


def a_policy(posterior: Any, seed: int, **settings: Any) -> sa.TCGPUCB:
    zeta = float(np.random.default_rng((seed, 2)).choice([0.5, 0.5, 0.9, 0.0, 1.0]))
    return sa.TCGPUCB(posterior, zeta=zeta, learn=False, beta_scale=1e-3, **settings)


def margins(groups: Any) -> Any:
    return {group.label: (group.value, group.threshold, group.margin) for group in groups}


def check(one: Drawn, seed: int, shardings: Any = SHARDINGS) -> sa.Status:
    """The status of a round that is the same in every sharding."""
    posterior = prior(one, seed)
    policy = a_policy(posterior, seed)
    enumerated = a_policy(posterior, seed, oracle=sa.Exhaustive()).select(one.plain)
    plain, found = policy.select(one.plain), []
    ids = one.frame["id"].to_numpy()
    for shards, whole in shardings:
        picked = sa.select(policy, one.sharded(shards, whole=whole))
        assert picked.value == pytest.approx(enumerated.value, rel=1e-9, abs=1e-9)
        assert picked.status is enumerated.status is plain.status
        assert picked.upper_bound == pytest.approx(plain.upper_bound, rel=1e-9, abs=1e-9)
        if not one.tied:
            assert sorted(picked.ids) == sorted(ids[plain.arms].tolist())
            assert margins(picked.selection.groups) == margins(plain.groups)
        rows = one.frame.filter(pl.col("id").is_in(picked.ids))
        assert len(rows) == len(picked.ids) == len(picked.arms) == len(picked.rows)
        found.append((picked.ids, picked.value, picked.upper_bound, picked.selection.belief.mean.tolist()))
    assert all(each == found[0] for each in found)
    return plain.status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=10_000, help="of the first round")
    given, names = parser.parse_args(), list(PROMISES)
    tally: Counter[Any] = Counter()
    differ = 0
    for number in range(given.rounds):
        seed, name = given.seed + number, names[number % len(names)]
        edge = number % 11 == 10
        one = at_the_edge(seed) if edge else drawn(seed, reward=PROMISES[name])
        try:
            status = check(one, seed, EVERY)
        except AssertionError as error:
            differ += 1
            print(f"seed {seed}, {'at the edge' if edge else name}: {error}")
            continue
        tally[status.name] += 1
        tally[type(one.plain.feasible).__name__] += 1
        for promise in one.plain.promises[:1]:
            tally[promise.sense.name] += 1
        tally["at the edge" if edge else name] += 1
    print(", ".join(f"{what} {many}" for what, many in sorted(tally.items())))
    print(
        f"{given.rounds} rounds, each in {len(EVERY)} shardings of 1, 3 and 7 shards, {tally['NO_GOOD_SUBGROUP']} "
        f"without any good subgroup: {differ} differ in value, status or, without ties, arms"
    )
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
