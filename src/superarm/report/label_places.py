"""Where the names of points stand, so that they cover no point, no other name, and lines only where they must."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

CHARACTER, LINE, REACH = 6.1, 13.0, 5.0  # pixels of a name's letter and of its line, and of a point
Place = tuple[Literal["left", "right", "center"], float, float]  # what of a name is moved from its point, and how far
Box = tuple[float, float, float, float]  # left, top, right, bottom
# Corners first: bars of a point, and lines between points, leave it along the axes. Then its middle, and further off.
PLACES: tuple[Place, ...] = (
    *(
        ("left", 6, -10.5),
        ("left", 6, 11.5),
        ("right", -6, -10.5),
        ("right", -6, 11.5),
        ("left", 9, 0),
        ("right", -9, 0),
        ("center", 0, -12.5),
        ("center", 0, 12.5),
    ),
    *(("left", 6, -23.5), ("left", 6, 24.5), ("right", -6, -23.5), ("right", -6, 24.5)),
)


def places(
    spots: Sequence[tuple[float, float]],
    names: Sequence[str],
    width: float,
    height: float,
    first: Sequence[int],
    lines: Sequence[Box] = (),
) -> list[Place | None]:
    """The place beside each point where its name covers no point and no other name; None where there is none.

    Spots are in pixels from the left and from the top of a panel of this width and height, which names do not leave;
    ``first`` are the points in the order in which they choose. A name crosses one of the ``lines``, or is nearer to
    another point than to its own, only where it has no better place.
    """
    dots: list[Box] = [(x - REACH, y - REACH, x + REACH, y + REACH) for x, y in spots]
    found: list[Place | None] = [None] * len(spots)
    for i in [*first, *first]:  # the second time each knows where all others are
        others = [box_of(spots[j], names[j], place) for j, place in enumerate(found) if place and j != i]
        free = []
        for place in PLACES:
            left, top, right, bottom = box = box_of(spots[i], names[i], place)
            inside = left >= 0 and top >= 0 and right <= width and bottom <= height
            if inside and not any(overlap(box, other) for other in dots + others):
                crosses = any(overlap(box, line) for line in lines)
                own = distance(box, spots[i])
                strange = any(distance(box, spot) < own for j, spot in enumerate(spots) if j != i)
                free.append((crosses + strange, place))
        found[i] = min(free, key=lambda each: each[0])[1] if free else None  # of equals the first
    return found


def steps(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """The boxes of the line that joins these points: first across, then up."""
    joined = pairwise(sorted(spots))
    boxes = [((x, y, to, y), (to, min(y, up), to, max(y, up))) for (x, y), (to, up) in joined]
    return [(left - 1, top - 1, right + 1, bottom + 1) for both in boxes for left, top, right, bottom in both]


def distance(box: Box, spot: tuple[float, float]) -> float:
    """From a point to the nearest place of a box."""
    left, top, right, bottom = box
    return math.hypot(max(left - spot[0], 0.0, spot[0] - right), max(top - spot[1], 0.0, spot[1] - bottom))


def box_of(spot: tuple[float, float], name: str, place: Place) -> Box:
    """Where a name would lie."""
    end, dx, dy = place
    width = CHARACTER * len(name)
    left = spot[0] + dx - width * {"left": 0.0, "center": 0.5, "right": 1.0}[end]
    return (left, spot[1] + dy - LINE / 2, left + width, spot[1] + dy + LINE / 2)


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes share more than an edge."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
