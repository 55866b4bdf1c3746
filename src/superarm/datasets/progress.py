"""A progress bar over bytes, for files that take a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

_LARGE = 1 << 25  # bytes; less is done before a bar could be read


@contextmanager
def byte_bar(console: Console | None, what: str, total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Give a function to be told of further bytes; it draws nothing without a console or for a small file."""
    if console is None or (total is not None and total < _LARGE):
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda count: progress.advance(task, count)
