"""Frames of polars and pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from superarm.errors import InvalidArgument, type_of

if TYPE_CHECKING:
    import polars as pl


def check_frame(frame: Any) -> None:
    """Refuse anything without rows and named columns."""
    named = all(hasattr(frame, name) for name in ("__len__", "__getitem__", "columns"))
    if isinstance(frame, type) or not named:
        raise InvalidArgument("frame", "a polars or pandas frame", type_of(frame))


def typed_frame(argument: str, frame: Any, schema: Mapping[str, Any]) -> pl.DataFrame:
    """The columns of ``schema`` of a polars frame, cast to its types, without nulls."""
    import polars as pl

    if not isinstance(frame, pl.DataFrame) or not set(schema) <= set(frame.columns):
        present = f"columns {frame.columns}" if isinstance(frame, pl.DataFrame) else type_of(frame)
        raise InvalidArgument(argument, f"a polars frame with the columns {', '.join(schema)}", present)
    try:
        typed = frame.select(pl.col(name).cast(kind) for name, kind in schema.items())
    except pl.exceptions.PolarsError as error:
        raise InvalidArgument(argument, f"columns of types {schema}", str(error).partition("\n")[0]) from None
    if typed.null_count().sum_horizontal().item():
        raise InvalidArgument(argument, "a value in every row", "null")
    return typed
