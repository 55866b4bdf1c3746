"""Posteriors for contexts with named columns: each kernel is placed at the columns that it names."""

from __future__ import annotations

from dataclasses import replace

from superarm.contexts import Columns
from superarm.kernels.columns import placed, without_places
from superarm.kernels.kernel import Kernel
from superarm.posteriors.outputs import Coregionalised, Independent, Outputs
from superarm.posteriors.two_outputs import TwoOutputs


def over(state: TwoOutputs, columns: Columns) -> TwoOutputs:
    """The state for contexts with these columns; a state with data was placed before."""
    tied = state.given.tied
    outputs, given = (_placed(each, columns, tied) for each in (state.outputs, state.given.outputs))
    known = replace(state, columns=columns.kinds)
    if outputs is state.outputs:
        return known
    return replace(known, given=replace(state.given, outputs=given)).under(outputs, state.noise_std)


def as_given(outputs: Outputs) -> Outputs:
    """The outputs with kernels as they were before their columns had places."""
    if isinstance(outputs, Coregionalised):
        kernel = without_places(outputs.kernel)
        return outputs if kernel is outputs.kernel else Coregionalised(kernel, outputs.matrix)
    return _pair(outputs, without_places(outputs.first), without_places(outputs.second))


def _placed(outputs: Outputs, columns: Columns, tied: bool) -> Outputs:
    if isinstance(outputs, Coregionalised):
        kernel = placed(outputs.kernel, columns)
        return outputs if kernel is outputs.kernel else Coregionalised(kernel, outputs.matrix)
    first = placed(outputs.first, columns)
    return _pair(outputs, first, first if tied else placed(outputs.second, columns))


def _pair(outputs: Independent, first: Kernel, second: Kernel) -> Independent:
    same = first is outputs.first and (second is first or second is outputs.second)
    return outputs if same else Independent(first, second)
