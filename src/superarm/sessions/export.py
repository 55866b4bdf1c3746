"""A session as files that other programs read, and back: lines of JSON, and Parquet.

``events.jsonl`` and ``parts.parquet`` are the whole journal; ``decisions.parquet`` and ``outcomes.parquet`` are what
follows from it, for tables and notebooks.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superarm.errors import Conflict, InvalidArgument, StoreUnavailable, SuperarmError, UnreadableFile
from superarm.sessions import events
from superarm.sessions.events import Event, parts_of
from superarm.sessions.parts import digest_of
from superarm.sessions.settings import Settings
from superarm.sessions.start import begin
from superarm.sessions.stores.memory import MemoryStore
from superarm.sessions.stores.store import Behind, Entry, Store
from superarm.sessions.views import decisions_frame, outcomes_frame
from superarm.storage import TEMPORARY, alone, checked_path, replace_file, sync_folder
from superarm.wire.packing import DAMAGE

if TYPE_CHECKING:
    import polars as pl

FORMAT = "superarm session"
EVENTS, PARTS = "events.jsonl", "parts.parquet"
BEGUN = f"{TEMPORARY}export-"  # how files of an export begin that are not yet in place
DECISIONS, OUTCOMES = "decisions.parquet", "outcomes.parquet"


def exported(store: Store, folder: str | os.PathLike[str], last: int) -> Path:
    """Write a journal up to an event into a folder, made if there is none; an earlier export stays until that is done.

    Everything is made before anything is written. The lines of events say which parts belong to them. They are put in
    place last; only then do the parts get their final name. So a process that is killed leaves the earlier export or
    the new one, and a reader finds the parts of either.
    """
    path = checked_folder("folder", folder)
    lines: list[str] = []
    named: dict[str, None] = {}
    for event in store.events():
        if event.seq > last:
            break
        lines.append(_line(event))
        named.update(dict.fromkeys(parts_of(event.fact)))
    bodies = {digest: store.part(digest) for digest in named}
    kept = {digest: body for digest, body in bodies.items() if body is not None}
    made = [each for each in store.standings() if each.seq <= last]
    tables = {DECISIONS: _parquet(decisions_frame(store, made)), OUTCOMES: _parquet(outcomes_frame(store, made))}
    parts, digest = _parquet(_parts_frame(kept)), _digest(lines, kept)
    head = {"format": FORMAT, "version": events.VERSION, "events": last, "digest": digest}
    text = ("\n".join([json.dumps(head), *lines]) + "\n").encode("utf-8")
    try:
        path.mkdir(parents=True, exist_ok=True)
        with alone(path, wait=True):  # others may export into the same folder
            for name, table in tables.items():
                replace_file(path / name, table, BEGUN)
            replace_file(path / _new_parts(digest), parts, BEGUN)
            replace_file(path / EVENTS, text, BEGUN)
            os.replace(path / _new_parts(digest), path / PARTS)
            for left in path.glob(f"{BEGUN}*"):  # by whoever was killed; it may hold what was erased since
                left.unlink(missing_ok=True)
            sync_folder(path)
    except OSError as error:
        raise StoreUnavailable(f"folder: {path} cannot be written to: {error.strerror or error}") from error
    return path


def _parts_frame(parts: Mapping[str, bytes]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame([*parts.items()], schema={"digest": pl.String, "body": pl.Binary}, orient="row")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _new_parts(digest: str) -> str:
    """The name of parts until the events that name them are in place."""
    return f"{BEGUN}parts-{digest}"


def checked_folder(argument: str, folder: Any) -> Path:
    """The path of a folder that is there, or can be made."""
    path = checked_path(argument, folder)
    if path.exists() and not path.is_dir():
        raise InvalidArgument(argument, "the path of a folder, which is created if needed", f"the file {path}")
    return path


def _line(event: Event) -> str:
    head = {"seq": event.seq, "at": event.at, "kind": event.kind, "key": event.key, "request": event.request}
    return json.dumps(head | {"fact": json.loads(events.to_bytes(event.fact))})


def _digest(lines: Sequence[str], parts: Mapping[str, bytes]) -> str:
    """Of all that an export holds, so that what was changed in it is found out."""
    found = hashlib.sha256("\n".join(lines).encode("utf-8"))
    for name in sorted(parts):
        found.update(f"\n{name} {digest_of(parts[name])}".encode())
    return found.hexdigest()


def read_export(folder: str | os.PathLike[str]) -> list[Entry]:
    """What was exported, checked as a whole: it is what was written, and a session can go on with it."""
    import polars as pl

    path = checked_path("folder", folder)
    if not (path / EVENTS).is_file():
        raise InvalidArgument("folder", f"a folder that Session.export wrote, with {EVENTS}", f"{path}")
    try:
        first, *lines = (path / EVENTS).read_text("utf-8").split("\n")[:-1]
        head = json.loads(first)
        if head["format"] != FORMAT or head["events"] != len(lines) or head["version"] > events.VERSION:
            raise ValueError(f"a head of {head}, and {len(lines)} events")
        parts = _read_parts(path, str(head.get("digest")))
        if head.get("digest", "") not in ("", _digest(lines, parts)):  # earlier exports have none
            raise ValueError("it was changed after it was written: its digest differs")
        found = [_event(json.loads(line), head["version"]) for line in lines]
        if [event.seq for event in found] != list(range(1, len(found) + 1)):
            raise ValueError("events are missing or out of order")
        entries = [Entry(event=event, parts=_named(event, parts)) for event in found]
        trial = MemoryStore()
        trial.append(entries)
        begin(trial, None, Settings())
    except FileNotFoundError:
        raise
    except (*DAMAGE, AssertionError, OSError, SuperarmError, pl.exceptions.PolarsError) as error:
        raise UnreadableFile(f"{path}: damaged, truncated, or not an export of a session ({error})") from error
    return entries


def _read_parts(path: Path, digest: str) -> dict[str, bytes]:
    """The parts of an export, also where whoever wrote it was killed before they had their name."""
    import polars as pl

    new = path / _new_parts(digest)
    file = new if new.is_file() else path / PARTS
    return dict(pl.read_parquet(file, columns=["digest", "body"], glob=False).iter_rows())


def imported(entries: Sequence[Entry], store: Store) -> None:
    """Write what :func:`read_export` found into an empty store, all or nothing."""
    if store.last():
        raise Conflict("there is already a session at this place; give another path or name")
    try:
        store.append(entries)
    except Behind:
        raise Conflict("another process has started a session at this place; give another path or name") from None


def _event(row: dict[str, Any], version: int) -> Event:
    fact = events.from_bytes(row["kind"], version, json.dumps(row["fact"]).encode("utf-8"))
    return Event(seq=row["seq"], at=row["at"], fact=fact, key=row["key"], request=row["request"])


def _named(event: Event, parts: Mapping[str, bytes]) -> dict[str, bytes]:
    return {digest: parts[digest] for digest in parts_of(event.fact) if digest in parts}
