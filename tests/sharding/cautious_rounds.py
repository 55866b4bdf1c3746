"""The cautious policy on plain rounds and on the same rounds sharded, side by side, each learning from its picks.

``python -m tests.sharding.cautious_rounds`` plays worlds until every kind of round was met a hundred times and more.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from tests.sharding.memory import in_memory

REWARDS = (
    sa.Sum(), sa.Sum(), sa.Mean(), sa.Min(), sa.Max(), sa.Count(), sa.DixitStiglitz(items=(), power=2.0)
)  # fmt: skip


KINDS = ("CERTIFIED", "EXPLORING", "TRIAL", "ON_CREDIT", "START_UP")  # the last are exploring, too
SHARDINGS = ((1, True), (3, True), (3, False), (7, False))


@dataclass
class Tally:
    """What came of rounds: kinds, with how many were decided on all arms; and what differed."""

    kinds: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    arms: int = 0  # of rounds that were decided on some
    left: int = 0
    wrong: list[Any] = field(default_factory=list)


def policy(seed: int, noise_std: float = 0.1) -> CautiousTCGPUCB:
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.8), noise_std=noise_std, mean=(0.0, 1.0))
    learn, opening = (False if seed % 3 else None), (None if seed % 2 else 0.5)
    return CautiousTCGPUCB(prior, learn=learn, confidence=0.95, opening=opening)


def play(
    seed: int, rounds: int, arms: int, shardings: tuple[tuple[int, bool], ...], tally: Tally, *, noisy: bool = False
) -> None:
    """Rounds of one world, until something differs.

    In a noisy one outcomes say less than the prior, and promises are hard to keep: it is played on credit.
    """
    rng = np.random.default_rng(seed)
    promised: Any = REWARDS[seed % len(REWARDS)]
    groups = int(rng.integers(2, 6))
    x, g = rng.uniform(-1, 1, size=(arms, 2)), rng.integers(groups, size=arms)
    second = 1 + 0.5 * np.cos(2 * x[:, 1]) + 0.3 * x[:, 0] + 0.2 * rng.normal(size=groups)[g]
    truth = np.column_stack([np.sin(2 * x[:, 0]) + x[:, 1], second])
    above, k, per_group = bool(rng.random() < 0.5), int(rng.integers(2, 8)), int(rng.integers(1, 4))
    one = isinstance(promised, (sa.Mean, sa.Min, sa.Max))
    base = 2.0 if isinstance(promised, sa.Count) else 1.2 if one else 1.3 * per_group
    limits = base + 0.3 * rng.normal(size=groups) + (-0.5 if above else 0.5) * rng.random(size=groups)
    noise_std = 1.5 if noisy else 0.1
    if noisy:
        limits = 0.8 * base + 0.3 * rng.normal(size=groups) if above else base + 0.3 * rng.normal(size=groups)
    feasible = (sa.AtMost if rng.random() < 0.8 else sa.Exactly)(k, per_group=per_group)
    vouched = bool(rng.random() < 0.3)
    plain, others = policy(seed, noise_std), {sharding: policy(seed, noise_std) for sharding in shardings}
    for t in range(1, rounds + 1):
        ids = np.flatnonzero(rng.random(arms) < 0.8)
        limit = {int(label): float(limits[label]) for label in set(g[ids].tolist())}
        constraint = promised >= limit if above else promised <= limit
        full = constraint
        if isinstance(promised, sa.DixitStiglitz):
            full = replace(constraint, reward=replace(promised, items=(ids % 4).tolist()))
        safe = ids % 9 == 0
        told: dict[str, Any] = {"t": t, "feasible": feasible}
        round = sa.Round(
            contexts=x[ids], groups=g[ids], arm_ids=ids, constraint=full, safe=safe if vouched else None, **told
        )
        starting = plain._starting(round, plain.learner.view(round)[0])
        selection = plain.select(round)
        outcomes = truth + noise_std * np.random.default_rng((seed, t)).normal(size=truth.shape)
        frame = pl.DataFrame(
            {"a": x[ids, 0], "b": x[ids, 1], "group": g[ids], "id": ids, "item": ids % 4, "weight": 1.0, "safe": safe}
        )
        for (shards, whole), own in others.items():
            asked = sa.ShardedRound(
                arms=in_memory(frame, shards, whole=whole),
                constraint=constraint,
                items="item",
                safe="safe" if vouched else None,
                **told,
            )
            picked = sa.select(own, asked)
            if facts(picked.selection, sorted(picked.ids or [])) != facts(selection, ids[selection.arms].tolist()):
                tally.wrong.append((seed, t, shards, whole, picked.selection, selection))
            sa.update(own, picked, outcomes[picked.ids])
            kind = selection.kind.name
            if picked.whole:
                tally.whole[kind] += 1
            else:
                tally.arms, tally.left = tally.arms + len(ids), tally.left + picked.survivors
            tally.kinds[kind] += 1
            tally.kinds["START_UP"] += starting
        plain.update(round, selection.arms, outcomes[ids[selection.arms]])
        if any(abs(own.ledger.balance - plain.ledger.balance) > 1e-6 for own in others.values()):
            tally.wrong.append((seed, t, "ledger"))
        if tally.wrong:
            return


def facts(selection: sa.Selection, ids: list[int]) -> Any:
    """What both must agree in, to eight digits."""
    groups = [(g.label, _near(g.probability), _near(g.margin), g.vouched) for g in selection.groups]
    untried = [(u.label, u.reason) for u in selection.untried]
    numbers = _near(selection.value), _near(selection.upper_bound)
    return selection.kind, selection.status, selection.note, ids, numbers, groups, untried


def _near(number: float | None) -> str:
    return "none" if number is None else f"{number + 0.0:.7f}".replace("-0.0000000", "0.0000000")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=100, help="rounds of every kind, at least")
    parser.add_argument("--seed", type=int, default=1000, help="of the first world")
    given, tally, seed = parser.parse_args(), Tally(), 0
    for seed in range(given.seed, given.seed + 2000):
        play(seed, 12, 150, (SHARDINGS[seed % 4],), tally, noisy=seed % 5 == 0)
        if tally.wrong or all(tally.kinds[kind] >= given.each for kind in KINDS):
            break
    for wrong in tally.wrong:
        print(*wrong)
    met = ", ".join(f"{tally.kinds[kind]} {kind} ({tally.whole[kind]} on all arms)" for kind in KINDS[:-1])
    enough = all(tally.kinds[kind] >= given.each for kind in KINDS)
    print(
        f"{seed + 1 - given.seed} worlds: {met}; {tally.kinds['START_UP']} of them in the start-up; "
        f"{len(tally.wrong)} differ from the plain policy{'' if enough else '; TOO FEW of a kind'}"
    )
    return int(bool(tally.wrong) or not enough)


if __name__ == "__main__":
    sys.exit(main())
