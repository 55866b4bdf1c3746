"""The measures of a table of results, each with one definition; nothing is smoothed.

Frames of values have columns policy, run, t, value; frames of curves have policy, t, mean, std, low, high, where low
and high are mean ± std, the sample standard deviation over the runs (null when there is one run). Wherever the
benchmark has earned nothing above 0, or no group with a promise was touched, a ratio is null, and means leave it out:
of a loss a larger share would be worse.
"""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from superarm import theory
from superarm.errors import InvalidArgument
from superarm.experiments import paper
from superarm.experiments.experiment import BENCHMARK, run_entropy, seed_of
from superarm.experiments.results import ALWAYS, Results, complete, settings_in
from superarm.simulation import stream

LATE = 10  # after this round promises should be kept
NEEDED = tuple(name for name in ALWAYS if name not in ("experiment", "total_regret"))


def checked(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with every column that a measure may need; or an error that says what is missing."""
    missing = [column for column in NEEDED if column not in frame.columns]
    if missing:
        raise InvalidArgument("frame", f"the columns {', '.join(NEEDED)}", f"none named {', '.join(missing)}")
    if frame.is_empty():
        raise InvalidArgument("frame", "at least one round", "no rows")
    return complete(frame)


def of(frame: pl.DataFrame, policy: str) -> pl.DataFrame:
    """The rows of a policy."""
    return frame.filter(pl.col("policy") == policy)


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """``part`` over ``whole``; null where the latter is not above 0."""
    return pl.when(whole > 0).then(part / whole)


def by_zeta(frame: pl.DataFrame) -> dict[float, str]:
    """The names of TCGP-UCB with a value of zeta and no other setting, by that value, ascending."""
    named = complete(frame).filter(pl.col("base") == "tcgp-ucb").select("policy", "settings").unique()
    found = {policy: settings_in(settings) for policy, settings in named.iter_rows()}
    zetas = {policy: settings["zeta"] for policy, settings in found.items() if [*settings] == ["zeta"]}
    numbers = ((zeta, policy) for policy, zeta in zetas.items() if isinstance(zeta, (int, float)))
    return dict(sorted((float(zeta), policy) for zeta, policy in numbers if 0 <= zeta <= 1))


# Round by round -----------------------------------------------------------------------------------------------


def cumulative(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The sum of ``column`` over the rounds up to t, in each run."""
    return frame.select("policy", "run", "t", value=_so_far(pl.col(column).cum_sum()))


def positive_part(frame: pl.DataFrame) -> pl.DataFrame:
    """The sum of max(0, super-arm regret) over the rounds up to t: a surplus in other rounds does not reduce it."""
    return cumulative(frame.with_columns(super_arm_regret=_positive()), "super_arm_regret")


def running_average(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The mean of ``column`` over the rounds 1, ..., t, in each run: it falls to 0 where regret is sublinear."""
    summed, rounds = _so_far(pl.col(column).cum_sum()), _so_far(pl.col(column).cum_count())
    return frame.select("policy", "run", "t", value=summed / rounds)


def reward_ratio(frame: pl.DataFrame) -> pl.DataFrame:
    """Cumulative reward over the benchmark's cumulative reward, in each run."""
    reward, optimal = (_so_far(pl.col(column).cum_sum()) for column in ("reward", "optimal_reward"))
    return frame.select("policy", "run", "t", value=ratio(reward, optimal))


def pooled_ratio(frame: pl.DataFrame) -> pl.DataFrame:
    """Cumulative reward of all runs over the benchmark's of all runs, with the spread of :func:`summary`, as a curve.

    A run in which the benchmark has earned almost nothing counts for little; a mean of the runs' ratios would show it
    alone.
    """
    reward, optimal = pl.col("reward"), pl.col("optimal_reward")
    pooled = ratio(reward.sum(), optimal.sum())
    return (
        frame.select("policy", "run", "t", *(_so_far(each.cum_sum()) for each in (reward, optimal)))
        .group_by("policy", "t", maintain_order=True)
        .agg(mean=pooled, std=ratio((reward - pooled * optimal).std(), optimal.mean()))
        .drop_nulls("mean")
        .with_columns(low=pl.col("mean") - pl.col("std"), high=pl.col("mean") + pl.col("std"))
    )


def satisfied_share(frame: pl.DataFrame) -> pl.DataFrame:
    """The share of the touched groups that kept their promise, round by round."""
    return frame.select("policy", "run", "t", value=ratio(pl.col("groups_satisfied"), pl.col("groups_touched")))


def over_runs(values: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Mean, sample standard deviation, and mean ± std of the values that share ``by``: by default policy and t."""
    return (
        values.drop_nulls("value")
        .group_by(*(by or ("policy", "t")), maintain_order=True)
        .agg(mean=pl.col("value").mean(), std=pl.col("value").std())
        .with_columns(low=pl.col("mean") - pl.col("std"), high=pl.col("mean") + pl.col("std"))
    )


def times(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Milliseconds a round, pooled over rounds and runs: median, quartiles and deciles; rounds that took 0 left out."""
    ms = 1000 * pl.col(column)
    levels = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}
    found = frame.filter((pl.col(column) > 0) & pl.col(column).is_finite()).group_by("policy", maintain_order=True)
    return found.agg(**{name: ms.quantile(level, "linear") for name, level in levels.items()})


def first_round(frame: pl.DataFrame, level: float) -> float:
    """The first round in which the mean of a policy's reward ratios over the runs reaches ``level``, or infinity."""
    high = over_runs(reward_ratio(frame)).filter(pl.col("mean") >= level)
    return min(high["t"].to_list(), default=float("inf"))


def growth(curve: np.ndarray) -> tuple[float, float]:
    """How much a curve grows in its second half beside the first, and in its last quarter beside the one before.

    A line grows as much (the square root of t: 0.41 and 0.84), and so in the end does a curve that becomes one.
    """
    quarters = np.diff(np.interp(np.linspace(0, len(curve), 5), np.arange(len(curve) + 1), np.r_[0.0, curve]))
    halves = (quarters[2] + quarters[3]) / max(quarters[0] + quarters[1], 1e-12)
    return float(halves), float(quarters[3] / max(quarters[2], 1e-12))


def _so_far(expression: pl.Expr) -> pl.Expr:
    return expression.over("policy", "run", order_by="t")


def _positive() -> pl.Expr:
    return pl.col("super_arm_regret").clip(lower_bound=0)


# In the end ---------------------------------------------------------------------------------------------------


def by_run(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per policy and run, in the order of the table.

    Sums over the rounds: ``reward``, ``optimal_reward``, ``super_arm_regret`` (signed), ``positive_regret``,
    ``group_regret``, ``touched``, ``kept``, ``late_touched``, ``late_kept``, ``broken``, ``predicted`` (null where
    nothing was predicted). Ratios of these: ``reward_ratio``, ``satisfied``, ``satisfied_late``. And ``rounds``.
    """
    late = pl.col("t") > LATE
    touched, kept = pl.col("groups_touched"), pl.col("groups_satisfied")
    predicted = pl.col("predicted_broken")
    return (
        complete(frame)
        .group_by("policy", "run", maintain_order=True)
        .agg(
            pl.col("reward", "optimal_reward", "super_arm_regret", "group_regret").sum(),
            rounds=pl.len(),
            positive_regret=_positive().sum(),
            touched=touched.sum(),
            kept=kept.sum(),
            late_touched=touched.filter(late).sum(),
            late_kept=kept.filter(late).sum(),
            broken=(touched - kept).sum(),
            predicted=pl.when(predicted.count() > 0).then(predicted.sum()),
        )
        .with_columns(
            reward_ratio=ratio(pl.col("reward"), pl.col("optimal_reward")),
            satisfied=ratio(pl.col("kept"), pl.col("touched")),
            satisfied_late=ratio(pl.col("late_kept"), pl.col("late_touched")),
        )
    )


def summary(frame: pl.DataFrame) -> pl.DataFrame:
    """The results of each policy, in the order of the table.

    Parameters
    ----------
    frame
        the results, one row per round

    Returns
    -------
    polars.DataFrame
        Per policy: ``runs``, and the ``rounds`` of the longest run and ``rounds_min`` of the shortest. With ``_mean``
        and ``_std`` (sample standard deviation, null with one run) over the runs: ``reward``, ``reward_ratio`` (reward
        over the benchmark's), ``super_arm_regret`` (signed), ``positive_regret`` (the sum of its positive parts),
        ``group_regret``. All runs together: ``reward_ratio_pooled`` (rewards over the benchmark's), its
        ``reward_ratio_spread`` (standard deviation over the runs of reward - pooled ratio x benchmark's, over the
        benchmark's mean: a run with an almost empty benchmark counts for little), ``satisfied_pooled`` (satisfied over
        touched groups), ``satisfied_late`` (the same after round 10). ``satisfied_mean`` is the mean of the runs' own
        shares. ``broken`` and ``predicted`` (null where a policy predicts nothing) are promises a run. Then ``status``
        and ``kind`` (shares of the rounds, as text; the latter null where a policy has none), ``alpha_min`` (null where
        no round has one, and for policies that certify, whose bound is what could be had without promises),
        ``select_ms`` and ``update_ms`` (medians).
    """
    frame = checked(frame)
    reward, optimal, usual = pl.col("reward"), pl.col("optimal_reward"), pl.col("optimal_reward").mean()
    pooled = ratio(reward.sum(), optimal.sum())
    runs = by_run(frame).group_by("policy", maintain_order=True)
    of_runs = runs.agg(
        *(
            statistic.alias(f"{name}_{word}")
            for name in ("reward", "reward_ratio", "super_arm_regret", "positive_regret", "group_regret")
            for word, statistic in (("mean", pl.col(name).mean()), ("std", pl.col(name).std()))
        ),
        runs=pl.len(),
        rounds=pl.col("rounds").max(),
        rounds_min=pl.col("rounds").min(),
        reward_ratio_pooled=pooled,
        reward_ratio_spread=ratio((reward - pooled * optimal).std(), usual),
        satisfied_pooled=ratio(pl.col("kept").sum(), pl.col("touched").sum()),
        satisfied_late=ratio(pl.col("late_kept").sum(), pl.col("late_touched").sum()),
        satisfied_mean=pl.col("satisfied").mean(),
        broken=pl.col("broken").mean(),
        predicted=pl.when(pl.col("predicted").count() > 0).then(pl.col("predicted").sum() / pl.len()),
    )
    of_rounds = frame.group_by("policy").agg(
        # Where a kind is stated, alpha compares with what could be had without promises, and says nothing of a solver.
        alpha_min=pl.col("alpha").cast(pl.Float64).filter(pl.col("kind").is_null()).min(),
        select_ms=1000 * pl.col("select_seconds").median(),
        update_ms=1000 * pl.col("update_seconds").median(),
    )
    for part in (_shares(frame, "status"), _shares(frame.drop_nulls("kind"), "kind"), of_rounds):
        of_runs = of_runs.join(part, on="policy", how="left", maintain_order="left")
    # Rules and random choices use no solver: they state neither a share proved nor a kind.
    solves = (pl.col("policy") == BENCHMARK) | pl.col("alpha_min").is_not_null() | pl.col("kind").is_not_null()
    return of_runs.with_columns(status=pl.when(solves).then(pl.col("status")))


def _shares(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """For each policy, "optimal 97 %, limit 3 %": the most frequent first, and none rounded to 0 or 100 %."""
    counts = frame.group_by("policy", column).len().sort(["len", column], descending=[True, False])
    counts = counts.with_columns(share=100 * pl.col("len") / pl.col("len").sum().over("policy"))
    texts: dict[str, list[str]] = {}
    for policy, value, _, share in counts.iter_rows():
        name = str(value if value is not None else "none").lower().replace("_", " ")
        # 99.7 % is not 100 %, and 0.3 % is not 0.
        rounded = "<1" if share < 1 else ">99" if 99 < share < 100 else f"{share:.0f}"
        texts.setdefault(policy, []).append(f"{name} {rounded} %")
    columns = {"policy": list(texts), column: [", ".join(parts) for parts in texts.values()]}
    return pl.DataFrame(columns, schema={"policy": pl.String, column: pl.String})


def paired_steps(finals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From each row of (settings, runs) to the next: the mean over the runs, which all rows share, and its error."""
    steps = np.diff(finals, axis=0)
    runs = steps.shape[1]
    errors = steps.std(axis=1, ddof=1) / np.sqrt(runs) if runs > 1 else np.full(len(steps), np.inf)
    return steps.mean(axis=1), errors


def plus_minus(values: np.ndarray, digits: int = 1) -> str:
    """Mean and sample standard deviation over the runs."""
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


# Theory -------------------------------------------------------------------------------------------------------


def bounds_of(results: Results) -> pl.DataFrame | None:
    """Bounds of Theorem 1 on the cumulative regrets of TCGP-UCB in the first run, to be drawn beside these.

    None for studies that they do not cover: the trade-off study's Variance is not Lipschitz, and for a movies run they
    take longer than the run. The rounds are generated again from the seed. The federated truths are fixed
    curves and not drawn from the prior, so the bounds are shown for their size, not as a guarantee.
    """
    manifest, policy = results.manifest, "tcgp-ucb"
    played = of(results.frame, policy).filter(pl.col("run") == 0).sort("t")
    if manifest["experiment"] != "federated" or played.is_empty():
        return None
    experiment, entropy = paper.federated(), run_entropy(manifest["seed"], 0)
    environment = experiment.environment(seed_of(entropy, "environment"))
    rounds = list(itertools.islice(environment.rounds(stream(entropy, "arrivals")), len(played)))
    arms = played["arms"].to_list()
    if any(set(some or ()) - set(range(len(round))) for round, some in zip(rounds, arms, strict=True)):
        return None  # played on other rounds than the paper's
    bounds = theory.bound_of_run(
        paper.FEDERATED_KERNEL,
        [round.contexts[some] for round, some in zip(rounds, arms, strict=True)],
        noise_std=paper.NOISE_STD,
        zeta=paper.ZETA,
        delta=paper.DELTA,
        max_arms=np.maximum.accumulate([len(round) for round in rounds]),
    ).run
    return pl.concat(
        pl.DataFrame({"policy": policy, "run": 0, "t": played["t"], "quantity": quantity, "bound": values})
        for quantity, values in (("super-arm regret", bounds.super_arm), ("group regret", bounds.group))
    )
