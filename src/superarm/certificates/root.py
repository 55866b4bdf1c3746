"""Where a falling function of one number ceases to be positive."""

from __future__ import annotations

from collections.abc import Callable


def first_step(margin: Callable[[float], float], step: float, most: int) -> float:
    """The first of ``step``, 2 ``step``, ..., ``most`` ``step`` at which ``margin`` is not positive, or the last.

    What halving the interval would find, by the method of Chandrupatla (1997): the parabola through three points, as
    a function of the margin, tells where to look next; the middle does where that cannot be trusted, as where margins
    jump. A margin close to a line takes some seven looks, any other hardly more than halving.
    """
    one = min(most, round(1.0 / step))  # what is looked for is rarely above 1
    a, at_a, b, at_b = one, margin(one * step), 0, margin(0.0)
    if not at_b > 0.0:
        return step
    if at_a > 0.0:
        b, at_b = most, margin(most * step)
        if at_b > 0.0:
            return most * step
    share = 0.5
    while abs(b - a) > 1:
        guess = min(max(a + round(share * (b - a)), min(a, b) + 1), max(a, b) - 1)
        found = margin(guess * step)
        if (found > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = guess, found
        # a and c lie on one side, b on the other. The parabola is trusted where it is monotone between them.
        x, y = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        share = 0.5
        if y**2 < x and (1.0 - y) ** 2 < 1.0 - x:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return max(a, b) * step
