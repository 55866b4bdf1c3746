"""The number of decisions with outcomes, which schedules count however many calls report the outcomes of one."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from superarm.arguments import whole_number
from superarm.posteriors.model.log import group_keys
from superarm.round import Round
from superarm.slim import SlimRound
from superarm.storage import storable

RECENT = 64  # latest decisions, whose further outcomes are recognised as theirs


@storable
@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Rounds with outcomes: how many, and which were the latest."""

    count: int = 0
    recent: tuple[int, ...] = ()  # checksums of the latest rounds

    def _check_fields(self) -> None:
        """No more rounds are remembered than were counted."""
        if not len(self.recent) <= min(whole_number("count", self.count), RECENT):
            raise ValueError("decisions of no count")

    def after(self, round: Round) -> Decisions:
        """The count after outcomes of a round; unchanged if the round was counted already."""
        checksum = checksum_of(round)
        if checksum in self.recent:
            return self
        return Decisions(count=self.count + 1, recent=(*self.recent, checksum)[-RECENT:])


def checksum_of(round: Round) -> int:
    """A checksum that distinguishes recent rounds."""
    if isinstance(round, SlimRound):
        return round.whole.checksum
    contexts, columns = np.add(round.contexts, 0.0), round.columns
    if columns is not None:  # in whatever order they come
        contexts = contexts[:, list(columns.positions(sorted(columns.names)))]
    content = np.column_stack([contexts, group_keys(round)])
    return zlib.crc32(np.ascontiguousarray(content).tobytes(), round.t)


NO_DECISIONS = Decisions()
