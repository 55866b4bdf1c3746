"""What many small learners answer to a batch of keys: a super arm for each, with its value and its status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from superarm.arguments import Array
from superarm.selection import Status
from superarm.words import counted

# What the compiled search says happened; the last is refused.
OPTIMAL, NO_GOOD_SUBGROUP, UNDERFILLED, LIMIT, TWICE = range(5)
STATUSES = (Status.OPTIMAL, Status.NO_GOOD_SUBGROUP, Status.UNDERFILLED, Status.LIMIT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """A decision for each of J keys.

    Attributes
    ----------
    keys
        whom each row is for
    arms
        (J, K) picked arms, ascending, as numbers of rows of the features; -1 after the last
    values
        (J,) sum of the reward indices of the picked arms
    codes
        (J,) positions in :data:`STATUSES`; see :attr:`statuses`
    """

    keys: tuple[Hashable, ...]
    arms: npt.NDArray[np.int64]
    values: Array
    codes: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def statuses(self) -> tuple[Status, ...]:
        """What happened, for each key."""
        return tuple(STATUSES[code] for code in self.codes.tolist())

    def __repr__(self) -> str:
        found = ", ".join(f"{number} {status.name}" for status, number in Counter(self.statuses).items())
        return f"Batch({counted(len(self), 'key')}: {found or 'nothing'})"
