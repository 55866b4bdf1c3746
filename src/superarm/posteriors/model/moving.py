"""How a model follows a truth that moves: it forgets what was before a break, and lets what it knows fade."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from superarm.posteriors.learning import Learning
from superarm.posteriors.model.breaks import SILENT, breaks, noise_at
from superarm.posteriors.model.conditioned import Rows, Shapes, belief_at, posterior_of
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.given import given_of
from superarm.posteriors.model.model import Model
from superarm.posteriors.model.story import adopted, broke
from superarm.posteriors.posterior import Posterior
from superarm.round import Outcomes, Round

LOOKS = 8  # decisions from which on a drift is looked for, so many times until there are twice as many


def of_today(since: tuple[int, int], round: Round, observed: Outcomes) -> Outcomes:
    """The outcomes without late ones, from before the break of their output."""
    if round.t >= max(since):
        return observed
    forgotten = round.t < np.array(since)
    return Outcomes(arms=observed.arms, values=np.where(forgotten, np.nan, observed.values), noise=observed.noise)


def after_breaks(
    model: Model, posterior: Posterior, learning: Learning, rng: np.random.Generator
) -> tuple[Model, Posterior]:
    """The model without what was before a break, if its alarm rings and there was one.

    What was learnt of scale, smoothness and noise stays, as a first guess. Where groups differ in a way that is not
    known yet, every round with other groups looks like a break. So a break must explain more than group effects could.
    """
    if not model.alarm.rings:
        return model, posterior
    assert model.log is not None
    log, since, shapes = model.log, list(model.since), model.learnt_by(posterior)
    rows = Rows(posterior, log, model.columns)
    belief = rows.belief if model.uneven else None
    found = breaks(
        log,
        shapes,
        (given_of(model, 0, rows)[0].noise, given_of(model, 1, rows)[0].noise),
        belief,
        model.alarm,
    )
    if not found:
        return model, posterior
    for output in list(found):
        noise, returned = noise_at(log, output, shapes[output], belief), model.returned
        judgement = Judgement.of(log, output, model.manner(learning), rng, returned=returned, noise=noise)
        if judgement.without_break(shapes[output], given_of(model, output, rows)[0]) >= found[output].normal:
            del found[output]
    if not found:
        return replace(model, alarm=model.alarm.answered(found=False)), posterior
    for output, each in found.items():
        log, since[output] = log.since(output, each.t), each.t
    lines = [broke(output, model.decisions, each.t, each.nats) for output, each in sorted(found.items())]
    model = replace(model, shapes=shapes, given=shapes, log=log, since=(since[0], since[1]), alarm=SILENT)
    begun = belief_at(None, log, model.columns) if model.uneven else None
    return model.with_lines(lines), posterior_of(shapes, log, model.columns, begun)


def is_look(decisions: int) -> bool:
    """Whether a drift is looked for after so many decisions, whatever the alarm says.

    >>> [n for n in range(60) if is_look(n)]
    [8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56]
    """
    return decisions >= LOOKS and decisions % (2 ** (decisions.bit_length() - 1) // LOOKS) == 0


def drifting(
    model: Model, posterior: Posterior, learning: Learning, rng: np.random.Generator
) -> tuple[Model, Posterior]:
    """The model with a drift where the evidence supports one, and otherwise as it was.

    Other structure is judged by the schedule of learning.
    """
    assert model.log is not None
    now = model.learnt_by(posterior)
    rows = Rows(posterior, model.log, model.columns)
    belief = rows.belief if model.uneven else None
    shapes, given, looked = list(now), list(model.given or now), list[int]()
    for output in (1, 0, 1):
        moves = shapes[1 - output].memory > 0.0  # then less evidence is needed
        again = output in looked and not moves
        its_given, changed = given_of(model, output, rows)
        if shapes[output].memory or again or len(model.log.outcomes(output)) < learning.least:
            continue
        if changed and model.given is not None:
            continue  # outcomes contradict its scale, which a refit must settle first
        looked.append(output)
        noise, returned = noise_at(model.log, output, now[output], belief), model.returned
        judgement = Judgement.of(
            model.log, output, model.manner(learning), rng, returned=returned, noise=noise, drifts=moves
        )
        shapes[output], given[output] = judgement.drifting(now[output], its_given)
    both: Shapes = (shapes[0], shapes[1])
    if both == now:
        return model, posterior
    model = replace(model, shapes=both, given=None if model.given is None else (given[0], given[1]))
    model = model.with_lines(adopted(now, both, model.decisions))
    assert model.log is not None
    return model, posterior_of(both, model.log, model.columns, belief)
