"""What the cautious policy is meant to reach in each study, measured on a results folder; never adjusted to please."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from superarm.experiments.claims import UNKNOWN, Claim
from superarm.experiments.measures import by_zeta, final, final_ratio, of, plus_minus, ratio_at, satisfied_after

MET = "met"
MISSED = "not met"

CAUTIOUS = "cautious"
OPTIMIST = "tcgp-ucb"
SETTLED = 10  # the rounds after which promises should be kept
SIZES = {"federated": (100, 8), "movies": (200, 20), "tradeoff": (100, 8), "problems": (100, 50)}  # rounds, runs

Measured = tuple[str, bool] | str  # the figure and whether it is enough; or what is missing
Target = tuple[str, str, Callable[[pl.DataFrame], Measured]]  # what, how much, measured how


def evaluate(frame: pl.DataFrame, *, synthetic: bool = False) -> list[Claim]:
    """Every target of the experiment of this table; :attr:`Claim.paper` holds the target.

    Tables without the cautious policy and generated data give no verdicts.
    """
    experiment = frame["experiment"][0] if len(frame) else ""
    return [_judged(target, frame, experiment, synthetic) for target in _targets().get(experiment, [])]


def _judged(target: Target, frame: pl.DataFrame, experiment: str, synthetic: bool) -> Claim:
    what, goal, measure = target
    unknown = Claim(claim=what, paper=goal, measured="", verdict=UNKNOWN)
    if of(frame, CAUTIOUS).is_empty():
        return replace(unknown, remark=f"Needs {CAUTIOUS} in the results.")
    measured = measure(frame)
    if isinstance(measured, str):
        return replace(unknown, remark=f"Needs {measured}.")
    figure, enough = measured
    if synthetic:
        return replace(unknown, measured=figure, remark="The data are synthetic.")
    verdict = MET if enough else MISSED
    return replace(unknown, measured=figure, verdict=verdict, remark=_shorter(frame, experiment))


def _shorter(frame: pl.DataFrame, experiment: str) -> str:
    rounds, runs = SIZES[experiment]
    here = int(frame["t"].n_unique()), int(frame["run"].n_unique())
    if here[0] >= rounds and here[1] >= runs:
        return ""
    return f"The target is about {runs} runs of {rounds} rounds; this is {here[1]} of {here[0]}."


def _targets() -> dict[str, list[Target]]:
    return {
        "federated": [_regret(200), _reward(0.975), _kept(0.995)],
        "movies": [_regret(50), _reward(0.995), _early(0.80, 5), _kept(0.995)],
        "tradeoff": [_regret_of_zetas(4), _pooled_reward(0.85), _kept(0.99)],
        "problems": [_kept_in_most(0.99, 0.9), _reward(0.955), _as_predicted(1.2)],
    }


def _regret(share: int) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        mine, theirs = _regrets(frame, CAUTIOUS), _regrets(frame, OPTIMIST)
        return (
            f"{OPTIMIST} in the results" if theirs is None or mine is None else _beside(mine, theirs, OPTIMIST, share)
        )

    return "Group regret, mean over runs", f"at most 1/{share} of {OPTIMIST}'s", measure


def _regret_of_zetas(share: int) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        mine = _regrets(frame, CAUTIOUS)
        all_zetas = {name: values for name in by_zeta(frame).values() if (values := _regrets(frame, name)) is not None}
        if not all_zetas or mine is None:
            return "several values of zeta in the results"
        best = min(all_zetas, key=lambda name: float(all_zetas[name].mean()))
        return _beside(mine, all_zetas[best], best, share)

    return "Group regret, mean over runs", f"at most 1/{share} of the best zeta's", measure


def _regrets(frame: pl.DataFrame, policy: str) -> np.ndarray | None:
    return final(frame, policy, "group_regret")


def _beside(mine: np.ndarray, theirs: np.ndarray, name: str, share: int) -> Measured:
    ratio = "" if mine.mean() == 0.0 else f" (1/{theirs.mean() / mine.mean():.0f})"
    figure = f"{plus_minus(mine, 2)} beside {plus_minus(theirs, 2)} of {name}{ratio}"
    return figure, bool(share * mine.mean() <= theirs.mean())


def _reward(least: float) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        ratio = final_ratio(frame, CAUTIOUS)
        assert ratio is not None
        return plus_minus(ratio, 4), bool(ratio.mean() >= least)

    return "Cumulative reward over the constrained optimum's, mean over runs", f"at least {least:g}", measure


def _pooled_reward(least: float) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        mine = of(frame, CAUTIOUS)
        ratio = float(mine["reward"].to_numpy().sum() / mine["optimal_reward"].to_numpy().sum())
        return f"{ratio:.4f}", bool(ratio >= least)

    return "Cumulative reward over the constrained optimum's, pooled", f"at least {least:g}", measure


def _early(least: float, t: int) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        ratio = ratio_at(frame, CAUTIOUS, t)
        if ratio is None or not len(ratio):
            return f"{t} rounds"
        return plus_minus(ratio, 3), bool(ratio.mean() >= least)

    return f"Cumulative reward over the constrained optimum's by round {t}", f"at least {least:g}", measure


def _kept(least: float) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        kept, touched = satisfied_after(frame, CAUTIOUS, SETTLED)[["kept", "touched"]].sum().row(0)
        if not touched:
            return f"groups touched after round {SETTLED}"
        return f"{kept / touched:.4f} ({kept} of {touched})", bool(kept >= least * touched)

    return f"Groups satisfied after round {SETTLED}, pooled", f"at least {least:g}", measure


def _kept_in_most(least: float, share: float) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        late = satisfied_after(frame, CAUTIOUS, SETTLED)
        if frame["t"].max() <= SETTLED:  # type: ignore[operator]  # a column of whole numbers
            return f"rounds after round {SETTLED}"
        # A problem in which nothing was touched broke nothing.
        good = late.filter(pl.col("kept") >= least * pl.col("touched"))
        return f"in {len(good)} of {len(late)}", bool(len(good) >= share * len(late))

    goal = f"in at least {share * SIZES['problems'][1]:.0f} of {SIZES['problems'][1]} problems"
    return f"At least {least:g} of the groups satisfied after round {SETTLED}", goal, measure


def _as_predicted(factor: float) -> Target:
    def measure(frame: pl.DataFrame) -> Measured:
        mine = of(frame, CAUTIOUS)
        broken = int((mine["groups_touched"] - mine["groups_satisfied"]).sum())
        predicted = float(mine["predicted_broken"].sum())
        return f"{broken} broken, {predicted:.1f} predicted", bool(broken <= factor * predicted)

    return "Broken promises, all problems together", f"at most {factor:g} times the predicted", measure
