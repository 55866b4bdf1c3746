"""A posterior's hyperparameters, learnt: one problem for tied outputs, one for correlated ones, one each for others."""

from __future__ import annotations

import numpy as np

from superarm.arguments import Seed
from superarm.errors import InvalidArgument, safe_repr, warn
from superarm.kernels.kernel import Kernel, names
from superarm.posteriors.engines.engine import Observations
from superarm.posteriors.learning.learning import Learning
from superarm.posteriors.learning.problem import Fit, Part, Problem, fit, subset, theta_of
from superarm.posteriors.outputs import Coregionalised, Independent, Outputs, PointKernel
from superarm.posteriors.two_outputs import TwoOutputs

# What to do about a hyperparameter at its limit, by what its name contains.
REMEDIES = {
    "lengthscale": "scale contexts to about 1, or start from lengthscales nearer to the data",
    "noise_std": "start from a noise_std nearer to how far repeated outcomes scatter",
    "": "scale outcomes to about 1 and give a prior mean, or start from values nearer to the data",
}

Model = tuple[Kernel, tuple[float, ...]]


def learned(state: TwoOutputs, learning: Learning, seed: Seed) -> TwoOutputs:
    """The same data under the most probable hyperparameters found; the very state where none are better."""
    if not isinstance(learning, Learning):
        raise InvalidArgument("learning", "a superarm.Learning", safe_repr(learning))
    if not state.history.runs:
        return state
    rng = np.random.default_rng(seed)
    problems = _problems(state, learning.at_most)
    fits = [fit(problem, learning, rng) for problem in problems]
    if not any(each.worthwhile for each in fits):
        return state
    limits: dict[str, str] = {}
    for number, (problem, each) in enumerate(zip(problems, fits, strict=True), start=1):
        if each.worthwhile:
            limits |= _limits(problem, each, learning, f" of output {number}" if len(problems) > 1 else "")
    if limits:
        todo = "; ".join(dict.fromkeys(limits.values()))
        warn(f"hyperparameters were learnt up to a limit: {', '.join(limits)}. To do: {todo}; or widen the limit")
    better = [each if each.worthwhile else problem for problem, each in zip(problems, fits, strict=True)]
    models: list[Model] = [(each.kernel, each.noise) for each in better]
    (first, noise), (second, other_noise) = models[0], models[-1]
    outputs = first.outputs if isinstance(first, PointKernel) else Independent(first, second)
    try:
        return state.under(outputs, (noise[0], other_noise[-1]))
    except InvalidArgument:  # no factor: a kernel that is not positive semidefinite with what was found
        return state


def _limits(problem: Problem, found: Fit, learning: Learning, of: str) -> dict[str, str]:
    """What to do about each hyperparameter at its limit, by a text that says its value and that limit."""
    own = "" if isinstance(problem.kernel, PointKernel) else "kernel."
    called = [f"{own}{name}{of}" for name in names(problem.kernel)]
    limits = ["reach"] * len(called) + ["noise_reach"] * len(problem.noise)
    called += [f"noise_std[{i}]" for i in range(2)] if len(problem.noise) > 1 else [f"noise_std{of}"]
    reaches = np.exp(problem.prior(learning)[1])
    values, given = np.exp(theta_of(found.kernel, found.noise)), np.exp(problem.given)
    return {
        f"{called[i]} = {values[i]:.3g} (given {given[i]:.3g}, Learning.{limits[i]} {reaches[i]:.3g})": next(
            todo for word, todo in REMEDIES.items() if word in called[i]
        )
        for i in np.flatnonzero(found.limited).tolist()
    }


def _problems(state: TwoOutputs, at_most: int) -> list[Problem]:
    """The problems to solve: one for correlated or tied outputs, else one for each output."""
    given, everything = state.given, state.observed()
    if state.joint:
        parts = [[_joint_part(everything[0], at_most)]]
    else:
        each = [Part.of(data, at_most) for data in everything]
        parts = [each] if given.tied else [[part] for part in each]
    now, then = _models(state.outputs, state.noise_std, given.tied), _models(given.outputs, given.noise_std, given.tied)
    return [
        Problem(
            parts=tuple(part for part in mine if len(part.used.points)),
            kernel=kernel,
            noise=noise,
            given=theta_of(*original),
        )
        for mine, (kernel, noise), original in zip(parts, now, then, strict=True)
    ]


def _models(outputs: Outputs, noise: tuple[float, float], tied: bool) -> list[Model]:
    """The kernel and the noises of each problem."""
    if isinstance(outputs, Coregionalised):
        return [(PointKernel(outputs), noise)]
    return [(outputs.first, noise[:1])] if tied else [(outputs.first, noise[:1]), (outputs.second, noise[1:])]


def _joint_part(data: Observations, at_most: int) -> Part:
    """Every context used comes with both its outputs: only pairs show how the outputs are related."""
    n = len(data.points) // 2
    rows = subset(data.points[:n, :-1], max(1, at_most // 2))
    return Part(seen=data.present(), used=data.at(np.concatenate([rows, n + rows])).present())
