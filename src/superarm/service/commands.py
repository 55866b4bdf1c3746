"""The commands of the service, for the command line; what they need is loaded when they run."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from superarm.errors import SuperarmError
from superarm.sessions.stores.postgres.address import from_command
from superarm.terminal import console, plain_errors

STORE = "superarm.db"
Store = Annotated[
    str,
    typer.Option(
        help="File of the sessions, made if need be; or a file that holds the URL of a database; or env:VARIABLE.",
        envvar="SUPERARM_STORE",
    ),
]


class _MissingExtra(SuperarmError):
    """What the service needs is not installed."""


def serve(
    store: Store = STORE,
    bind: Annotated[str, typer.Option(help="HOST:PORT.")] = "127.0.0.1:8000",
) -> None:
    """Make decisions over HTTP, and show on a page whether promises are kept."""
    with plain_errors():
        try:
            from superarm.service import start
        except ModuleNotFoundError as error:
            said = f"the service needs {error.name}: install it by  pip install 'superarm[serve]'"
            raise _MissingExtra(said) from None
        with suppress(KeyboardInterrupt):  # to be told to end is how a server ends
            start.serve(
                from_command("--store", store),
                bind,
                said=lambda line: console.print(line, soft_wrap=True, markup=False),
            )
