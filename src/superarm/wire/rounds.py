"""Rounds as plain data and as bytes; what comes back has the same digest, and every policy does the same with it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from superarm.errors import InvalidArgument, UnreadableFile, safe_repr, type_of
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.groups import Groups
from superarm.round import Round, checked_round
from superarm.wire import labels, packing
from superarm.wire.contexts import contexts_from_data, contexts_to_data
from superarm.wire.promises import constraint_from_data, in_order, promise_to_data
from superarm.wire.rewards import reward_from_data, reward_to_data

VERSION = 1
KEYS = {"version", "t", "contexts", "groups", "promises", "feasible", "reward", "arm_ids", "safe"}
LISTED = (list, np.ndarray)
NEEDED = {"t", "contexts", "feasible"}


def round_to_dict(round: Round) -> dict[str, Any]:
    """A round as plain data that JSON can say.

    Keys: ``version``; ``t``; ``contexts``, one list for each feature, or, where they have names, an object with
    ``name`` and ``numbers``, or ``labels`` and ``codes`` of categories; ``groups``, each label once and for each arm
    which one it has, or null for a single group; ``promises``, each with ``reward``, ``sense``, ``groups`` (positions
    in the labels, null for all) and ``thresholds`` (one number, or one for each of these groups); ``feasible``;
    ``reward``; ``arm_ids``; ``safe``.

    >>> import superarm as sa
    >>> shops = {"contexts": [[0.1], [0.5]], "groups": ["ann", "bob"], "constraint": sa.Sum() <= 0.8}
    >>> data = round_to_dict(sa.Round(t=1, feasible=sa.AtMost(1), **shops))
    >>> data["contexts"], data["groups"], data["feasible"]
    ([[0.1, 0.5]], {'labels': ['ann', 'bob'], 'codes': [0, 1]}, {'at_most': 1, 'per_group': None})
    >>> data["promises"]
    [{'reward': 'sum', 'sense': '<=', 'groups': None, 'thresholds': 0.8}]
    """
    data: dict[str, Any] = packing.plain(document(round))
    return data


def round_from_dict(data: Any) -> Round:
    """The round that :func:`round_to_dict` made plain data of, or one written by hand.

    By hand ``contexts`` may be an object of named lists, of numbers or text, and ``groups`` and ``arm_ids`` a list with
    a label for each arm; what a round needs not may be left out. Labels need no order: positions and lists refer to
    ``labels`` as sent.
    """
    if not isinstance(data, dict):
        raise InvalidArgument("round", "an object as made by round_to_dict", type_of(data))
    if not NEEDED <= set(data) <= KEYS:
        expected = f"the keys {', '.join(sorted(NEEDED))}, and perhaps {', '.join(sorted(KEYS - NEEDED))}"
        raise InvalidArgument("round", expected, safe_repr(sorted(map(str, data)))[:200])
    if type(data.get("version", VERSION)) is not int or data.get("version", VERSION) != VERSION:
        raise InvalidArgument("version", str(VERSION), safe_repr(data["version"])[:100])
    contexts, columns = contexts_from_data(data["contexts"])
    sent: Sequence[Hashable]
    if data.get("groups") is None:
        sent, there = [0][: len(contexts)], Groups.of(np.zeros(len(contexts), dtype=np.intp))
    else:
        sent, there = labels.partition_from_data(data["groups"], "groups")
    ids = data.get("arm_ids")
    return Round(
        t=data["t"],
        contexts=contexts,
        groups=there,
        constraint=constraint_from_data(data.get("promises"), sent, there),
        feasible=_feasible_from(data["feasible"], sent, there),
        reward=reward_from_data(data.get("reward", "sum")),
        arm_ids=ids if ids is None or isinstance(ids, np.ndarray) else labels.labels_from_data(ids, "arm_ids"),
        safe=data.get("safe"),
        columns=columns,
    )


def round_to_bytes(round: Round) -> bytes:
    """A round as few bytes, for a journal."""
    return packing.pack(document(round))


def round_from_bytes(content: bytes) -> Round:
    """The round that :func:`round_to_bytes` made bytes of, or :class:`UnreadableFile` with the reason."""
    data = packing.unpack(content, "round")
    try:
        return round_from_dict(data)
    except packing.DAMAGE as error:
        raise UnreadableFile(f"round: damaged, or of another version ({error})") from error


def document(round: Round) -> dict[str, Any]:
    """A round as plain data with arrays; see :mod:`superarm.wire.packing`."""
    checked_round(round)
    alone = round.labels in ((), (0,)) and type(next(iter(round.labels), 0)) is int
    return {
        "version": VERSION,
        "t": round.t,
        "contexts": contexts_to_data(round),
        "groups": None if alone else labels.partition_to_data(round.labels, round.grouping.codes, "groups"),
        "promises": [promise_to_data(promise, len(round.labels)) for promise in round.promises],
        "feasible": _feasible(round),
        "reward": reward_to_data(round.reward),
        "arm_ids": _ids(round.arm_ids),
        "safe": round.safe,
    }


def _ids(ids: Any) -> Any:
    if ids is None or ids.dtype.kind == "i":
        return None if ids is None else ids.astype(np.int64)
    return labels.labels_to_data(ids.tolist(), "arm_ids")


def _feasible(round: Round) -> dict[str, Any]:
    feasible = round.feasible
    if type(feasible) is WholeGroups:
        return {"whole_groups": int(feasible.n)}
    if type(feasible) is not AtMost and type(feasible) is not Exactly:
        raise InvalidArgument("feasible", "AtMost, Exactly or WholeGroups itself", safe_repr(feasible)[:100])
    caps = feasible.per_group
    if caps is not None:
        whole = isinstance(caps, (int, np.integer)) or (isinstance(caps, float) and caps.is_integer())
        caps = int(caps) if whole else round.caps.astype(np.int64)  # type: ignore[arg-type]  # whole: a number
    name = "at_most" if type(feasible) is AtMost else "exactly"
    return {name: None if feasible.k is None else int(feasible.k), "per_group": caps}


def _feasible_from(data: Any, sent: Sequence[Hashable], there: Groups) -> AtMost | Exactly | WholeGroups:
    keys = set(data) if isinstance(data, dict) else set()
    if keys == {"whole_groups"}:
        return WholeGroups(data["whole_groups"])
    caps = data["per_group"] if "per_group" in keys else None
    if isinstance(caps, LISTED):
        caps = in_order(caps, sent, there, "per_group")
    if keys - {"per_group"} == {"at_most"}:
        return AtMost(data["at_most"], per_group=caps)
    if keys - {"per_group"} == {"exactly"}:
        return Exactly(data["exactly"], per_group=caps)
    expected = "at_most or exactly, with or without per_group, or whole_groups"
    raise InvalidArgument("feasible", expected, safe_repr(data)[:100])
