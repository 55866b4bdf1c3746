"""The commands of sessions, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from superarm.errors import InvalidArgument
from superarm.sessions.lines import decision_lines
from superarm.sessions.session import Session
from superarm.sessions.start import session_names
from superarm.sessions.stores.postgres.address import from_command
from superarm.terminal import Json, console, plain_errors, print_json, warn

session = typer.Typer(no_args_is_help=True, help="Inspect, check, back up and explain durable sessions.")

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="File of the sessions; or one that contains the URL of a database; or env:VARIABLE."
    ),
]
Last = Annotated[int, typer.Option(min=1, help="How many of the latest decisions to show.")]
Name = Annotated[str, typer.Option("--name", help="Name of the session.")]


@contextmanager
def _session(file: Path, name: str, said: bool = True) -> Iterator[Session]:
    """A session that is there, its notes said; none is made by looking at one."""
    with plain_errors():
        place = from_command("FILE", file)
        known = session_names(place)
        if name not in known:
            raise InvalidArgument("--name", f"one of {', '.join(known)}", name)
        with Session.open(place, name=name) as held:
            for note in held.notes if said else ():
                warn(note)
            yield held


@session.command("list")
def list_sessions(file: File, as_json: Json = False) -> None:
    """List the sessions of a file, and the progress of each."""
    with plain_errors():
        table = Table("session", "policy", box=None, pad_edge=False, header_style="bold")
        for count in ("decisions", "waiting"):
            table.add_column(count, justify="right")
        place, rows = from_command("FILE", file), []
        for name in session_names(place):
            with Session.open(place, name=name) as held:
                rows.append((name, type(held.policy).__name__, len(held.decisions()), len(held.pending())))
                table.add_row(*map(str, rows[-1]))
        if as_json:
            print_json([dict(zip(("session", "policy", "decisions", "waiting"), row, strict=True)) for row in rows])
        else:
            console.print(table)


@session.command()
def show(file: File, name: Name = "main", last: Last = 20, as_json: Json = False) -> None:
    """Show what the policy has learnt, and the state of the latest decisions."""
    with _session(file, name, said=not as_json) as held:
        if as_json:
            latest = held.decisions().tail(last).to_dicts()
            print_json({"session": name, "policy": str(held.policy), "notes": held.notes, "decisions": latest})
            return
        lines = [repr(held), str(held.policy), *decision_lines(held.decisions().tail(last))]
        console.print("\n".join(lines), markup=False, soft_wrap=True)


@session.command()
def verify(file: File, name: Name = "main") -> None:
    """Check the journal, replay it from its first event, and compare. The exit code says whether all is well."""
    with _session(file, name) as held:
        found = held.verify()
        console.print(str(found), markup=False, soft_wrap=True)
        if not found.ok:
            raise typer.Exit(1)


@session.command()
def replay(
    file: File,
    out: Annotated[Path, typer.Argument(metavar="POLICY", help="File to write the policy to; superarm.load reads it.")],
    at: Annotated[int | None, typer.Option(min=1, help="Number of the event; by default the last.")] = None,
    name: Name = "main",
) -> None:
    """Save the policy as it was after an event."""
    with _session(file, name) as held:
        try:
            policy: Any = held.policy if at is None else held.at(at)
        except InvalidArgument as error:
            raise InvalidArgument("--at", error.expected, error.came) from None
        policy.save(out)
        console.print(f"written: {out}", soft_wrap=True, markup=False)


@session.command()
def snapshot(file: File, name: Name = "main") -> None:
    """Save the state, so that the next start is quick."""
    with _session(file, name) as held:
        console.print(f"kept the state after event {held.snapshot()}")


@session.command()
def compact(
    file: File,
    days: Annotated[
        float | None,
        typer.Option("--older-than", min=0, help="Days; by default the keep_rounds of the session, or 30."),
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Folder to move old events to; by default they stay, with the picked arms.")
    ] = None,
    name: Name = "main",
) -> None:
    """Remove details of old, settled decisions, and say what is no longer possible."""
    with _session(file, name) as held:
        found = held.compact(None if days is None else 86400.0 * days, archive=archive)
        console.print(str(found), markup=False, soft_wrap=True)


@session.command()
def explain(
    file: File,
    decision: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of the decision, or its beginning.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Key of the decision, instead of its id.")] = None,
    t: Annotated[int | None, typer.Option("--t", min=1, help="Number of its round, instead of its id.")] = None,
    name: Name = "main",
) -> None:
    """Explain a decision by what the policy knew when it made it."""
    with _session(file, name) as held:
        if sum(given is not None for given in (decision, key, t)) != 1:
            raise InvalidArgument("ID", "exactly one of the id of a decision, --key and --t", decision)
        console.print(str(held.explain(decision, key=key, t=t)), markup=False, soft_wrap=True)


@session.command()
def export(file: File, folder: Annotated[Path, typer.Argument()], name: Name = "main") -> None:
    """Write the journal, and tables of decisions and outcomes, into a folder."""
    with _session(file, name) as held:
        console.print(f"written: {held.export(folder)}", soft_wrap=True, markup=False)


@session.command("import")
def import_(folder: Annotated[Path, typer.Argument()], file: File, name: Name = "main") -> None:
    """Restore a session from a folder that 'superarm session export' wrote."""
    with plain_errors(), Session.restore(folder, from_command("FILE", file), name=name) as held:
        console.print(repr(held), markup=False)
