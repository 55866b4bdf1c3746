"""Truths drawn from a Gaussian process on a pool of contexts."""

from __future__ import annotations

import numpy as np

from superarm.groups import Array
from superarm.posteriors.basis import Basis, greedy
from superarm.posteriors.kernel import Kernel

NEGLIGIBLE = 1e-12  # share of the prior variance that a draw leaves out


def gp_draw(kernel: Kernel, contexts: Array, rng: np.random.Generator) -> Array:
    """Two independent draws of a GP with mean 0 at ``contexts``, (n, D), as the columns of an array (n, 2).

    K = Phi^T Phi up to a negligible remainder, so Phi^T z with standard normal z is a draw of the GP, at a fraction of
    the cost of factoring K.
    """
    chosen = greedy(kernel, Basis.of(kernel, contexts[:0]), contexts, NEGLIGIBLE, None)
    phi = Basis.of(kernel, contexts[chosen]).features(kernel, contexts)
    return phi.T @ rng.normal(size=(len(phi), 2))
