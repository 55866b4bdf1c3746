"""How a model changes as outcomes come: it learns hyperparameters, and adopts what the evidence supports."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array
from superarm.kernels.columns import OfColumns
from superarm.kernels.kernel import parameters
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess
from superarm.posteriors.learning import Learning
from superarm.posteriors.model.conditioned import TRUST, Rows, belief_at, posterior_of, trusted
from superarm.posteriors.model.evidence import Judgement
from superarm.posteriors.model.given import given_of
from superarm.posteriors.model.log import MOST, beside_labels
from superarm.posteriors.model.model import Model
from superarm.posteriors.model.moving import after_breaks, drifting, is_look, of_today
from superarm.posteriors.model.noise import check_values, row_noise
from superarm.posteriors.model.rivals import STAYING, TELLING, Known
from superarm.posteriors.model.shape import BINARY, DEVIATION, NORMAL, Shape
from superarm.posteriors.model.slips import screened
from superarm.posteriors.model.story import adopted
from superarm.posteriors.posterior import Belief, Posterior
from superarm.round import Outcomes, Round

MANY = 100  # number of equal outcomes from which on the noise is learnt from them
AGREE = 2.0  # nats for groups that are alike in both outputs, as the given prior says


def after(
    before: Model, posterior: Posterior | None, round: Round, observed: Outcomes, learning: Learning, seed: int
) -> tuple[Model, Posterior | None]:
    """The model and its posterior after outcomes of a round."""
    before.check_dimension(round)
    observed = of_today(before.since, round, observed)
    if np.isnan(observed.values).all():
        return before, posterior
    check_values(before.kinds, observed.values)
    model = before.counted(round)
    rng = np.random.default_rng((seed, model.decisions))
    found = screened(before, posterior, round, observed)
    log, observed, returned = found.log.latest(MOST), found.observed, bool(found.returned.any())
    model = replace(model, log=log).with_lines(found.lines(model.decisions))
    if posterior is not None:
        assert isinstance(posterior, GaussianProcess | ExactPosterior)
        points = before.points(round)[observed.arms]
        belief = posterior.predict(points)
        noise = before.noises(observed, belief)
        alarm = before.alarm
        if learning.schedule != ():  # an empty schedule: the model stays, and only outcomes are learnt
            alarm = alarm.after(belief, posterior.noise_std, observed.values, noise)
        posterior = found.conditioned(posterior.condition(points, observed.values, noise), before.columns)
        model, posterior = after_breaks(replace(model, alarm=alarm), posterior, learning, rng)
        assert model.log is not None
        log = model.log
    rings, story, again = model.alarm.rings, model.story, log.total >= model.due
    due = posterior is None or (again and learning.due(model.decisions)) or (returned and learning.schedule != ())
    look = again and learning.schedule is None and is_look(model.decisions)
    searched = due and is_search(model.decisions) and log.whole
    if due or (rings and model.drifts):
        model, posterior = refitted(model, posterior, learning, rng)
    if rings or (look and (model.drifts or not searched)):  # a search has just tested both outputs for a drift
        assert posterior is not None
        model, posterior = drifting(model, posterior, learning, rng)
    if due or look:
        # Again once its outcomes have doubled, so a decision whose outcomes come in parts is fitted to nearly all.
        model = replace(model, due=log.total + int(np.count_nonzero(log.rounds == round.t)))
    if rings:
        model = replace(model, alarm=model.alarm.answered(found=model.story != story))
    if model.shapes is not None and isinstance(posterior, GaussianProcess) and posterior.distinct > MOST:
        if model.drifts:  # every row is a point of its own, and the oldest matter least
            latest = log.latest(MOST // 2)
            begun = belief_at(posterior, latest, model.columns) if model.uneven else None
            posterior = posterior_of(model.shapes, latest, model.columns, begun)
        else:
            posterior = posterior.bounded()
    return model, posterior


def alike(values: Array) -> bool:
    """Whether outcomes are all equal, but too few to prove that there is no noise, as no click in ten."""
    return 0 < len(values) < MANY and bool(np.ptp(values) == 0.0)


def is_search(decisions: int) -> bool:
    """Whether a refit after so many decisions also judges other structure."""
    return decisions % 3 == 0 or decisions == 2


def refitted(
    before: Model, posterior: Posterior | None, learning: Learning, rng: np.random.Generator
) -> tuple[Model, Posterior]:
    """The model with hyperparameters learnt again and the structure that the evidence supports, and its posterior."""
    assert before.log is not None
    rows = Rows(posterior, before.log, before.columns)
    given = [given_of(before, j, rows) for j in (0, 1)]
    contradicted = any(changed for _, changed in given)
    uneven = bool(before.log.noise.any()) or any(shape.kind != NORMAL for shape, _ in given)
    by_itself = posterior is not None and before.shapes is None and not contradicted and not uneven
    by_itself = by_itself and not any(alike(before.log.outcomes(j)) for j in (0, 1))
    learnt = posterior
    if by_itself:
        assert isinstance(posterior, GaussianProcess | ExactPosterior)
        learnt = posterior.learned(learning, rng)
        posterior = trusted(learnt) if before.log.whole else learnt
    if posterior is not None and not before.log.whole and not before.drifts:
        return before, posterior  # only the posterior remembers the dropped rows, and in its present shape
    now: tuple[Shape | None, Shape | None] = (None, None)
    if learnt is not None:  # rivals are compared with the learnt hyperparameters
        now = before.learnt_by(learnt)
    search = is_search(before.decisions)
    belief = rows.belief if uneven else None
    found = [_shape(before, j, now[j], *given[j], learning, rng, search, by_itself, belief) for j in (0, 1)]
    first, second = agreed(found) if search and before.given is not None else found
    if posterior is not None and before.shapes is None and not uneven and not (first.changed or second.changed):
        return before, posterior
    shapes = (first.shape, second.shape)
    model = replace(before, shapes=shapes, given=None if before.given is None else (first.given, second.given))
    model = model.with_lines(adopted(now, shapes, before.decisions, (before.any_of(0), before.any_of(1))))
    return model, posterior_of(shapes, before.log, model.columns, belief)


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The shape of an output, and how it was found."""

    shape: Shape
    given: Shape  # the given shape that goes with it
    changed: bool  # whether the structure changed
    judgement: Judgement | None = None  # to judge other shapes by; None if too few outcomes came


def agreed(found: list[Found]) -> list[Found]:
    """The shapes of both outputs, without group effects if the outcomes of both together do not support them.

    A given prior without effects says that groups are alike. A few outcomes cannot test that, so effects are adopted on
    little evidence, and effects of one output support those of the other. Once there are enough outcomes for a test,
    the evidence of both outputs counts together.
    """
    staying = [j for j in (0, 1) if found[j].shape.effects.present in STAYING]
    rivals, gained = list(found), 0.0
    for j in staying:
        judgement, shape = found[j].judgement, found[j].shape
        tied = shape.promised is not None or isinstance(
            shape.base, OfColumns
        )  # then effects stand for more than differences
        if judgement is None or len(judgement.rows) < TELLING or tied:
            return found
        plain, given, gain = judgement.without_effects(shape, found[j].given)
        rivals[j], gained = replace(found[j], shape=plain, given=given, changed=True), gained + gain
    return rivals if staying and gained > AGREE else found


def _shape(
    model: Model,
    output: int,
    now: Shape | None,
    given: Shape,
    changed: bool,
    learning: Learning,
    rng: np.random.Generator,
    search: bool,
    by_itself: bool,
    belief: Belief | None,
) -> Found:
    """The shape of an output.

    ``given`` and ``changed`` come from :func:`given_of`; ``by_itself`` says that the posterior has learnt its
    hyperparameters itself; ``belief``, at all rows of the log, decides the noise where it is uneven.
    """
    assert model.log is not None
    if now is None:
        now = given
    else:
        noise = now.noise if now.kind == given.kind != BINARY else given.noise
        now = replace(now, mean=given.mean, constant=given.constant, kind=given.kind, usual=given.usual, noise=noise)
        if len(parameters(now.base)) != len(parameters(given.base)):  # features have changed their kind
            now = replace(now, base=given.base)
    promised = model.standing.promised if output == 1 else None
    if now.promised is not None:
        changed |= promised is None
        now, given = replace(now, promised=promised), replace(given, promised=promised)
    values = model.log.outcomes(output)
    if len(values) < learning.least or alike(values):
        return Found(shape=given if changed or model.given is None else now, given=given, changed=changed)
    uneven, drifts = None, model.shapes is not None and model.shapes[1 - output].memory > 0.0
    if belief is not None:
        uneven = row_noise(now, model.log.noise[:, output], belief.mean[:, output], belief.std[:, output])
    learning = model.manner(learning)
    differ = model.shapes is not None and model.shapes[1 - output].effects.present in STAYING
    differ |= promised is not None
    beside = beside_labels(model.log, model.features) if search and model.given is not None else None
    known = Known(
        returned=model.returned,
        drifts=drifts,
        differ=differ,
        promised=promised,
        features=model.features,
        beside=beside,
    )
    judgement = Judgement.of(model.log, output, learning, rng, noise=uneven, **known)
    if not by_itself:
        given = given.having(now, given.size(model.log.contexts), model.log.span)
        now, _ = judgement.fitted(now, given, starts=2 if search else 1)
        if uneven is not None and model.given is not None and now.alike(given):
            now = judgement.trusted(now, given, TRUST)
    if search:
        best, given = judgement.best(now, given, guessed=model.given is None)
        changed |= not best.alike(now)
        now = best
    if now.promised is not None:  # a few groups do not show how much groups differ, and certificates rely on it
        now = replace(now, effects=now.effects.at_least(DEVIATION))
    return Found(shape=now, given=given, changed=changed, judgement=judgement)
