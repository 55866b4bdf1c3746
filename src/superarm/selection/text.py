"""A selection as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from superarm.words import chance, counted

LISTED = 5  # labels in a line


def in_words(selection: Any, arm_ids: Sequence[Hashable] | None = None) -> str:
    """A :class:`superarm.Selection`: a summary line, one line per touched group, one on groups without outcomes.

    Arms are named by ``arm_ids``, those of the picked arms in their order, or else by their rows.
    """
    names = {} if arm_ids is None else dict(zip(selection.arms.tolist(), arm_ids, strict=True))
    # Rounded down: only a proved optimum reads as 1.
    alpha = "" if selection.alpha is None else f", alpha {math.floor(1e6 * selection.alpha) / 1e6:.6f}"
    kind = "" if selection.kind is None else f", {selection.kind.name}"
    waits = f" for {', '.join(selection.waits_for)}" if selection.waits_for else ""
    head = (
        f"{counted(len(selection.arms), 'arm')}, value {selection.value:.6g} of at most {selection.upper_bound:.6g}"
        f"{alpha} ({selection.status.name}{kind}{waits}, {selection.solver}, {1e3 * selection.seconds:.1f} ms)"
    )
    note = [f"  {selection.note}"] if selection.note else []
    return "\n".join(
        [head, *note, *(_line(group, names) for group in selection.groups), *_without_outcomes(selection.untried)]
    )


def few(labels: Sequence[Hashable]) -> str:
    """Some labels, and how many more.

    >>> few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    return ", ".join(map(str, labels[:LISTED])) + (f" and {len(labels) - LISTED} more" if len(labels) > LISTED else "")


def _line(group: Any, names: Mapping[int, Hashable]) -> str:
    line = f"  {group.label}: arms {[names.get(arm, arm) for arm in group.arms]}"
    if group.threshold is None:
        return f"{line}, no promise"
    if group.margin is not None:
        line += f", v {group.value:.4g}, threshold {group.threshold:.4g}, margin {group.margin + 0.0:+.4g}"
    if group.vouched:
        return f"{line}, kept by your word (all its arms are safe)"
    return line if group.probability is None else f"{line}, kept with probability {chance(group.probability)}"


def _without_outcomes(untried: Sequence[Any]) -> list[str]:
    """One line, or none: the groups without outcomes that are not picked, and how many for each reason.

    Not "never tried": a decision that still waits for its outcomes may have tried them.
    """
    reasons = Counter(group.reason.partition(":")[0] for group in untried)
    if not reasons:
        return []
    why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return [f"  groups without outcomes: {few([group.label for group in untried])} ({why})"]
