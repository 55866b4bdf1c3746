"""Which requests to send in a round, so that the model learns and no client's limit is broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.arguments import between, listed, whole_int64
from superarm.errors import InvalidArgument, safe_repr, type_of
from superarm.feasible import AtMost
from superarm.federated.choices import Pair, choices_of, key_of
from superarm.federated.profiles import ClientProfile, checked_profiles
from superarm.federated.requests import Menu, Request
from superarm.policies.policy import Policy
from superarm.rewards.simple import Max
from superarm.round import LARGEST
from superarm.selection import Selection
from superarm.sessions.session import Session


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a request: its utility to the server, and the leakage that the client measured; None if unknown."""

    request: str  # its id
    utility: float | None
    leakage: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposal:
    """The requests of a round.

    Attributes
    ----------
    server_round
        its number
    requests
        the requests to send, ascending by id; perhaps none
    selection
        selection of the policy, with the probability that each client's limit is kept, if the policy states one
    replayed
        whether an earlier call for this round made it, for example before a restart
    """

    server_round: int
    requests: tuple[Request, ...]
    selection: Selection
    replayed: bool = False

    def __len__(self) -> int:
        return len(self.requests)


class RequestSelector:
    """Picks requests by a policy, under each client's limit on the largest leakage of its requests in a round.

    Clients are the groups of the policy, which promises ``Max() <= limit`` to each. The default is the cautious policy,
    which learns how much each client leaks beyond what records, steps and loss predict. Results do not depend on the
    order in which clients are listed.

    Parameters
    ----------
    policy
        a policy, which learns in place; or a :class:`~superarm.Session`, so that choices and their outcomes
        survive; None: ``CautiousTCGPUCB()``
    at_most
        most requests in a round
    per_client
        most requests to one client in a round
    menu
        the requests that a client is offered: a :class:`Menu`, or your own function of a profile

    >>> selector = RequestSelector(at_most=3)
    >>> clients = [ClientProfile(client_id=name, num_examples=40, limit=0.6) for name in ("ann", "bob")]
    >>> proposal = selector.propose(1, clients, global_loss=2.3)
    >>> [request.client_id for request in proposal.requests]
    ['ann', 'bob']
    >>> selector.observe(proposal, [Outcome(request=proposal.requests[0].id, utility=0.1, leakage=0.4)])
    2
    >>> selector.close(proposal)  # bob never answered
    """

    def __init__(
        self,
        policy: Policy | Session | None = None,
        *,
        at_most: int = 10,
        per_client: int = 1,
        menu: Callable[[ClientProfile], Iterable[Request]] | None = None,
    ) -> None:
        self.feasible = AtMost(whole_int64("at_most", at_most, 1), per_group=whole_int64("per_client", per_client, 1))
        if menu is not None and (isinstance(menu, type) or not callable(menu)):
            raise InvalidArgument("menu", "a Menu, or a function of a profile", type_of(menu))
        self.menu = Menu() if menu is None else menu
        self._choices = choices_of(policy)

    @property
    def policy(self) -> Policy:
        """The policy as it is now; of a session, a copy."""
        return self._choices.policy

    def propose(self, server_round: int, profiles: Iterable[ClientProfile], global_loss: float) -> Proposal:
        """Propose the requests of a round; a round that was already proposed gets the same requests again.

        Parameters
        ----------
        server_round
            number of the round, from 1, larger than all before
        profiles
            profiles of the available clients; they may differ from round to round
        global_loss
            loss of the model that clients will start from, on the server's own records
        """
        server_round = whole_int64("server_round", server_round, 1)
        clients = checked_profiles(profiles)
        loss = between("global_loss", global_loss, -LARGEST, LARGEST)
        key = key_of(server_round)
        known = self._choices.known(key)
        if known is not None:
            return _proposal(server_round, *known, replayed=True)
        latest = self._choices.latest()
        if server_round < latest:
            raise InvalidArgument(
                "server_round", f"a number larger than those of all earlier rounds ({latest})", server_round
            )
        requests = [request for profile in clients for request in self._offered(profile)]
        asked = {request.client_id for request in requests}
        limits: dict[Hashable, float] = {each.client_id: each.limit for each in clients if each.client_id in asked}
        parts = {
            "contexts": np.array([request.context(loss) for request in requests]).reshape(len(requests), 3),
            "groups": [request.client_id for request in requests],
            "constraint": Max() <= limits if limits else None,
            "feasible": self.feasible,
            "arm_ids": [request.id for request in requests],
        }
        return _proposal(server_round, *self._choices.decide(key, server_round, parts))

    def _offered(self, profile: ClientProfile) -> list[Request]:
        offered = listed("menu", self.menu(profile), "a function that returns requests")
        for request in offered:
            if not isinstance(request, Request) or request.client_id != profile.client_id:
                raise InvalidArgument("menu", f"requests to {profile.client_id!r}", safe_repr(request))
            if request.num_records > profile.num_examples:
                raise InvalidArgument("menu", f"at most {profile.num_examples} records", request.id)
        if len({request.id for request in offered}) < len(offered):
            raise InvalidArgument("menu", "every request once", f"some twice, to {profile.client_id!r}")
        return offered

    def observe(self, proposal: Proposal, outcomes: Iterable[Outcome]) -> int:
        """Learn outcomes of a proposal's requests, in parts if need be; return how many numbers were new.

        Parameters
        ----------
        proposal
            a proposal of this selector
        outcomes
            outcomes of some of its requests, each at most once; reporting the same values again changes nothing
        """
        proposal = _checked_proposal(proposal)
        asked = {request.id for request in proposal.requests}
        pairs: dict[str, Pair] = {}
        for outcome in listed("outcomes", outcomes, "outcomes of requests"):
            if not isinstance(outcome, Outcome):
                raise InvalidArgument("outcomes", "Outcome objects", type_of(outcome))
            if not isinstance(outcome.request, str) or outcome.request not in asked:
                raise InvalidArgument("outcomes", "requests of the proposal", safe_repr(outcome.request))
            if outcome.request in pairs:
                raise InvalidArgument("outcomes", "every request once", safe_repr(outcome.request))
            pairs[outcome.request] = (_told("utility", outcome.utility), _leakage(outcome.leakage))
        rows = sorted(pairs.items())
        key = key_of(proposal.server_round)
        return self._choices.observe(key, [id for id, _ in rows], [pair for _, pair in rows]) if rows else 0

    def close(self, proposal: Proposal) -> None:
        """Expect no more answers to a proposal's requests; late outcomes are still learnt."""
        self._choices.close(key_of(_checked_proposal(proposal).server_round))


def _proposal(server_round: int, ids: Sequence[Any], selection: Selection, replayed: bool = False) -> Proposal:
    requests = tuple(sorted((Request.from_id(id) for id in ids), key=lambda request: request.id))
    return Proposal(server_round=server_round, requests=requests, selection=selection, replayed=replayed)


def _checked_proposal(proposal: Any) -> Proposal:
    if not isinstance(proposal, Proposal):
        raise InvalidArgument("proposal", "a Proposal of this selector", type_of(proposal))
    return proposal


def _told(name: str, value: Any) -> float:
    """A number, or NaN where it is unknown."""
    return math.nan if value is None else between(name, value, -LARGEST, LARGEST)


def _leakage(value: Any) -> float:
    return math.nan if value is None else between("leakage", value, -1.0, 1.0)
