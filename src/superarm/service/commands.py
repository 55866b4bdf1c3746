"""The commands of the service, for the command line; what they need is loaded when they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from superarm.errors import InvalidArgument, SuperarmError
from superarm.sessions.stores.postgres.address import from_command, is_url
from superarm.terminal import Json, console, plain_errors, print_json
from superarm.words import to_install

if TYPE_CHECKING:
    from superarm.sessions.stores.shelf import Shelf

STORE = "superarm.db"
Store = Annotated[
    str,
    typer.Option(
        help="File of the sessions, created if needed; or a file that contains the URL of a database; or env:VARIABLE.",
        envvar="SUPERARM_STORE",
    ),
]
token = typer.Typer(no_args_is_help=True, help="Create, list and revoke tokens of a service.")


class _MissingExtra(SuperarmError):
    """What the service needs is not installed."""


@contextmanager
def _extra() -> Iterator[None]:
    """Say what to install where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = f"the service needs {error.name}: {to_install('serve')}"
        raise _MissingExtra(said) from None


def serve(
    store: Store = STORE,
    bind: Annotated[str, typer.Option(help="HOST:PORT; other machines can connect only if there are tokens.")] = (
        "127.0.0.1:8000"
    ),
    root_path: Annotated[str, typer.Option(help="Path under which a proxy serves it, such as /superarm.")] = "",
    forwarded_allow_ips: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded-* headers are trusted, separated by commas.")
    ] = "",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    rate: Annotated[int, typer.Option(min=1, help="Requests per second for one token, or for one address.")] = 2000,
    queue: Annotated[int, typer.Option(min=1, help="Requests that may wait for one session.")] = 64,
) -> None:
    """Make decisions over HTTP, and show on a page whether promises are kept."""
    with plain_errors():
        with _extra():
            from superarm.service import start
        settings = start.Settings(
            store=from_command("--store", store),
            bind=bind,
            root_path=root_path.rstrip("/"),
            forwarded_allow_ips=forwarded_allow_ips,
            log_level=log_level,
            rate=rate,
            queue=queue,
        )
        with suppress(KeyboardInterrupt):  # to be told to end is how a server ends
            start.serve(settings, said=lambda line: console.print(line, soft_wrap=True, markup=False))


@contextmanager
def _shelf(store: str, *, makes: bool = False) -> Iterator[Shelf]:
    """The shelf of a store, which is made only where something is to be kept."""
    with plain_errors():
        from superarm.sessions.stores.shelf import shelf_at

        place = from_command("--store", store)
        if not makes and not is_url(place) and not Path(place).exists():
            raise InvalidArgument("--store", "the file of a service, or one with the URL of its database", place)
        shelf = shelf_at(place)
        try:
            yield shelf
        finally:
            shelf.close()


@token.command()
def create(
    scopes: Annotated[
        str, typer.Option(help="Some of read,decide,observe,correct,admin,metrics, separated by commas.")
    ],
    sessions: Annotated[str, typer.Option(help="Name of a session, or a pattern such as 'shop-*'.")] = "*",
    days: Annotated[float | None, typer.Option(help="Days until it expires; by default never.")] = None,
    note: Annotated[str, typer.Option(help="What it is for, in your words.")] = "",
    store: Store = STORE,
) -> None:
    """Create a token and print it. It is shown only this once, because only a digest of it is kept."""
    with _shelf(store, makes=True) as shelf, _extra():
        from superarm.service import tokens

        chosen = tuple(scope.strip() for scope in scopes.split(",") if scope.strip())
        made = tokens.create(shelf, chosen, sessions=sessions, days=days, note=note)
        console.print(made.text, markup=False, soft_wrap=True)


@token.command("list")
def list_tokens(store: Store = STORE, as_json: Json = False) -> None:
    """List all tokens, without their secrets."""
    with _shelf(store) as shelf, _extra():
        from superarm.service import tokens

        table = Table("id", "scopes", "sessions", "until", "note", box=None, pad_edge=False, header_style="bold")
        found = tokens.kept(shelf).values()
        if as_json:
            shown = ("id", "scopes", "sessions", "until", "revoked", "note")  # and no digest
            print_json([{name: getattr(each, name) for name in shown} for each in found])
            return
        for each in found:
            until = "revoked" if each.revoked else "for ever" if each.until is None else _day(each.until)
            table.add_row(each.id, ",".join(each.scopes), each.sessions, until, each.note)
        console.print(table)


@token.command()
def revoke(
    id: Annotated[str, typer.Argument(help="Id of the token, as 'superarm token list' shows it.")], store: Store = STORE
) -> None:
    """Revoke a token; a running service refuses it within two seconds."""
    with _shelf(store) as shelf, _extra():
        from superarm.service import tokens

        console.print(f"revoked {tokens.revoke(shelf, id).id}", markup=False)


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
