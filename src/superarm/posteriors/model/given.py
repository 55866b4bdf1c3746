"""The given shape of an output, moved to the scale of its outcomes."""

from __future__ import annotations

import math

from superarm.posteriors.model.conditioned import LEAST, Rows, kind_of
from superarm.posteriors.model.model import Model
from superarm.posteriors.model.noise import of_kind, scatter_of_expected
from superarm.posteriors.model.shape import BINARY, Shape
from superarm.round import LARGEST

FAR = 3.0  # prior standard deviations from which on outcomes contradict a mean or a scale
FEW = 3  # outcomes before a scale is taken from them
WIDEST = 10.0  # largest scale, in standard deviations of the outcomes


def given_of(model: Model, output: int, rows: Rows) -> tuple[Shape, bool]:
    """The given shape of an output, moved to the mean and scale of its outcomes where they contradict it.

    Also whether it differs from the one given before.
    """
    assert model.features is not None
    assert model.log is not None
    posterior, values, now = (
        rows.posterior,
        model.log.outcomes(output),
        None if model.shapes is None else model.shapes[output],
    )
    believed = None if posterior is None else model.learnt_by(posterior)[output]
    kind = kind_of(model.kinds[output], rows, output, believed)
    around = values
    if now is not None and now.promised is not None:
        around = values - now.promised.at(model.log.keys[model.log.present[:, output]])
    mean, std = (float(around.mean()), float(around.std())) if len(values) else (0.0, 0.0)
    if model.given is None:
        before = 0.0 if now is None or now.kind != kind else math.sqrt(now.constant)
        scatter = scatter_of_expected(kind, values) if len(values) else 0.0
        if len(values) < FEW or scatter == 0.0:  # how far others may lie, above 0 or below, is not known
            std = max(scatter, before, abs(mean)) or 1.0
        else:  # outcomes of picked arms are more alike than those of all arms: the scale hardly shrinks
            std = max(scatter, min(before, WIDEST * scatter))
        every = now is not None and now.every_column
        given = of_kind(Shape.guess(model.features, mean, std, every_column=every), kind, values, guessed=True)
        return (given if now is None else given.in_kind_of(now)), True
    given = model.given[output]
    if model.since[output] and len(values) < LEAST:
        kind = given.kind  # a few outcomes after a break do not turn numbers into clicks
    changed = kind != given.kind
    if changed or kind == BINARY:
        given = of_kind(given, kind, values)
    if len(values) < FEW:
        return given, changed
    variance = given.variance(model.log.contexts) + given.constant
    total = math.sqrt(variance + given.noise**2)
    if abs(mean - given.mean) <= FAR * total and std <= FAR * total:
        return given, changed
    return given.rescaled(mean, max(1.0, min(std, LARGEST) / total), variance), True
