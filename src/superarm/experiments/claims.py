"""The claims of the paper about its studies and the targets of the cautious policy: one table, measured on results.

No verdict is adjusted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from superarm.experiments import limits, measures, robustness
from superarm.experiments.claim import (
    CAUTIOUS,
    EXACT,
    FAILS,
    HOLDS,
    PAPER,
    REMARK,
    RIVAL,
    SPARSE,
    TARGETS,
    TOO_SMALL,
    Claim,
    Measured,
    Missing,
    target,
)
from superarm.experiments.measures import LATE, by_run, by_zeta, of, over_runs, plus_minus
from superarm.experiments.paper import STUDIES

_Row = tuple[Any, ...]  # claim, expected figure, measure, and the levels in the latter two


def evaluate(
    frame: pl.DataFrame, source: str = PAPER, *, synthetic: bool = False, any_size: bool = False
) -> list[Claim]:
    """Every claim of the paper, or every target, about the experiment of this table.

    Generated data give no verdicts, nor do tables without the policies in question, nor those with fewer rounds or
    runs than the claim is about, unless ``any_size``.
    """
    study = frame["experiment"][0] if len(frame) else ""
    return [_judged(row, frame, study, source, synthetic, any_size) for row in _table()[source].get(study, ())]


def _judged(row: _Row, frame: pl.DataFrame, study: str, source: str, synthetic: bool, any_size: bool) -> Claim:
    claim, expected, measure, *levels = row
    expected = expected.format(*levels)
    try:
        measured, verdict, remark = measure(frame, *levels)
    except Missing as missing:
        return Claim(claim=claim, expected=expected, remark=f"Needs {missing}.")
    if synthetic:
        return Claim(claim=claim, expected=expected, measured=measured, remark="The data are synthetic.")
    if not any_size and (shorter := _shorter(frame, study, source)):
        verdict, remark = TOO_SMALL, shorter
    return Claim(claim=claim, expected=expected, measured=measured, verdict=verdict, remark=remark)


def _shorter(frame: pl.DataFrame, study: str, source: str) -> str:
    """A remark on results of fewer rounds or runs than the study has."""
    full, rounds, runs = STUDIES[study], frame["t"].n_unique(), frame["run"].n_unique()
    ours = source == TARGETS
    if rounds >= full.rounds and (runs >= full.runs or not (ours or full.paper_says_runs)):
        return ""
    whose = "The target" if ours else "The claim"
    of_runs = f"{full.runs} runs of " if ours or full.paper_says_runs else ""
    return f"{whose} is about {of_runs}{full.rounds} rounds; these are {runs} runs of {rounds}: too few to judge."


def _table() -> dict[str, dict[str, tuple[_Row, ...]]]:
    regret, late = "Group regret, mean over runs", f"Groups satisfied after round {LATE}, pooled"
    ratio = "cumulative reward over the benchmark's"
    reward, problems = "Cumulative reward over the constrained optimum's", STUDIES["problems"].runs
    most = f"in at least {0.9 * problems:.0f} of {problems} problems"
    return {
        PAPER: {
            "federated": (
                ("ACC-UCB's group regret is linear in t", "a straight line (figure)", _linear_group_regret),
                ("STCGP-UCB's group regret is very low", "near zero beside ACC-UCB's (figure)", _low_group_regret),
                ("STCGP-UCB's super-arm regret is below ACC-UCB's", "below (figure)", _lower_super_arm_regret),
            ),
            "movies": (
                (
                    f"{ratio.capitalize()} reaches 0.80 earlier with TCGP-UCB than with ACC-UCB",
                    "t = 26 (TCGP-UCB), t = 59 (ACC-UCB)",
                    _reaches_080,
                ),
                (f"Final {ratio}: TCGP-UCB above ACC-UCB", "0.988 ± 0.031 and 0.970 ± 0.027", _final_reward),
                (
                    "Share of touched groups satisfied: TCGP-UCB above 0.95 within 50 rounds, ACC-UCB about 0.5",
                    "above 0.95 from round 50; about 0.5",
                    _satisfied,
                ),
            ),
            "tradeoff": (
                ("Super-arm regret rises with zeta", "monotone (figure)", _monotone, "super_arm_regret", 1),
                ("Group regret falls with zeta", "monotone (figure)", _monotone, "group_regret", -1),
            ),
        },
        TARGETS: {
            "federated": (
                (regret, "at most 1/{} of tcgp-ucb's", _regret, 200),
                (f"{reward}, mean over runs", "at least {}", _reward, 0.975),
                (late, "at least {}", _kept, 0.995),
            ),
            "movies": (
                (regret, "at most 1/{} of tcgp-ucb's", _regret, 50),
                (f"{reward}, mean over runs", "at least {}", _reward, 0.995),
                (f"{reward} by round 5", "at least {}", _early, 0.80, 5),
                (late, "at least {}", _kept, 0.995),
            ),
            "tradeoff": (
                (regret, "at most 1/{} of the best zeta's", _regret, 4, True),
                (f"{reward}, pooled", "at least {}", _pooled_reward, 0.85),
                (late, "at least {}", _kept, 0.99),
            ),
            "problems": (
                (f"At least 0.99 of the groups satisfied after round {LATE}", most, _kept_in_most, 0.99, 0.9),
                (f"{reward}, mean over runs", "at least {}", _reward, 0.955),
                ("Broken promises, all problems together", "at most {} times the predicted", _as_predicted, 1.2),
            ),
            **robustness.TARGETS,
            **limits.TARGETS,
        },
    }


def _there(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    """The rows of a policy, or :class:`Missing`."""
    mine = of(frame, policy)
    if mine.is_empty():
        raise Missing(f"{policy} in the results")
    return mine


def _final(frame: pl.DataFrame, policy: str, column: str) -> np.ndarray:
    """(runs,) a measure of each run at its end; runs without it are left out."""
    found = by_run(_there(frame, policy)).sort("run")[column].drop_nulls()
    if found.is_empty():
        raise Missing("a benchmark that earns something")
    return found.to_numpy()


def _linear_group_regret(frame: pl.DataFrame) -> Measured:
    curve = over_runs(measures.cumulative(_there(frame, RIVAL), "group_regret")).sort("t")["mean"].to_numpy()
    halves, late = measures.growth(curve)
    straight, in_the_end = 0.8 <= halves <= 1.25, 0.9 <= late <= 1.25
    return (
        f"final {curve[-1]:.1f}; growth in the second half {halves:.2f} of the first half's, in the last "
        f"quarter {late:.2f} of the one before",
        HOLDS if straight else REMARK if in_the_end else FAILS,
        "After a steep start, while the cells are coarse." if in_the_end and not straight else "",
    )


def _low_group_regret(frame: pl.DataFrame) -> Measured:
    sparse, rival = (_final(frame, policy, "group_regret") for policy in (SPARSE, RIVAL))
    exact = of(frame, EXACT)
    share = sparse.mean() / rival.mean() if rival.mean() > 0.0 else float(sparse.mean() > 0.0)
    touched, kept = (_final(frame, SPARSE, column).sum() for column in ("touched", "kept"))
    beside = "" if exact.is_empty() else f"; TCGP-UCB exact {plus_minus(_final(exact, EXACT, 'group_regret'))}"
    return (
        f"{plus_minus(sparse)}, {share:.0%} of ACC-UCB's {plus_minus(rival)}{beside}; "
        f"{kept / max(touched, 1):.0%} of touched groups satisfied",
        HOLDS if share < 0.05 else FAILS,
        "Much of it falls in the first round, where all arms tie and the order of ties decides; later an exact "
        "oracle goes to the edge of an optimistic constraint and keeps breaking some promises.",
    )


def _lower_super_arm_regret(frame: pl.DataFrame) -> Measured:
    sparse, rival = (_final(frame, policy, "super_arm_regret") for policy in (SPARSE, RIVAL))
    positive, of_rival = (_final(frame, policy, "positive_regret") for policy in (SPARSE, RIVAL))
    below, below_positive = sparse.mean() < rival.mean(), positive.mean() < of_rival.mean()
    return (
        f"signed {plus_minus(sparse)} against {plus_minus(rival)}; positive part {plus_minus(positive)} "
        f"against {plus_minus(of_rival)}",
        HOLDS if below and below_positive else REMARK if below or below_positive else FAILS,
        f"Signed regret: {HOLDS if below else FAILS}; ACC-UCB ignores promises and may earn more than the "
        f"constrained optimum. Positive part: {HOLDS if below_positive else FAILS}.",
    )


def _of_three(frame: pl.DataFrame, measure: Callable[[pl.DataFrame], float]) -> dict[str, float]:
    """A measure of each of the policies that the paper compares; the exact posterior may be missing."""
    rows = {
        policy: of(frame, policy) if policy == EXACT else _there(frame, policy) for policy in (SPARSE, EXACT, RIVAL)
    }
    return {policy: measure(mine) for policy, mine in rows.items() if not mine.is_empty()}


def _sparse_or_exact(values: dict[str, float], holds: Callable[[float], bool]) -> tuple[str, str]:
    """The verdict from either posterior: the paper ran its algorithm with the sparse one and named it TCGP-UCB."""
    if holds(values[SPARSE]):
        return HOLDS, ""
    if EXACT in values and holds(values[EXACT]):
        return REMARK, (
            "With the exact posterior. With the paper's few random inducing points it does not hold: the prior "
            "variance that they leave unexplained never goes away, and the index keeps exploring there."
        )
    return FAILS, ""


def _reaches_080(frame: pl.DataFrame) -> Measured:
    first = _of_three(frame, lambda mine: measures.first_round(mine, 0.80))
    figures = (f"{name} {f't = {t:.0f}' if np.isfinite(t) else 'never'}" for name, t in first.items())
    return ", ".join(figures), *_sparse_or_exact(first, lambda t: t < first[RIVAL])


def _final_reward(frame: pl.DataFrame) -> Measured:
    means = _of_three(frame, lambda mine: _final(mine, mine["policy"][0], "reward_ratio").mean())
    verdict, remark = _sparse_or_exact(means, lambda ratio: ratio > means[RIVAL])
    over = [name for name, mean in means.items() if mean > 1.0]
    if over and verdict == HOLDS:
        verdict = REMARK
        remark = f"Above 1 ({', '.join(over)}): more than the constrained optimum is earned by breaking promises."
    figures = (f"{name} {plus_minus(_final(frame, name, 'reward_ratio'), 3)}" for name in means)
    return ", ".join(figures), verdict, remark


def _satisfied(frame: pl.DataFrame) -> Measured:
    def late_share(mine: pl.DataFrame) -> float:
        late = measures.satisfied_share(mine.filter(pl.col("t") > 50))["value"].drop_nulls().to_numpy()
        if not len(late):
            raise Missing("groups touched after round 50")
        return float(late.mean())

    late = _of_three(frame, late_share)
    half = 0.35 <= late[RIVAL] <= 0.65
    verdict, remark = _sparse_or_exact(late, lambda share: share > 0.95)
    if verdict == FAILS:
        remark = (
            "An exact oracle goes to the edge of the optimistic constraint, and there a promise is broken as long as "
            "the index is above the truth."
        )
    figures = "after round 50: " + ", ".join(f"{name} {share:.3f}" for name, share in late.items())
    return figures, REMARK if verdict == HOLDS and not half else verdict, remark


def _monotone(frame: pl.DataFrame, column: str, sign: int) -> Measured:
    zetas = by_zeta(frame)
    if len(zetas) < 2:
        raise Missing("several values of zeta in the results")
    finals = {f"{zeta:g}": _final(frame, name, column) for zeta, name in zetas.items()}
    if len({len(values) for values in finals.values()}) > 1:
        raise Missing("the same runs of every zeta")
    means, errors = measures.paired_steps(sign * np.array(list(finals.values())))
    clear, against, names = means > 2.0 * errors, means < -2.0 * errors, list(finals)
    unclear = ", ".join(
        f"{names[i]} to {names[i + 1]} by {means[i]:.1f} ± {errors[i]:.1f}" for i in np.flatnonzero(~clear)
    )
    remark = f"Not beyond two standard errors of the paired difference, in the direction claimed: {unclear}."
    return (
        ", ".join(f"{zeta}: {plus_minus(values)}" for zeta, values in finals.items()),
        HOLDS if clear.all() else FAILS if against.any() or means.sum() <= 0 else REMARK,
        remark if unclear else "",
    )


def _regret(frame: pl.DataFrame, share: int, of_zetas: bool = False) -> Measured:
    mine = _final(frame, CAUTIOUS, "group_regret").mean()
    rivals = list(by_zeta(frame).values()) if of_zetas else [EXACT]
    finals = {name: _final(frame, name, "group_regret") for name in rivals}
    if not finals:
        raise Missing("several values of zeta in the results")
    best = min(finals, key=lambda name: float(finals[name].mean()))
    ratio = "" if mine == 0.0 else f" (1/{finals[best].mean() / mine:.0f})"
    figure = plus_minus(_final(frame, CAUTIOUS, "group_regret"), 2)
    return target(
        f"{figure} beside {plus_minus(finals[best], 2)} of {best}{ratio}", share * mine <= finals[best].mean()
    )


def _reward(frame: pl.DataFrame, least: float) -> Measured:
    ratios = _final(frame, CAUTIOUS, "reward_ratio")
    return target(plus_minus(ratios, 4), ratios.mean() >= least)


def _pooled_reward(frame: pl.DataFrame, least: float) -> Measured:
    reward, best = (_final(frame, CAUTIOUS, column).sum() for column in ("reward", "optimal_reward"))
    return target(f"{reward / best:.4f}", reward >= least * best)


def _early(frame: pl.DataFrame, least: float, t: int) -> Measured:
    ratios = measures.reward_ratio(_there(frame, CAUTIOUS)).filter(pl.col("t") == t)["value"].drop_nulls().to_numpy()
    if not len(ratios):
        raise Missing(f"{t} rounds")
    return target(plus_minus(ratios, 3), ratios.mean() >= least)


def _kept(frame: pl.DataFrame, least: float) -> Measured:
    kept, touched = (_final(frame, CAUTIOUS, column).sum() for column in ("late_kept", "late_touched"))
    if not touched:
        raise Missing(f"groups touched after round {LATE}")
    return target(f"{kept / touched:.4f} ({kept} of {touched})", kept >= least * touched)


def _kept_in_most(frame: pl.DataFrame, least: float, share: float) -> Measured:
    runs = by_run(_there(frame, CAUTIOUS))
    if frame["t"].max() <= LATE:  # type: ignore[operator]  # a column of whole numbers
        raise Missing(f"rounds after round {LATE}")
    # A problem in which nothing was touched broke nothing.
    good = runs.filter(pl.col("late_kept") >= least * pl.col("late_touched"))
    return target(f"in {len(good)} of {len(runs)}", len(good) >= share * len(runs))


def _as_predicted(frame: pl.DataFrame, factor: float) -> Measured:
    runs = by_run(_there(frame, CAUTIOUS))
    broken, predicted = runs["broken"].sum(), float(runs["predicted"].sum())
    return target(f"{broken} broken, {predicted:.1f} predicted", broken <= factor * predicted)
