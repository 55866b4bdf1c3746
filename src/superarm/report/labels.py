"""Names beside points, where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

CHARACTER, LINE = 6.1, 13.0  # pixels that a name of 11 pixels takes
REACH = 5.0  # of a point, in pixels


@dataclass(frozen=True, kw_only=True)
class Side:
    """Where a name stands relative to its point: the alignment of the text, and by how many pixels it is moved."""

    align: Literal["left", "center", "right"]
    baseline: Literal["top", "middle", "bottom"]
    dx: float
    dy: float


# Corners first: bars of a point, and lines between points, leave it along the axes.
SIDES = {
    "above right": Side(align="left", baseline="bottom", dx=6, dy=-4),
    "below right": Side(align="left", baseline="top", dx=6, dy=5),
    "above left": Side(align="right", baseline="bottom", dx=-6, dy=-4),
    "below left": Side(align="right", baseline="top", dx=-6, dy=5),
    "right": Side(align="left", baseline="middle", dx=9, dy=0),
    "left": Side(align="right", baseline="middle", dx=-9, dy=0),
    "above": Side(align="center", baseline="bottom", dx=0, dy=-8),
    "below": Side(align="center", baseline="top", dx=0, dy=9),
    # A line further off, where the near places are taken.
    "far above right": Side(align="left", baseline="bottom", dx=6, dy=-17),
    "far below right": Side(align="left", baseline="top", dx=6, dy=18),
    "far above left": Side(align="right", baseline="bottom", dx=-6, dy=-17),
    "far below left": Side(align="right", baseline="top", dx=-6, dy=18),
}

_Box = tuple[float, float, float, float]  # left, top, right, bottom


def placed(
    spots: Sequence[tuple[float, float]], names: Sequence[str], width: float, height: float, first: Sequence[int]
) -> list[str | None]:
    """The side of each point on which its name covers no point and no other name; None where there is no such side.

    Parameters
    ----------
    spots
        of the points, in pixels from the left and from the top
    names
        of the points
    width, height
        of the panel; names stay inside
    first
        the points in the order in which they choose
    """
    taken = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in spots]
    sides: list[str | None] = [None] * len(spots)
    for i in first:
        for name, side in SIDES.items():
            box = _box(spots[i], names[i], side)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                sides[i] = name
                break
    return sides


def _box(spot: tuple[float, float], name: str, side: Side) -> _Box:
    wide = CHARACTER * len(name)
    left = spot[0] + side.dx - {"left": 0.0, "center": 0.5, "right": 1.0}[side.align] * wide
    top = spot[1] + side.dy - {"top": 0.0, "middle": 0.5, "bottom": 1.0}[side.baseline] * LINE
    return (left, top, left + wide, top + LINE)


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
