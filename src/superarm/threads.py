"""How many threads the matrix library takes: one for small work, which several only wait for each other with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# Products from which several threads are worth their start: some 20 milliseconds of one.
LARGE = 1e9


@cache
def _libraries() -> tuple[Any, ...]:
    """What NumPy and SciPy multiply with; looked for when first needed, as it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def suited_to(products: float) -> Iterator[None]:
    """One thread while so few multiplications are done; as many as there were where they are many."""
    several = [] if products >= LARGE else [(lib, lib.get_num_threads()) for lib in _libraries()]
    several = [(lib, threads) for lib, threads in several if threads != 1]
    for lib, _ in several:
        lib.set_num_threads(1)
    try:
        yield
    finally:
        for lib, threads in several:
            lib.set_num_threads(threads)
