"""Where a posterior can be computed, and which array library serves there."""

from __future__ import annotations

from functools import cache

from superarm.errors import InvalidArgument, safe_repr
from superarm.posteriors.engines.device.arrays import Arrays
from superarm.posteriors.engines.device.cuda import CudaArrays

DEVICES = ("cpu", "cuda")


def checked_device(device: object) -> str:
    """A device that can be computed on here."""
    if not isinstance(device, str) or device not in DEVICES:
        raise InvalidArgument("device", '"cpu" or "cuda"', safe_repr(device))
    if device != "cpu":
        arrays_of(device)
    return device


@cache
def arrays_of(device: str) -> Arrays:
    """The library that serves a device other than the CPU."""
    return CudaArrays()
