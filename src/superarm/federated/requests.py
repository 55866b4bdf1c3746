"""What a client may be asked: to train on so many records for so many steps."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from superarm.arguments import between, listed, whole_int64, whole_number
from superarm.errors import InvalidArgument, safe_repr
from superarm.federated.profiles import ClientProfile, checked_client
from superarm.round import LARGEST

MOST_STEPS = 10**9


@dataclass(frozen=True, kw_only=True)
class Request:
    """A base arm: one client trains on ``num_records`` freshly drawn records, for ``local_steps`` steps.

    >>> Request(client_id="ann", num_records=12, local_steps=8).id
    'ann:12:8'
    """

    client_id: str
    num_records: int
    local_steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "client_id", checked_client("client_id", self.client_id))
        object.__setattr__(self, "num_records", whole_int64("num_records", self.num_records, 1))
        object.__setattr__(self, "local_steps", whole_number("local_steps", self.local_steps, 1, MOST_STEPS))

    @property
    def id(self) -> str:
        """Text that identifies the request."""
        return f"{self.client_id}:{self.num_records}:{self.local_steps}"

    @classmethod
    def from_id(cls, id: str) -> Request:
        """The request of an id.

        >>> Request.from_id("a:b:12:8")
        Request(client_id='a:b', num_records=12, local_steps=8)
        """
        client, *numbers = str(id).rsplit(":", 2)
        if (
            not isinstance(id, str)
            or len(numbers) != 2
            or not all(part.isascii() and part.isdigit() for part in numbers)
        ):
            raise InvalidArgument("id", "the id of a request, as 'client:records:steps'", safe_repr(id))
        return cls(client_id=client, num_records=int(numbers[0][:30]), local_steps=int(numbers[1][:30]))

    def context(self, global_loss: float) -> tuple[float, float, float]:
        """Log records, log steps, and the loss of the model that it starts from.

        Leakage depends on the number of records, not on their share of the client's records, and both leakage and gain
        change as the model learns.
        """
        loss = between("global_loss", global_loss, -LARGEST, LARGEST)
        return math.log(self.num_records), math.log(self.local_steps), loss

    def draw_seed(self, seed: int, server_round: int) -> int:
        """Decides which records are drawn: the same for the same seed and round, wherever the client runs."""
        seed, server_round = whole_int64("seed", seed), whole_int64("server_round", server_round)
        text = f"{seed}/{server_round}/{self.id}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")  # below 2**48: exact in any format


@dataclass(frozen=True, kw_only=True)
class Menu:
    """The requests that a client is offered: every fraction of its records with every number of steps.

    With fractions alone there is nothing to weigh: more records leak less each and teach more. Training steps make the
    trade-off.

    Parameters
    ----------
    fractions
        of the client's records, each above 0 and at most 1; at least one record is drawn
    local_steps
        numbers of steps

    >>> profile = ClientProfile(client_id="ann", num_examples=20, limit=0.5)
    >>> [request.id for request in Menu(fractions=(0.5, 1.0), local_steps=(1, 8))(profile)]
    ['ann:10:1', 'ann:10:8', 'ann:20:1', 'ann:20:8']
    """

    fractions: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)
    local_steps: tuple[int, ...] = (2, 8, 32)

    def __post_init__(self) -> None:
        fractions = tuple(
            between("fractions", each, 0.0, 1.0) for each in listed("fractions", self.fractions, "some fractions")
        )
        steps = tuple(
            whole_number("local_steps", each, 1, MOST_STEPS)
            for each in listed("local_steps", self.local_steps, "some numbers of steps")
        )
        if not fractions or 0.0 in fractions:
            raise InvalidArgument("fractions", "numbers above 0 and at most 1", safe_repr(self.fractions))
        if not steps:
            raise InvalidArgument("local_steps", "whole numbers >= 1", "none")
        object.__setattr__(self, "fractions", fractions)
        object.__setattr__(self, "local_steps", steps)

    def __call__(self, profile: ClientProfile) -> tuple[Request, ...]:
        """The requests for this client, ascending; fractions that give the same number of records count once."""
        if not isinstance(profile, ClientProfile):
            raise InvalidArgument("profile", "a ClientProfile", safe_repr(profile))
        records = sorted({max(1, round(each * profile.num_examples)) for each in self.fractions})
        return tuple(
            Request(client_id=profile.client_id, num_records=k, local_steps=steps)
            for k in records
            for steps in sorted(set(self.local_steps))
        )
