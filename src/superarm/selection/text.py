"""A selection as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from superarm.words import chance, counted

SHOWN = 5  # labels in a line


def in_words(selection: Any, arm_ids: Sequence[Hashable] | None = None) -> str:
    """A :class:`superarm.Selection`: a line on all of it, one on each touched group, one on groups without outcomes.

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
        [head, *note, *(_line(group, names) for group in selection.groups), *_in_a_line(selection.untried)]
    )


def few(labels: Sequence[Hashable]) -> str:
    """Some labels, and how many more.

    >>> few(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    return ", ".join(map(str, labels[:SHOWN])) + (f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else "")


def _line(group: Any, names: Mapping[int, Hashable]) -> str:
    said = f"  {group.label}: arms {[names.get(arm, arm) for arm in group.arms]}"
    if group.threshold is None:
        return f"{said}, no promise"
    if group.margin is not None:
        said += f", v {group.value:.4g}, threshold {group.threshold:.4g}, margin {group.margin + 0.0:+.4g}"
    if group.vouched:
        return f"{said}, kept by your word (all its arms are safe)"
    return said if group.probability is None else f"{said}, kept with probability {chance(group.probability)}"


def _in_a_line(untried: Sequence[Any]) -> list[str]:
    """Groups without outcomes that are not picked, and why; reasons in the order of the groups, without their numbers.

    Not "never tried": a decision that still waits for its outcomes may have tried them.
    """
    reasons = Counter(group.reason.partition(":")[0] for group in untried)
    if not reasons:
        return []
    each = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return [f"  groups without outcomes: {few([group.label for group in untried])} ({each})"]
