"""What travels between server and clients: the names in the records of a message, written once."""

from __future__ import annotations

from typing import Any

from flwr.app import ConfigRecord, Message, RecordDict

from superarm.errors import InvalidArgument
from superarm.federated.profiles import ClientProfile
from superarm.federated.requests import Request

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"  # records, as Flower's own strategies name them
ECHO, PROFILE = "superarm.echo", "superarm.profile"  # records of ours, in replies
REQUEST, SEED, ROUND = (
    "superarm.request",
    "superarm.draw-seed",
    "server-round",
)  # entries of a config; the first two of an echo, too
DRAWN, DIGEST, UTILITY = "drawn", "digest", "utility"  # entries of an echo
EXAMPLES, LEAKAGE = "num-examples", "leakage"  # metrics


def profile_record(profile: ClientProfile) -> ConfigRecord:
    """A profile on its way to the server."""
    return ConfigRecord({"client-id": profile.client_id, "num-examples": profile.num_examples, "limit": profile.limit})


def profile_in(reply: Message) -> ClientProfile | None:
    """The profile in a reply to a query; None where there is none, or a wrong one."""
    record = _config(reply, PROFILE)
    try:
        return ClientProfile(client_id=record["client-id"], num_examples=record["num-examples"], limit=record["limit"])
    except (KeyError, InvalidArgument):
        return None


def request_config(base: ConfigRecord, request: Request, seed: int, server_round: int) -> ConfigRecord:
    """A config of its own for a request: Flower's strategies share one between all nodes."""
    entries: dict[str, Any] = {**base, ROUND: server_round, REQUEST: request.id, SEED: seed}
    return ConfigRecord(entries)


def echo_in(reply: Message) -> dict[str, Any]:
    """What a client says about the request that it answers; nothing where it says nothing."""
    return dict(_config(reply, ECHO))


def _config(reply: Message, name: str) -> Any:
    if reply.has_error():
        return {}
    content: RecordDict = reply.content
    found = content.get(name)
    return found if isinstance(found, ConfigRecord) else {}
