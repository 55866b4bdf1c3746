"""The story of a model: what it adopted, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from superarm.kernels.columns import OfColumns
from superarm.kernels.interactions import interactions_of, without_interactions
from superarm.kernels.kernel import parameters
from superarm.posteriors.model.shape import BINARY, COUNT, NORMAL, Effects, Shape, stationary_kind

NAMES = ("outcome 1", "outcome 2")
FORGOTTEN = "what came before is forgotten"  # ends the line of a break
ASIDE = "set aside until others agree"  # ends that of a slip
KINDS_IN_WORDS = {
    NORMAL: "outcomes are numbers of any kind, with the same noise for all",
    BINARY: "outcomes are 0 or 1, so the noise is that of a coin with the probability believed",
    COUNT: "outcomes are counts, so the noise grows with what is expected",
}


def adopted(
    before: Iterable[Shape | None], now: Iterable[Shape], decisions: int, seen: Iterable[bool] = (True, True)
) -> list[str]:
    """A line for each change of a shape, of outputs whose outcomes were seen."""
    lines = []
    for name, old, new, any_seen in zip(NAMES, before, now, seen, strict=True):
        if old is None and not any_seen:
            continue  # a first guess, which no outcome supports yet
        lines += [f"after decision {decisions}, {name}: {change}" for change in _changes(old, new)]
    return lines


def _changes(old: Shape | None, new: Shape) -> Iterator[str]:
    if old is None:
        yield f"scale taken from the outcomes (mean {new.mean:.3g}, standard deviation {new.constant**0.5:.3g})"
        old = Shape(base=new.base, noise=new.noise, mean=new.mean, constant=new.constant)
    if new.kind != old.kind:
        yield KINDS_IN_WORDS[new.kind]
    if new.constant and not old.constant:
        yield (
            f"outcomes contradict the mean of {old.mean:.3g} and the scale that were given; moved to a mean of "
            f"{new.mean:.3g}, not well known, with a standard deviation of {new.constant**0.5:.3g}"
        )
    if new.effects.present != old.effects.present:
        yield effects_in_words(new.effects)
    if (new.promised is None) != (old.promised is None):
        yield promised_in_words(new)
    if (new.memory > 0.0, new.even) != (old.memory > 0.0, old.even):
        yield drift_in_words(new)
    if new.periods != old.periods:
        yield seasons_in_words(new)
    if isinstance(new.base, OfColumns) != isinstance(old.base, OfColumns):
        yield spelled_in_words(new)
    if stationary_kind(new.base) is not stationary_kind(old.base):
        yield f"smoothness of {getattr(stationary_kind(new.base), '__name__', 'another kernel')}"
    elif len(parameters(without_interactions(new.base))) != len(parameters(without_interactions(old.base))):
        yield "one lengthscale for each feature"
    if (interactions_of(new.base) is None) != (interactions_of(old.base) is None):
        yield interactions_in_words(new)


def interactions_in_words(shape: Shape) -> str:
    """Whether products of features are part of the function."""
    beside = "products of features are added to" if interactions_of(shape.base) else "products of features left"
    return f"{beside} the smooth function"


def effects_in_words(effects: Effects) -> str:
    """What groups add to the shared function."""
    offset, deviation, fresh = effects.present
    parts = []
    if offset:
        parts.append(f"a constant (standard deviation {effects.offset**0.5:.3g})")
    if deviation:
        parts.append(f"a function of its own ({100 * effects.deviation:.0f} % of the variance of the shared one)")
    if fresh:
        parts.append(f"a new constant in every round (standard deviation {effects.fresh**0.5:.3g})")
    return f"every group adds {' and '.join(parts)}" if parts else "groups add nothing of their own"


def promised_in_words(shape: Shape) -> str:
    """Whether outcomes are modelled around thresholds."""
    if shape.promised is None:
        return "the thresholds of groups say nothing about their outcomes"
    return "thresholds stay with their groups, so outcomes are modelled around the threshold of their group"


def spelled_in_words(shape: Shape) -> str:
    """Whether features that encode the group are part of the smooth function."""
    if isinstance(shape.base, OfColumns):
        return "features of 0 and 1 only encode the group, so effects of groups replace them"
    return "features of 0 and 1 say more than the group"


def drift_in_words(shape: Shape) -> str:
    """How the truth changes from round to round."""
    if not shape.memory:
        return "the truth stays as it is"
    way = "evenly" if shape.even else "by small steps"
    return f"the truth changes from round to round, {way}: a memory of {shape.memory:.3g} rounds"


def seasons_in_words(shape: Shape) -> str:
    """What returns after some rounds."""
    each = [f"{period:g} rounds (size {size**0.5:.3g} of what stays)" for period, size in shape.seasons]
    return f"something returns every {' and every '.join(each)}" if each else "nothing returns with a season"


def broke(output: int, decisions: int, t: int, nats: float) -> str:
    """The line on an output that broke at round t."""
    found = f"after decision {decisions}, {NAMES[output]}: broke at t = {t} ({nats:.0f} nats)"
    return f"{found}; {FORGOTTEN}"


def slipped(output: int, decisions: int, value: float, t: float) -> str:
    """The line on an outcome that is set aside."""
    found = f"after decision {decisions}, {NAMES[output]}: {value:.4g} of t = {t:.0f} lies far beyond all others"
    return f"{found}; {ASIDE}"


def counts_again(output: int, decisions: int, many: int) -> str:
    """The line on outcomes that count again."""
    which = "the outcome that was set aside counts" if many == 1 else f"{many} outcomes that were set aside count"
    return f"after decision {decisions}, {NAMES[output]}: others agree, so {which} again"
