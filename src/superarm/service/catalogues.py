"""Catalogues: arms that are sent once, and named by later rounds, all of them or some rows."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from superarm.arguments import as_floats
from superarm.errors import Conflict, InvalidArgument, safe_repr
from superarm.round import Round
from superarm.service import bodies
from superarm.service.problems import Refused
from superarm.sessions.parts import digest_of
from superarm.sessions.redaction import occurs
from superarm.sessions.stores.shelf import Shelf
from superarm.wire import packing
from superarm.wire.contexts import rows_of, size_of
from superarm.wire.labels import labels_from_data
from superarm.wire.rounds import document, round_from_dict

KEPT = 16  # catalogues that stay decoded
SHORT = 16  # letters of a digest


class Catalogues:
    """The catalogues of all sessions: kept on the shelf, the latest decoded."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = threading.Lock()
        self._decoded: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()

    def keep(self, session: str, name: str, round: Round) -> str:
        """Keep the arms of a round under a name; the name with the digest of the content."""
        arms = {part: found for part, found in document(round).items() if part in ("contexts", "groups", "arm_ids")}
        content = packing.pack(arms)
        digest = digest_of(content)[:SHORT]
        self._shelf.write(_sort(session), name, f"{digest} {base64.b64encode(content).decode()}")
        self._remember((session, name, digest), arms)
        return f"{name}@{digest}"

    def arms(self, session: str, named: str, rows: Sequence[int] | None) -> dict[str, Any]:
        """Contexts, groups and ids of a catalogue, as a round takes them; of some rows, or of all."""
        name, _, digest = named.partition("@")
        found = self._decoded.get((session, name, digest)) or self._read(session, name, digest)
        if rows is None:
            return dict(found)
        many = size_of(found["contexts"])
        chosen = np.array(rows, dtype=np.int64).reshape(-1)
        if len(chosen) and not (chosen.min() >= 0 and chosen.max() < many):
            raise InvalidArgument("rows", f"rows of the catalogue, from 0 to {many - 1}", safe_repr(list(rows)[:5]))
        groups, ids = found["groups"], found["arm_ids"]
        return {
            "contexts": rows_of(found["contexts"], chosen),
            "groups": None if groups is None else groups | {"codes": groups["codes"][chosen]},
            "arm_ids": ids[chosen]
            if isinstance(ids, np.ndarray)
            else None
            if ids is None
            else [ids[i] for i in chosen],
        }

    def refresh(self) -> None:
        """Forget decoded catalogues that are no longer kept as they were: another process may have erased them."""
        for session in {session for session, _, _ in list(self._decoded)}:
            kept = self._shelf.names(_sort(session), SHORT)
            with self._lock:
                for place in [each for each in self._decoded if each[0] == session and kept.get(each[1]) != each[2]]:
                    del self._decoded[place]

    def erase(self, session: str, name: str) -> None:
        """Keep a catalogue no longer."""
        if self._shelf.one(_sort(session), name) is None:
            raise _unknown(name)
        self._shelf.write(_sort(session), name, None)
        self.refresh()

    def erase_label(self, session: str, label: Any) -> list[str]:
        """Keep those no longer in which a label, an arm id or a category occurs; their names."""
        gone = []
        for name in self._shelf.names(_sort(session)):
            kept = self._shelf.one(_sort(session), name)
            if kept is not None and occurs(label, round_of_arms(_decoded(kept))):
                self._shelf.write(_sort(session), name, None)
                gone.append(name)
        self.refresh()
        return gone

    def _read(self, session: str, name: str, digest: str) -> dict[str, Any]:
        kept = self._shelf.one(_sort(session), name)
        if kept is None:
            raise _unknown(name)
        now = kept[:SHORT]
        if digest != now:
            raise Conflict(f"catalogue {name!r} is now {name}@{now}; send it again, or name that one")
        found = _decoded(kept)
        self._remember((session, name, now), found)
        return found

    def _remember(self, place: tuple[str, str, str], arms: dict[str, Any]) -> None:
        with self._lock:
            self._decoded[place] = arms
            while len(self._decoded) > KEPT:
                self._decoded.popitem(last=False)


def _decoded(kept: str) -> dict[str, Any]:
    found: dict[str, Any] = packing.unpack(base64.b64decode(kept.partition(" ")[2]), "catalogue")
    return found


def _unknown(name: str) -> Refused:
    return Refused(404, "unknown-catalogue", f"there is no catalogue {safe_repr(name)[:100]}; send it first")


def _sort(session: str) -> str:
    return f"catalogue {session}"


def arms_of(frame: pl.DataFrame) -> dict[str, Any]:
    """Contexts, groups, ids and safe arms of a frame with a row for each arm; all other columns are features."""
    others = ("group", "arm_id", "safe")
    features = [name for name in frame.columns if name not in others]
    strange = [name for name in features if not frame[name].dtype.is_numeric() and not _is_text(frame[name])]
    if strange or not features:
        came = f"{strange[0]}, of {frame[strange[0]].dtype}" if strange else "none"
        raise InvalidArgument("frame", "features of numbers or text, and perhaps group, arm_id and safe", came)
    data: dict[str, Any] = {"contexts": {name: _values(frame[name]) for name in features}}
    for column, part in (("group", "groups"), ("arm_id", "arm_ids")):
        if column in frame.columns:
            values = frame[column]
            if values.null_count():
                raise InvalidArgument(column, "a label for every arm", "a missing label")
            data[part] = labels_from_data(
                values.cast(pl.String).to_list() if _is_text(values) else values.to_list(), part
            )
    if "safe" in frame.columns:
        data["safe"] = frame["safe"].to_list()
    return data


def _values(column: pl.Series) -> Any:
    """Numbers, or the text of categories."""
    if not _is_text(column):
        return as_floats(column.name, column.to_numpy(), "numbers")
    if column.null_count():
        raise InvalidArgument(column.name, "a category for every arm", "a missing value")
    return column.cast(pl.String).to_list()


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.Categorical, pl.String) or isinstance(column.dtype, pl.Enum)


def round_of_arms(arms: dict[str, Any]) -> Round:
    """A round of some arms, to check them by."""
    return round_from_dict({"t": 1, "feasible": {"at_most": 1}, **arms})


class CatalogueTold(bodies.Told, frozen=True, kw_only=True):
    """The name that rounds give as ``catalogue``, and how many arms it has."""

    catalogue: str
    arms: int
