"""The output of the command: for terminals of any encoding, with errors in one line."""

from __future__ import annotations

import json
import math
import os
import signal
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from superarm import signs  # noqa: F401  # tells encodings what to do with signs that they lack
from superarm.errors import InvalidArgument, ModelWarning, SuperarmError
from superarm.words import meant


class _Output(Console):
    """A console whose errors name the file that it writes to."""

    def print(self, *objects: Any, **options: Any) -> None:
        try:
            super().print(*objects, **options)
        except OSError as error:
            error.filename = "standard output"
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # or Python tries again when it ends
            raise


console = _Output(highlight=False)
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON instead of tables.")]
INTERRUPTED = 130


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print an error, a warning or a missing file in one line, not as a traceback; interrupted, say how to go on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a request to end is an interruption too
    usual = warnings.formatwarning
    warnings.formatwarning = partial(_warning, usual)
    try:
        yield
    except (SuperarmError, OSError) as error:
        said = _words(error) if isinstance(error, OSError) else str(error)
        notes = "; ".join(getattr(error, "__notes__", ()))  # which policy, and when
        said = f"{said} ({notes})" if notes else said
        Console(stderr=True, highlight=False).print(Text("superarm: ", style="red").append(said, ""), soft_wrap=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        Console(stderr=True).print("\ninterrupted; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        warnings.formatwarning = usual


def _warning(
    usual: Callable[..., str], message: Warning | str, category: type[Warning], *place: Any, **line: Any
) -> str:
    """What the data contradict, without the line of code that led there: it is not the reader's."""
    return f"warning: {message}\n" if issubclass(category, ModelWarning) else usual(message, category, *place, **line)


@contextmanager
def guess(argument: str, words: Iterable[str], known: Collection[str]) -> Iterator[None]:
    """Add to an error about an argument which of the known words may be meant."""
    try:
        yield
    except InvalidArgument as error:
        unknown = [word for word in words if word not in known]
        if error.argument != argument or not unknown:
            raise
        raise InvalidArgument(argument, error.expected, f"{error.came}{meant(unknown[0], known)}") from None


def _words(error: OSError) -> str:
    """The text of a system error, without its number and without the quotes that Python puts around a path."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{os.fspath(error.filename)}: {error.strerror}"


def print_json(data: Any) -> None:
    """One line of JSON, for programs: infinite numbers and NaN are null, times and the like are text."""
    console.out(json.dumps(_plain(data), default=str, allow_nan=False))


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _plain(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def warn(line: str | None) -> None:
    """Print a warning, if there is one."""
    if line is not None:
        console.print(Text("warning: ", style="yellow").append(line, ""), soft_wrap=True)
