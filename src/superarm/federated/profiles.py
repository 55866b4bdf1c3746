"""What a client says of itself: who it is, how many records it has, and how much it lets leak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from superarm.arguments import between, listed, whole_int64
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.sessions.requests import checked_text

LONGEST = 100  # letters of a client's id: it is part of the ids of its requests


@dataclass(frozen=True, kw_only=True)
class ClientProfile:
    """A client of federated learning, as it declares itself.

    Parameters
    ----------
    client_id
        text of at most 100 letters that stays the same whenever the client comes back
    num_examples
        records that it can train on; those that it holds out for the audit do not count
    limit
        the largest leakage of one of its requests that it accepts, from -1 to 1, where leakage is
        :func:`~superarm.federated.audit.membership_advantage`; nothing above 1 can be measured, and nothing is expected
        below 0. It is not a guarantee: to learn, a policy may send a request that leaks more. Leave out clients that
        must never be asked

    >>> ClientProfile(client_id="clinic 7", num_examples=60, limit=0.4)
    ClientProfile(client_id='clinic 7', num_examples=60, limit=0.4)
    """

    client_id: str
    num_examples: int
    limit: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "client_id", checked_client("client_id", self.client_id))
        object.__setattr__(self, "num_examples", whole_int64("num_examples", self.num_examples, 1))
        object.__setattr__(self, "limit", between("limit", self.limit, -1.0, 1.0))


def checked_client(argument: str, value: Any) -> str:
    """The id of a client."""
    if len(checked_text(argument, value)) > LONGEST:
        raise InvalidArgument(argument, f"text of 1 to {LONGEST} characters", f"{len(value)} letters")
    return str(value)


def checked_profiles(profiles: Any) -> tuple[ClientProfile, ...]:
    """Profiles of different clients in the order of their ids, whatever the order in which they came."""
    found: Iterable[Any] = listed("profiles", profiles, "profiles of clients")
    known: dict[str, ClientProfile] = {}
    for each in found:
        if not isinstance(each, ClientProfile):
            raise InvalidArgument("profiles", "ClientProfile objects", type_of(each))
        if each.client_id in known:
            raise InvalidArgument("profiles", "every client once", safe_repr(each.client_id))
        known[each.client_id] = each
    return tuple(known[name] for name in sorted(known))
