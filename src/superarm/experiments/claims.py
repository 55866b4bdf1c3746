"""What the paper claims of its studies, measured on a results folder, with a verdict; never adjusted to please."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from superarm.experiments.measures import (
    by_zeta,
    final,
    final_ratio,
    first_round,
    late_share,
    mean_curve,
    of,
    plus_minus,
    sums,
)
from superarm.experiments.paper import TELLING

HOLDS = "holds"
FAILS = "does not hold"
REMARK = "holds with a remark"
UNKNOWN = "not measured"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim and what became of it."""

    claim: str
    paper: str  # the figure that the paper gives
    measured: str
    verdict: str
    remark: str = ""


PAPERS_SIZE = {"federated": (100, 8), "movies": (200, 20), "tradeoff": (100, None)}  # rounds, runs


def evaluate(frame: pl.DataFrame, *, synthetic: bool = False) -> list[Claim]:
    """Every claim about the experiment of this table; generated data give no verdicts about the paper."""
    experiment = frame["experiment"][0] if len(frame) else ""
    claims: dict[str, list[Callable[[pl.DataFrame], Claim]]] = {
        "federated": [_linear_group_regret, _low_group_regret, _lower_super_arm_regret],
        "movies": [_reaches_080, _final_reward, _satisfied],
        "tradeoff": [_super_arm_regret_rises, _group_regret_falls],
    }
    found = [claim(frame) for claim in claims.get(experiment, [])]
    if synthetic:
        return [replace(claim, verdict=UNKNOWN, remark="The data are synthetic.") for claim in found]
    short = _shorter_than_the_paper(frame, experiment) if found else ""
    return [replace(claim, remark=f"{short}{claim.remark}") if claim.verdict != UNKNOWN else claim for claim in found]


def _shorter_than_the_paper(frame: pl.DataFrame, experiment: str) -> str:
    rounds, runs = PAPERS_SIZE[experiment]
    here = int(frame["t"].n_unique()), int(frame["run"].n_unique())
    if here[0] >= rounds and (runs is None or here[1] >= runs):
        return ""
    of_runs = f"{here[1]} runs" if runs is None else f"{here[1]} of the paper's {runs} runs"
    return f"About a short run ({of_runs}, {here[0]} of its {rounds} rounds), not the paper's study. "


# Federated ----------------------------------------------------------------------------------------------------


def _linear_group_regret(frame: pl.DataFrame) -> Claim:
    claim, paper = "ACC-UCB's group regret is linear in t", "a straight line (figure)"
    curve = mean_curve(frame, "acc-ucb", "group_regret")
    if curve is None:
        return _absent(claim, paper, "acc-ucb")
    # A line grows as much in its second half as in its first (the square root of t: 0.41 of it), and a curve that
    # becomes one grows as much in its last quarter as in the one before (the square root: 0.84).
    quarters = np.diff(np.interp(np.linspace(0, len(curve), 5), np.arange(len(curve) + 1), np.r_[0.0, curve]))
    halves = (quarters[2] + quarters[3]) / max(quarters[0] + quarters[1], 1e-12)
    late = quarters[3] / max(quarters[2], 1e-12)
    straight, in_the_end = 0.8 <= halves <= 1.25, 0.9 <= late <= 1.25
    return Claim(
        claim=claim,
        paper=paper,
        measured=f"final {curve[-1]:.1f}; growth in the second half {halves:.2f} of the first half's, in the last "
        f"quarter {late:.2f} of the one before",
        verdict=HOLDS if straight else REMARK if in_the_end else FAILS,
        remark="After a steep start, while the cells are coarse." if in_the_end and not straight else "",
    )


def _low_group_regret(frame: pl.DataFrame) -> Claim:
    claim, paper = "STCGP-UCB's group regret is very low", "near zero beside ACC-UCB's (figure)"
    sparse, acc = final(frame, "stcgp-ucb", "group_regret"), final(frame, "acc-ucb", "group_regret")
    if sparse is None or acc is None:
        return _absent(claim, paper, "stcgp-ucb and acc-ucb")
    exact = final(frame, "tcgp-ucb", "group_regret")
    share = sparse.mean() / acc.mean() if acc.mean() > 0.0 else float(sparse.mean() > 0.0)
    touched, kept = sums(frame, "stcgp-ucb", "groups_touched"), sums(frame, "stcgp-ucb", "groups_satisfied")
    beside = "" if exact is None else f"; TCGP-UCB exact {plus_minus(exact)}"
    return Claim(
        claim=claim,
        paper=paper,
        measured=f"{plus_minus(sparse)}, {share:.0%} of ACC-UCB's {plus_minus(acc)}{beside}; "
        f"{kept / max(touched, 1):.0%} of touched groups satisfied",
        verdict=HOLDS if share < 0.05 else FAILS,
        remark="Much of it falls in the first round, where all arms tie and the order of ties decides; later an exact "
        "oracle goes to the edge of an optimistic constraint and keeps breaking some promises.",
    )


def _lower_super_arm_regret(frame: pl.DataFrame) -> Claim:
    claim, paper = "STCGP-UCB's super-arm regret is below ACC-UCB's", "below (figure)"
    sparse, acc = final(frame, "stcgp-ucb", "super_arm_regret"), final(frame, "acc-ucb", "super_arm_regret")
    if sparse is None or acc is None:
        return _absent(claim, paper, "stcgp-ucb and acc-ucb")
    positive = [
        final(frame.with_columns(pl.col("super_arm_regret").clip(0.0)), policy, "super_arm_regret")
        for policy in ("stcgp-ucb", "acc-ucb")
    ]
    assert positive[0] is not None
    assert positive[1] is not None
    below, below_positive = sparse.mean() < acc.mean(), positive[0].mean() < positive[1].mean()
    return Claim(
        claim=claim,
        paper=paper,
        measured=f"signed {plus_minus(sparse)} against {plus_minus(acc)}; positive part {plus_minus(positive[0])} "
        f"against {plus_minus(positive[1])}",
        verdict=HOLDS if below and below_positive else REMARK if below or below_positive else FAILS,
        remark=f"Signed regret: {HOLDS if below else FAILS}; ACC-UCB ignores promises and may earn more than the "
        f"constrained optimum. Positive part: {HOLDS if below_positive else FAILS}.",
    )


# Movies -------------------------------------------------------------------------------------------------------


def _reaches_080(frame: pl.DataFrame) -> Claim:
    claim = "Cumulative reward over the benchmark's reaches 0.80 earlier with TCGP-UCB than with ACC-UCB"
    paper = "t = 26 (TCGP-UCB), t = 59 (ACC-UCB)"
    first = {policy: first_round(frame, policy, 0.80) for policy in ("stcgp-ucb", "tcgp-ucb", "acc-ucb")}
    if first["stcgp-ucb"] is None or first["acc-ucb"] is None:
        return _absent(claim, paper, "stcgp-ucb and acc-ucb")
    theirs = first["acc-ucb"]
    verdict, remark = _sparse_or_exact(first, lambda t: t < theirs)
    return Claim(
        claim=claim,
        paper=paper,
        measured=", ".join(f"{name} {_round_or_never(t)}" for name, t in first.items() if t is not None),
        verdict=verdict,
        remark=remark,
    )


def _final_reward(frame: pl.DataFrame) -> Claim:
    claim = "Final cumulative reward over the benchmark's: TCGP-UCB above ACC-UCB"
    paper = "0.988 ± 0.031 and 0.970 ± 0.027"
    ratios = {policy: final_ratio(frame, policy) for policy in ("stcgp-ucb", "tcgp-ucb", "acc-ucb")}
    if ratios["stcgp-ucb"] is None or ratios["acc-ucb"] is None:
        return _absent(claim, paper, "stcgp-ucb and acc-ucb")
    means = {name: None if values is None else float(values.mean()) for name, values in ratios.items()}
    theirs = float(ratios["acc-ucb"].mean())
    verdict, remark = _sparse_or_exact(means, lambda ratio: ratio > theirs)
    over = [name for name, mean in means.items() if mean is not None and mean > 1.0]
    if over and verdict == HOLDS:
        verdict = REMARK
        remark = f"Above 1 ({', '.join(over)}): more than the constrained optimum is earned by breaking promises."
    return Claim(
        claim=claim,
        paper=paper,
        measured=", ".join(f"{name} {plus_minus(v, 3)}" for name, v in ratios.items() if v is not None),
        verdict=verdict,
        remark=remark,
    )


def _satisfied(frame: pl.DataFrame) -> Claim:
    claim = "Share of touched groups satisfied: TCGP-UCB above 0.95 within 50 rounds, ACC-UCB about 0.5"
    paper = "above 0.95 from round 50; about 0.5"
    late = {policy: late_share(frame, policy) for policy in ("stcgp-ucb", "tcgp-ucb", "acc-ucb")}
    rounds = int(frame["t"].n_unique())
    if rounds <= 50:
        reason = f"Needs more than 50 rounds; this run has {rounds}."
        return Claim(claim=claim, paper=paper, measured="", verdict=UNKNOWN, remark=reason)
    if late["stcgp-ucb"] is None or late["acc-ucb"] is None:
        return _absent(claim, paper, "stcgp-ucb and acc-ucb")
    half = 0.35 <= late["acc-ucb"] <= 0.65
    verdict, remark = _sparse_or_exact(late, lambda share: share > 0.95)
    if verdict == FAILS:
        remark = (
            "An exact oracle goes to the edge of the optimistic constraint, and there a promise is broken as long as "
            "the index is above the truth."
        )
    return Claim(
        claim=claim,
        paper=paper,
        measured="after round 50: " + ", ".join(f"{name} {v:.3f}" for name, v in late.items() if v is not None),
        verdict=REMARK if verdict == HOLDS and not half else verdict,
        remark=remark,
    )


def _sparse_or_exact(values: dict[str, float | None], holds: Callable[[float], bool]) -> tuple[str, str]:
    """The paper ran its algorithm with the sparse posterior and named it TCGP-UCB: either may bear the claim out."""
    sparse, exact = values["stcgp-ucb"], values["tcgp-ucb"]
    if sparse is not None and holds(sparse):
        return HOLDS, ""
    if exact is not None and holds(exact):
        return REMARK, (
            "With the exact posterior. With the paper's few random inducing points it does not hold: the prior "
            "variance that they leave unexplained never goes away, and the index keeps exploring there."
        )
    return FAILS, ""


# Trade-off ----------------------------------------------------------------------------------------------------


def _super_arm_regret_rises(frame: pl.DataFrame) -> Claim:
    return _monotone(frame, "super_arm_regret", "Super-arm regret rises with zeta", rising=True)


def _group_regret_falls(frame: pl.DataFrame) -> Claim:
    return _monotone(frame, "group_regret", "Group regret falls with zeta", rising=False)


def _monotone(frame: pl.DataFrame, column: str, claim: str, *, rising: bool) -> Claim:
    zetas = by_zeta(frame)
    finals = [values for name in zetas.values() if (values := final(frame, name, column)) is not None]
    if len(finals) < 2:
        return _absent(claim, "monotone (figure)", "several values of zeta")
    # All values of zeta meet the same runs, so their differences are paired.
    steps = (1 if rising else -1) * np.diff(np.array(finals), axis=0)
    means, errors = steps.mean(axis=1), _standard_errors(steps)
    clear, against = means > 2.0 * errors, means < -2.0 * errors
    names = [f"{zeta:g}" for zeta in zetas]
    measured = ", ".join(f"{zeta}: {plus_minus(v)}" for zeta, v in zip(names, finals, strict=True))
    unclear = ", ".join(
        f"{names[i]} to {names[i + 1]} by {means[i]:.1f} ± {errors[i]:.1f}" for i in np.flatnonzero(~clear)
    )
    return Claim(
        claim=claim,
        paper="monotone (figure)",
        measured=measured,
        verdict=HOLDS if clear.all() else FAILS if against.any() or means.sum() <= 0 else REMARK,
        remark=f"Not beyond two standard errors of the paired difference, in the direction claimed: {unclear}."
        if unclear
        else "",
    )


def _standard_errors(steps: np.ndarray) -> np.ndarray:
    runs = steps.shape[1]
    return np.asarray(steps.std(axis=1, ddof=1) / np.sqrt(runs)) if runs > 1 else np.full(len(steps), np.inf)


def _round_or_never(t: float) -> str:
    return f"t = {t:.0f}" if np.isfinite(t) else "never"


def _absent(claim: str, paper: str, policies: str) -> Claim:
    return Claim(claim=claim, paper=paper, measured="", verdict=UNKNOWN, remark=f"Needs {policies} in the results.")


# Demonstration --------------


def shown(frame: pl.DataFrame) -> str:
    """One sentence on what came of the demonstration: of each policy, promises kept and reward."""
    first, *others = [_came_of(frame, policy) for policy in TELLING]
    return (
        f"What was shown: of its promises, {first} of the reward of the best that keeps all; {'; '.join(others)} "
        "(more than 1 is earned by breaking some)."
    )


def _came_of(frame: pl.DataFrame, policy: str) -> str:
    touched, kept = (sums(frame, policy, column) for column in ("groups_touched", "groups_satisfied"))
    # What is not all is never rounded up to all.
    percent = min(100.0 * kept / touched, 99.9) if kept < touched else 100.0
    reward, best = (of(frame, policy)[column].to_numpy().sum() for column in ("reward", "optimal_reward"))
    return f"{policy}, which {TELLING[policy]}, kept {percent:.1f} % at {reward / best:.3f}"
