"""Growth of the regret bound for three kernels (the corollary of section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from superarm.arguments import non_negative, whole_number
from superarm.kernels.kernel import Kernel, checked_kernel
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Matern32, Matern52, SquaredExponential

Rate = Callable[[float, float, float], float]


@dataclass(frozen=True, kw_only=True)
class KernelRate:
    """A bound's growth without constants and logarithms; only ratios of its values mean anything.

    Attributes
    ----------
    text
        the corollary's rate as printed
    rate
        that as a function of T, K and lambda*(K)
    derived_text, derived
        what Theorem 3, sqrt(lambda* K T gamma_KT), gives with the gamma that the paper cites. The printed rates of
        the squared exponential and Matern kernels have lambda* outside of the root, and the latter no K.
    """

    text: str
    rate: Rate
    derived_text: str
    derived: Rate

    def __call__(self, rounds: float, size: float, eigenvalue: float) -> float:
        """The printed rate at T rounds, K arms and lambda*(K)."""
        return self.rate(
            non_negative("rounds", rounds), non_negative("size", size), non_negative("eigenvalue", eigenvalue)
        )


def kernel_rate(kernel: Kernel, dimension: int) -> KernelRate | None:
    """The corollary's rate for contexts of D = ``dimension`` dimensions; None for a kernel it does not name.

    ::

        Linear                  sqrt(lambda* D K T)                            gamma_n = O(D log n)
        SquaredExponential      lambda* sqrt(D K T)                            gamma_n = O(log(n)^(D + 1))
        Matern, nu > 1          lambda* T^((D + nu) / (D + 2 nu))              gamma_n = O~(n^(D / (D + 2 nu)))

    Rates are for a compact convex set of contexts. Matern 1/2 has nu < 1, and sums and products are not covered.

    >>> import superarm as sa
    >>> rate = kernel_rate(sa.Matern52(), dimension=1)
    >>> rate.text
    'lambda* T^(7/12)'
    >>> round(rate(200, 5, 1.0) / rate(100, 5, 1.0), 4) == round(2 ** (7 / 12), 4)
    True
    """
    checked_kernel("kernel", kernel)
    whole_number("dimension", dimension)
    d = int(dimension)
    if isinstance(kernel, Linear):
        return KernelRate(
            text="sqrt(lambda* D K T)",
            rate=lambda rounds, size, eigenvalue: math.sqrt(eigenvalue * d * size * rounds),
            derived_text="sqrt(lambda* D K T)",
            derived=lambda rounds, size, eigenvalue: math.sqrt(eigenvalue * d * size * rounds),
        )
    if isinstance(kernel, SquaredExponential):
        return KernelRate(
            text="lambda* sqrt(D K T)",
            rate=lambda rounds, size, eigenvalue: eigenvalue * math.sqrt(d * size * rounds),
            derived_text="sqrt(lambda* K T)",
            derived=lambda rounds, size, eigenvalue: math.sqrt(eigenvalue * size * rounds),
        )
    if isinstance(kernel, Matern32 | Matern52):
        twice_nu = 3 if isinstance(kernel, Matern32) else 5
        above, below = 2 * d + twice_nu, 2 * (d + twice_nu)
        power = above / below
        return KernelRate(
            text=f"lambda* T^({above}/{below})",
            rate=lambda rounds, size, eigenvalue: eigenvalue * rounds**power,
            derived_text=f"sqrt(lambda*) (K T)^({above}/{below})",
            derived=lambda rounds, size, eigenvalue: math.sqrt(eigenvalue) * (size * rounds) ** power,
        )
    return None
