"""A posterior from any number of logged outcomes: sums of parts, merged along a fixed tree."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm.arguments import Array, instance, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.kernels.scaled import ScaledKernel
from superarm.posteriors.engines.adaptive import AdaptiveEngine
from superarm.posteriors.engines.bounded import BoundedEngine
from superarm.posteriors.engines.low_rank import LowRankEngine, errors
from superarm.posteriors.gaussian_process import GaussianProcess
from superarm.posteriors.history import Collapsed, History, collapse
from superarm.posteriors.learning.learning import LEARNING, Learning
from superarm.posteriors.outputs import Independent, mean_at
from superarm.posteriors.statistics import FixedBasis, Statistics, likeliest_scales
from superarm.posteriors.two_outputs import LARGEST_OUTCOME, TwoOutputs
from superarm.sharding.fit_report import FitReport
from superarm.sharding.log_files import Columns, Leaf, checked_columns, leaves_of
from superarm.sharding.log_sample import Look, look
from superarm.workers.connect import opened
from superarm.workers.workers import Workers, all_of, tree

EXACT_UP_TO = 2_000  # rows: fewer are conditioned on as they are
LEARNT_FROM = 2_000  # contexts of the sample that lengthscales are learnt from
JUDGED = 1_000  # contexts of the sample at which errors are looked at
FEW = 1 / 3  # share of distinct contexts below which rows are merged by context first


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """What every leaf is told."""

    columns: Columns
    state: TwoOutputs  # the prior, with an engine for each column of values that must be apart
    bases: tuple[FixedBasis, ...]
    repeats: bool  # whether contexts come so often that the rows of a leaf are merged by context first


def fit_log(
    prior: GaussianProcess,
    log: Any,
    *,
    contexts: Any,
    outcomes: Any,
    workers: int | str | Workers = "here",
    learn: bool | Learning = False,
    at_most: int = 1000,
    leaf_rows: int = 250_000,
) -> tuple[GaussianProcess, FitReport]:
    """The posterior of a prior and all outcomes of a log, and a report on it.

    The result is a prior for policies like any other, and is saved with them. Its bits depend on prior, files and
    settings, not on the workers: leaves are cut by row and merged along a tree fixed by their numbers. Outcomes are not
    kept with it, so that ``learned`` changes nothing later. Up to 2,000 rows are simply conditioned on.

    Parameters
    ----------
    prior
        a :class:`~superarm.GaussianProcess` that has seen nothing
    log
        Parquet files: a pattern such as ``"log/*.parquet"``, a folder, or a list; each once, in the order of their
        names
    contexts, outcomes
        names of the context columns, and of the two outcomes; a missing outcome is null or NaN
    workers
        see :func:`superarm.connect`; no result depends on it
    learn
        True, or how: lengthscales are learnt from a sample of the contexts, then noise and variance from all outcomes
    at_most
        most features; if the prior needs more, at most 300 are used, and what they cannot represent stays uncertain
    leaf_rows
        rows of a part; the last bits depend on it

    >>> import tempfile, numpy as np, polars as pl, superarm as sa
    >>> rng = np.random.default_rng(0)
    >>> x = rng.random(5000)
    >>> frame = pl.DataFrame({"x": x, "sold": np.sin(3 * x), "leak": x})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.write_parquet(f"{folder}/monday.parquet")
    ...     prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.1)
    ...     posterior, report = sa.fit_log(prior, folder, contexts=["x"], outcomes=["sold", "leak"])
    >>> report.rows, bool(report.worst_error < 1e-6)
    (5000, True)
    >>> posterior.predict([[0.5]]).mean.round(2)
    array([[1. , 0.5]])
    """
    start = time.perf_counter()
    instance("prior", prior, GaussianProcess, "a superarm.GaussianProcess")
    if prior.observations:
        raise InvalidArgument("prior", "a prior without observations", f"one with {prior.observations} observations")
    columns = checked_columns(contexts, outcomes)
    learning = _learning(learn)
    most, size = whole_number("at_most", at_most, 1, 10_000), whole_number("leaf_rows", leaf_rows, 1, 2**40)
    prior.state._check_dimension(np.zeros((1, len(columns.contexts))))
    leaves = leaves_of(log, columns, size)
    with opened(workers) as hands:
        seen = _looked(hands, columns, leaves)
        if seen.rows <= EXACT_UP_TO:
            posterior, learnt = _conditioned(prior, columns, leaves, learning)
        else:
            posterior, learnt = _fitted(hands, prior, seen, columns, leaves, learning, most)
        repeated = hands.repeated
    worst, median = _errors(posterior, seen)
    report = FitReport(
        rows=seen.rows,
        distinct=seen.distinct,
        files=len({leaf.file for leaf in leaves}),
        leaves=len(leaves),
        rank=_rank(posterior),
        form=posterior.form,
        worst_error=worst,
        median_error=median,
        learnt=learnt,
        digest=_digest(posterior),
        repeated=repeated,
        seconds=time.perf_counter() - start,
    )
    return posterior, report


def _learning(learn: Any) -> Learning | None:
    if isinstance(learn, Learning):
        return learn
    if not isinstance(learn, bool):
        raise InvalidArgument("learn", "True, False, or a superarm.Learning", safe_repr(learn))
    return LEARNING if learn else None


def _looked(workers: Workers, columns: Columns, leaves: list[Leaf]) -> Look:
    if not leaves:
        d = len(columns.contexts)
        nothing = np.empty(0, dtype=np.uint64)
        return Look(rows=0, apart=False, keys=nothing, contexts=np.empty((0, d)), outcomes=np.empty((0, 2)))
    return tree(Look.merged, all_of(workers.unordered(look, leaves, workers.share(columns)), len(leaves)))


def _conditioned(
    prior: GaussianProcess, columns: Columns, leaves: list[Leaf], learning: Learning | None
) -> tuple[GaussianProcess, str]:
    """Few outcomes, at once."""
    if not leaves:
        return prior, ""
    read = [leaf.read(columns) for leaf in leaves]
    posterior = prior.condition(np.concatenate([x for x, _ in read]), np.concatenate([y for _, y in read]))
    if learning is None:
        return posterior, ""
    learnt = posterior.learned(learning, 0)
    return learnt, "" if learnt is posterior else _words(learnt, "all outcomes")


def _fitted(
    workers: Workers,
    prior: GaussianProcess,
    seen: Look,
    columns: Columns,
    leaves: list[Leaf],
    learning: Learning | None,
    most: int,
) -> tuple[GaussianProcess, str]:
    state, learnt = prior.state, ""
    if learning is not None:
        sample = slice(LEARNT_FROM)
        learned = prior.condition(seen.contexts[sample], seen.outcomes[sample]).learned(learning, 0).state
        state = replace(state, outputs=learned.outputs, noise_std=learned.noise_std)
        fresh = (engine.fresh(kernel) for engine, kernel in zip(state.engines, state._kernels(), strict=True))
        state = replace(state, engines=tuple(fresh))
        learnt = _words(prior._with(state), f"{min(LEARNT_FROM, len(seen.keys)):,} contexts")
    if state.shared and seen.apart:
        state = replace(state, engines=(state.engines[0].column(0), state.engines[0].column(1)))
    points, widths = state.points(seen.contexts), [2 if state.shared else 1] * len(state.engines)
    bases = tuple(
        FixedBasis.of(kernel, points, width, most) for kernel, width in zip(state._kernels(), widths, strict=True)
    )
    plan = workers.share(_Plan(columns=columns, state=state, bases=bases, repeats=seen.distinct < FEW * seen.rows))
    sums = tree(_merged, all_of(workers.unordered(_sums, leaves, plan), len(leaves)))
    if learning is not None and isinstance(state.outputs, Independent):
        state, bases, sums = _rescaled(state, bases, sums)
        learnt = f"{learnt}; noise and variance from all outcomes: {_words(prior._with(state), '')}"
    engines = tuple(basis.engine(each, seen.rows) for basis, each in zip(bases, sums, strict=True))
    history = History(observations=seen.rows, distinct=seen.distinct, declared=len(columns.contexts))
    return prior._with(replace(state, engines=engines, history=history)), learnt


def _sums(plan: _Plan, leaf: Leaf) -> tuple[Statistics, ...]:
    """What a leaf says to each engine."""
    x, y = leaf.read(plan.columns)
    present = ~np.isnan(y)
    with np.errstate(over="ignore"):
        values = np.where(present, y - mean_at(plan.state.mean, x), 0.0)
    if not (np.abs(values) <= LARGEST_OUTCOME).all():
        expected = f"numbers within {LARGEST_OUTCOME:g} of the prior mean, so that their squares are numbers"
        raise InvalidArgument("outcomes", expected, f"larger ones, in {leaf.file}")
    rows = present.any(axis=1)
    if not rows.all():
        x, values, present = x[rows], values[rows], present[rows]
    counts = present.astype(np.float64)
    collapsed = _collapsed(x, counts, values, plan.repeats)
    parts = plan.state._observations(collapsed, np.zeros(collapsed.counts.shape, dtype=np.bool_))
    return tuple(basis.sums(part.present()) for basis, part in zip(plan.bases, parts, strict=True))


def _collapsed(x: Array, counts: Array, values: Array, repeats: bool) -> Collapsed:
    """The rows as they are, or merged by context."""
    nothing = np.zeros_like(values)
    if repeats:
        return collapse(x, counts, values, nothing)
    return Collapsed(contexts=x, counts=counts, means=values, scatters=nothing, keys=np.zeros(len(x), dtype=np.uint64))


def _merged(one: tuple[Statistics, ...], other: tuple[Statistics, ...]) -> tuple[Statistics, ...]:
    return tuple(a.merged(b) for a, b in zip(one, other, strict=True))


def _rescaled(
    state: TwoOutputs, bases: tuple[FixedBasis, ...], sums: tuple[Statistics, ...]
) -> tuple[TwoOutputs, tuple[FixedBasis, ...], tuple[Statistics, ...]]:
    """Under the noise and the variance of each kernel that are likeliest, where the basis is complete."""
    noises, kernels = list(state.noise_std), list(state._kernels())
    changed, found = list(bases), list(sums)
    for i, (basis, each) in enumerate(zip(bases, sums, strict=True)):
        if basis.complete and each.outcomes and isinstance(kernels[i], ScaledKernel):
            variance, noise = likeliest_scales(each)
            changed[i], found[i] = basis.scaled(each, variance, noise)
            kernels[i] = changed[i].empty.kernel
            for output in (0, 1) if len(bases) == 1 else (i,):
                noises[output] *= float(np.sqrt(noise))
    outputs = Independent(kernels[0], kernels[-1])
    state = replace(state, outputs=outputs, noise_std=(noises[0], noises[1]))
    return state, tuple(changed), tuple(found)


def _words(posterior: GaussianProcess, source: str) -> str:
    noise = ", ".join(f"{each:.4g}" for each in posterior.noise_std)
    return f"learnt{f' from {source}' if source else ''}: {posterior.kernel!r}, noise {noise}"


def _inner(posterior: GaussianProcess) -> list[LowRankEngine | BoundedEngine]:
    each = [engine.inner for engine in posterior.state.engines if isinstance(engine, AdaptiveEngine)]
    return [inner for inner in each if isinstance(inner, LowRankEngine | BoundedEngine)]


def _rank(posterior: GaussianProcess) -> tuple[int, ...]:
    return tuple(inner.rank for inner in _inner(posterior)) or (posterior.distinct,)


def _errors(posterior: GaussianProcess, seen: Look) -> tuple[float, float]:
    """Largest and median bound at a sample of the contexts, in prior standard deviations."""
    inner = _inner(posterior)
    if not inner or not len(seen.keys):
        return posterior.error_bound, posterior.error_bound
    points, found = posterior.state.points(seen.contexts[:JUDGED]), []
    for each in inner:
        if isinstance(each, BoundedEngine):
            return np.inf, np.inf
        marginals = each.sparse.marginals(points)
        mean, std = errors(marginals, each.sparse.unrepresented, each.sparse.unexplained_values())
        found.append(np.maximum(mean.max(axis=1), std) / np.sqrt(marginals.prior))
    largest = np.concatenate(found)
    return float(largest.max()), float(np.median(largest))


def _digest(posterior: GaussianProcess) -> str:
    said = hashlib.blake2b(repr((posterior.state.outputs, posterior.noise_std)).encode(), digest_size=32)
    x = np.zeros((1, posterior.state.history.dimension or 1))
    arrays = [*(part for part in (posterior.predict(x).mean, posterior.predict(x).std))]
    for each in _inner(posterior):
        arrays += [each.sparse.basis.points, each.sparse.basis.lower, each.sparse.root, each.sparse.constant]
    for array in arrays:
        said.update(np.ascontiguousarray(array).tobytes())
    return said.hexdigest()
