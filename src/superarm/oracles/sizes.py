"""Which sizes the good subgroups of a group have, told from its normal form."""

from __future__ import annotations

import numpy as np

from superarm.rewards.normal_forms import Blocks, Dispersion, Filter, Mask, NormalForm, WeightedSum, Witness


def size_attained(form: NormalForm, mine: Mask, group: int, size: int) -> bool:
    """Whether some subgroup of ``size`` arms is good, from the extreme subgroup of that size."""
    match form:
        case Filter():
            enough = np.count_nonzero(form.allowed[mine]) >= size
            return bool(enough and form.least[group] <= size <= form.most[group])
        case Witness():
            return bool(form.witness[mine].any())
        case WeightedSum():
            return bool(np.sort(form.weights[mine])[::-1][:size].sum() >= form.least[group])
        case Blocks():
            return bool(_best_roots(form, mine, size) >= form.least[group])
        case Dispersion():
            values = np.sort(form.values[mine])
            if form.sign > 0:  # the largest variance takes both ends
                sets = [np.r_[values[:low], values[len(values) - (size - low) :]] for low in range(size + 1)]
            else:  # the smallest takes neighbours
                sets = [values[low : low + size] for low in range(len(values) - size + 1)]
            return any(form.sign * float(np.var(candidate)) >= form.least[group] for candidate in sets)


def _best_roots(form: Blocks, mine: Mask, size: int) -> float:
    """Largest sign * sum of roots over subgroups of ``size`` arms: the best terms of each block, max-plus combined."""
    best = np.full(size + 1, -np.inf)
    best[0] = 0.0
    for block in np.unique(form.blocks[mine]):
        terms = np.sort(form.sign * form.terms[mine & (form.blocks == block)])[::-1]
        gains = np.r_[0.0, form.root(np.cumsum(terms))][: size + 1]
        best = np.array(
            [max(best[k - j] + gains[j] for j in range(min(k, len(gains) - 1) + 1)) for k in range(size + 1)]
        )
    return float(best[size])
