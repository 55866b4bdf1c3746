"""Rounds, outcomes and selections as polars frames with a row for each arm, and frames as Arrow bytes.

What is not one value for each arm stays beside the frame as plain data: ``t``, ``promises``, ``feasible`` and
``reward`` as in :func:`~superarm.wire.round_to_dict`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from superarm.arguments import instance
from superarm.errors import InvalidArgument, UnreadableFile, safe_repr, type_of
from superarm.round import Outcomes, Round
from superarm.selection import Selection
from superarm.wire import packing, rounds, selections
from superarm.wire.arrow import check_stream
from superarm.wire.labels import labels_to_data

if TYPE_CHECKING:
    import polars as pl

FEATURE = "x"  # columns of contexts are x1, x2, ...
BESIDE = ("version", "t", "promises", "feasible", "reward")
COLUMNS = ("arm", "outcome_1", "outcome_2")
BELIEF = {what: [f"{what}_{outcome}" for outcome in (1, 2)] for what in ("mean", "std")}


def round_to_frame(round: Round) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A round as a frame with a row for each arm, and what is not one value for each arm as plain data.

    The columns are ``x1``, ``x2``, ... and, where the round has them, ``group``, ``arm_id`` and ``safe``. Labels that
    are all text or all whole numbers are columns of these; others are JSON text, and the data beside say so, as they
    say what the features are called.
    """
    import polars as pl

    document = rounds.document(round)
    columns: dict[str, Any] = {f"{FEATURE}{i}": column for i, column in enumerate(round.contexts.T, start=1)}
    beside: dict[str, Any] = {name: packing.plain(document[name]) for name in BESIDE}
    beside["features"] = len(columns)
    beside["spelled"] = []
    each = {"group": None if document["groups"] is None else [round.labels[code] for code in round.grouping.codes]}
    each["arm_id"] = None if round.arm_ids is None else round.arm_ids.tolist()
    if round.columns is not None:
        beside["names"] = list(round.columns.names)
        each |= {
            f"{FEATURE}{i + 1}": round.columns.text(round.contexts, i).tolist()
            for i in np.flatnonzero(round.columns.categories).tolist()
        }
    for name, labels in each.items():
        if labels is None:
            continue
        data = labels_to_data(labels, "arm_ids" if name == "arm_id" else "groups")
        whole = name in ("group", "arm_id") and all(type(label) is int and -(2**63) <= label < 2**63 for label in data)
        if not whole and not _is_text(data):
            data = [json.dumps(label) for label in data]
            beside["spelled"].append(name)
        columns[name] = pl.Series(name, data, dtype=pl.Int64 if whole else pl.String)
    if round.safe is not None:
        columns["safe"] = round.safe
    return pl.DataFrame(columns), beside


def round_from_frame(frame: Any, beside: Any) -> Round:
    """The round that :func:`round_to_frame` made a frame of."""
    import polars as pl

    instance("frame", frame, pl.DataFrame, "a polars frame")
    known = {*BESIDE, "features", "spelled", "names"}
    if not isinstance(beside, dict) or not {"t", "feasible", "features"} <= set(beside) <= known:
        came = sorted(map(str, beside)) if isinstance(beside, dict) else type_of(beside)
        raise InvalidArgument("beside", "the data that round_to_frame returned with the frame", safe_repr(came)[:200])
    features, spelled = beside["features"], beside.get("spelled", [])
    if type(features) is not int or features < 0 or features > frame.width or not isinstance(spelled, list):
        raise InvalidArgument("features", f"how many of {frame.width} columns are features", safe_repr(features)[:100])
    names = [f"{FEATURE}{i}" for i in range(1, features + 1)]
    strange = set(frame.columns) ^ {*names, *({"group", "arm_id", "safe"} & set(frame.columns))}
    if strange:
        expected = f"{features} features, and perhaps group, arm_id and safe"
        raise InvalidArgument("frame", expected, f"a difference in {sorted(strange)[:5]}")
    whole = {name: beside[name] for name in BESIDE if name in beside}
    whole["contexts"] = _contexts(frame.select(names), beside.get("names"), spelled)
    for name, place in (("group", "groups"), ("arm_id", "arm_ids")):
        if name in frame.columns:
            whole[place] = _labels(frame[name], name in spelled)
    if "safe" in frame.columns:
        whole["safe"] = frame["safe"].to_list()
    return rounds.round_from_dict(whole)


def outcomes_to_frame(outcomes: Outcomes) -> pl.DataFrame:
    """Outcomes as a frame: ``arm``, ``outcome_1`` and ``outcome_2``, null where one never came."""
    import polars as pl

    instance("outcomes", outcomes, Outcomes, "a superarm.Outcomes")
    first, second = np.ascontiguousarray(outcomes.values.T)
    columns = dict(zip(COLUMNS, (outcomes.arms.astype(np.int64), first, second), strict=True))
    return pl.DataFrame(columns).with_columns(pl.col(COLUMNS[1:]).fill_nan(None))


def outcomes_from_frame(frame: Any, round: Round) -> Outcomes:
    """The outcomes that :func:`outcomes_to_frame` made a frame of, checked against the round that they belong to."""
    import polars as pl

    instance("frame", frame, pl.DataFrame, "a polars frame")
    if set(frame.columns) != set(COLUMNS):
        raise InvalidArgument("frame", f"the columns {', '.join(COLUMNS)}", safe_repr(frame.columns)[:100])
    values = [[np.nan if value is None else value for value in frame[name].to_list()] for name in COLUMNS[1:]]
    arms = frame["arm"].to_numpy()
    return Outcomes.of(round, arms, np.array(list(zip(*values, strict=True)), dtype=object).reshape(-1, 2))


def selection_to_frame(selection: Selection) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A selection as a frame with a row for each picked arm, and all that it says beside these as plain data.

    The columns are ``arm`` and, where the selection says what was believed, ``mean_1``, ``mean_2``, ``std_1`` and
    ``std_2``. The frame of :meth:`superarm.Selection.to_frame` is for people: it says less and cannot be read back.
    """
    import polars as pl

    beside = selections.selection_to_dict(selection)
    columns, belief = {"arm": np.array(beside.pop("arms"), dtype=np.int64)}, beside.pop("belief") or {}
    for what, values in belief.items():
        columns |= dict(zip(BELIEF[what], np.array(values, dtype=np.float64), strict=True))
    return pl.DataFrame(columns), beside


def selection_from_frame(frame: Any, beside: Any) -> Selection:
    """The selection that :func:`selection_to_frame` made a frame of."""
    import polars as pl

    instance("frame", frame, pl.DataFrame, "a polars frame")
    believed = [name for names in BELIEF.values() for name in names]
    if set(frame.columns) not in ({"arm"}, {"arm", *believed}):
        expected = f"the column arm, and perhaps {', '.join(believed)}"
        raise InvalidArgument("frame", expected, safe_repr(frame.columns)[:100])
    if not isinstance(beside, dict) or {"arms", "belief"} & set(beside):
        raise InvalidArgument(
            "beside", "the data that selection_to_frame returned with the frame", safe_repr(beside)[:200]
        )
    lists = {name: frame[name].to_list() for name in frame.columns}
    belief = {what: [lists[name] for name in names] for what, names in BELIEF.items()} if frame.width > 1 else None
    return selections.selection_from_dict({**beside, "arms": lists["arm"], "belief": belief})


def frame_to_arrow(frame: Any) -> bytes:
    """A frame as the bytes of an Arrow stream."""
    import polars as pl

    content = io.BytesIO()
    instance("frame", frame, pl.DataFrame, "a polars frame").write_ipc_stream(content)
    return content.getvalue()


def frame_from_arrow(content: Any) -> pl.DataFrame:
    """The frame of an Arrow stream, or :class:`UnreadableFile` with the reason.

    Bytes that announce more than they hold are refused before polars reads them. Arrow has no checksum: values that
    were damaged on the way can come back as other values, so take it from sources that you trust, or check it by a sum
    of your own; :func:`~superarm.wire.round_to_bytes` has one.
    """
    import polars as pl

    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise InvalidArgument("content", "bytes", type_of(content))
    content = bytes(content)
    try:
        check_stream(content)
        return pl.read_ipc_stream(io.BytesIO(content))
    except (Exception, pl.exceptions.PanicException) as error:  # of any kind: polars meets bytes that are no stream
        raise UnreadableFile(f"content: no whole Arrow stream ({error})") from error


def _contexts(frame: pl.DataFrame, names: Any, spelled: Sequence[Any]) -> Any:
    """Contexts as plain data: of numbers alone, or with their names."""
    import polars as pl

    if names is None:
        return [column.to_numpy() for column in frame]
    if not isinstance(names, list) or len(names) != frame.width:
        raise InvalidArgument("names", f"a name for each of {frame.width} features", safe_repr(names)[:100])
    found: list[dict[str, Any]] = []
    for name, column in zip(names, frame, strict=True):
        if column.dtype != pl.String:
            found.append({"name": name, "numbers": column.to_numpy()})
        else:
            text = _labels(column, column.name in spelled)
            codes = {label: code for code, label in enumerate(dict.fromkeys(map(str, text)))}
            found.append({"name": name, "labels": list(codes), "codes": [codes[str(label)] for label in text]})
    return found


def _labels(column: pl.Series, spelled: bool) -> list[Any]:
    """Labels of arms as plain data; None is spelled, and nothing is no label."""
    if column.null_count():
        raise InvalidArgument(column.name, "a label for every arm", "a missing label")
    if not spelled:
        return column.to_list()
    try:
        return [json.loads(text) for text in column.to_list()]
    except (TypeError, ValueError, RecursionError):
        raise InvalidArgument(column.name, "labels as JSON text", f"a column of {column.dtype}") from None


def _is_text(labels: Sequence[Hashable]) -> bool:
    """Whether all are text of which UTF-8 has every character."""
    try:
        return all(isinstance(label, str) and label.encode() is not None for label in labels)
    except UnicodeEncodeError:
        return False
