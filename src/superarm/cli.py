"""The command ``superarm``: it parses and calls, no more.

Charts take a third as long to load as all the rest: the commands that draw them import them, when they do.
"""

from __future__ import annotations

import io
import os
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import superarm
from superarm.datasets.download import RELEASES
from superarm.datasets.movielens import report_fetch
from superarm.errors import InvalidArgument
from superarm.experiments import runner
from superarm.experiments.paper import STUDIES
from superarm.experiments.paper import demo as small_study
from superarm.experiments.results import read
from superarm.experiments.studies import POLICIES, settings_by_policy, study, with_sweep
from superarm.service.commands import serve, token
from superarm.sessions.lines import decision_lines
from superarm.sessions.start import session_names
from superarm.sessions.stores.postgres.address import from_command
from superarm.terminal import console, plain_errors, warn

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
data = typer.Typer(no_args_is_help=True, help="Fetch data sets.")
app.add_typer(data, name="data")
session = typer.Typer(no_args_is_help=True, help="Look at durable sessions, check, save, export and explain them.")
app.add_typer(session, name="session")
app.command()(serve)
app.add_typer(token, name="token")


WRITING = "writing the page, and every figure as PNG, SVG and PDF: some 15 seconds"
CORES = os.cpu_count() or 1

Seed = Annotated[int, typer.Option(min=0, help="Of arrivals, noise and ties.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; the results do not depend on it.")]

On = Annotated[
    str | None,
    typer.Option("--on", help="Where to play, in place of --jobs: here, processes:8, ray, ray:auto or ray:ADDRESS."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"superarm {superarm.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Pick a set of items every round, learn from noisy feedback, and keep promises to groups."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="superarm.plain")


@app.command("list")
def list_() -> None:
    """Studies, and policies with the settings that they take, by name."""
    with plain_errors():
        studies = Table("study", "what it is", box=None, pad_edge=False, header_style="bold")
        for name, known in STUDIES.items():
            studies.add_row(name, known.title)
        policies = Table(
            "policy", "what it is", "settings, with defaults", box=None, pad_edge=False, header_style="bold"
        )
        settings = settings_by_policy()
        for name, words in POLICIES.items():
            policies.add_row(name, words, settings[name])
        console.print(studies, Text(), policies, Text(), sep="\n")
        console.print(
            "a policy with settings:  superarm run federated --policies 'tcgp-ucb, tcgp-ucb zeta=0.25'", soft_wrap=True
        )


@app.command()
def run(
    name: Annotated[
        str, typer.Argument(metavar="STUDY", help=f"{', '.join(STUDIES)}; or a file of your own, as study.py.")
    ],
    runs: Annotated[int | None, typer.Option(min=1, help="Independent runs; by default the paper's number.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds T; by default the paper's number.")] = None,
    seed: Seed = 0,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Some of the study's policies, with commas between, each with settings if you like: "
            "'tcgp-ucb, tcgp-ucb zeta=0.25'. 'superarm list' names them."
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Add a grid of settings, to see what can be had for which price.")
    ] = False,
    jobs: Jobs = CORES,
    on: On = None,
    out: Annotated[
        str | None,
        typer.Option(help="Folder of the results, by default results/STUDY; or a bucket, as s3://bucket/study."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="For movies: a MovieLens folder, or 'synthetic'; for leakage: 'synthetic'.")
    ] = None,
) -> None:
    """Run a study; the same command resumes it, whatever stopped it."""
    with plain_errors():
        chosen = None if policies is None else tuple(part.strip() for part in policies.split(",") if part.strip())
        experiment = study(name, data=data, console=console).with_changes(rounds=rounds, runs=runs, policies=chosen)
        experiment = with_sweep(experiment) if sweep else experiment
        folder = out or str(Path("results") / (name if name in STUDIES else experiment.name))
        found = runner.run(experiment, folder=folder, seed=seed, workers=jobs if on is None else on)
        from superarm.report.folder import table, warning

        console.print(table(found.frame))
        warn(warning(found.frame))
        if experiment.data is not None:
            console.print(f"data: {experiment.data}", markup=False)
        where = f"results in {folder}; for figures and a page:  superarm report {folder}"
        console.print(where, soft_wrap=True, markup=False)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("study.py"),
) -> None:
    """Write a study to start from: an environment and a policy of your own, beside two of superarm's."""
    with plain_errors():
        with file.open("x", encoding="utf-8") as written:  # never over another
            written.write(resources.files("superarm.experiments").joinpath("starter.txt").read_text(encoding="utf-8"))
        console.print(f"written: {file}; to run it:  superarm run {file}", soft_wrap=True, markup=False)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="A folder that 'superarm run' has filled.")]) -> None:
    """Write report.html and the figures of a finished study beside its results."""
    with plain_errors():
        from superarm.report.folder import report as write_report

        read(folder)  # or an error, before anything is said
        console.print(WRITING)
        written = write_report(folder)
        warn(written.warning)
        console.print(f"written: {written.page}", soft_wrap=True, markup=False)


@data.command()
def movielens(
    release: Annotated[str, typer.Option(help=f"{', '.join(RELEASES)}.")] = "ml-latest-small",
    cache: Annotated[Path | None, typer.Option(help="Folder of the cache; by default the platform's.")] = None,
) -> None:
    """Fetch a MovieLens release once, verify its checksum, and keep it."""
    with plain_errors():
        report_fetch(release, console, cache)


@app.command()
def demo(
    seed: Seed = 0,
    jobs: Jobs = CORES,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results/demo"),
    show: Annotated[bool, typer.Option(help="Open the report in a browser.")] = False,
) -> None:
    """Run the federated study on a small setting with five policies, and report it."""
    with plain_errors():
        found = runner.run(small_study(), folder=out, seed=seed, workers=jobs)
        from superarm.experiments.measures import demo_sentence
        from superarm.report.folder import report as write_report
        from superarm.report.folder import table

        console.print(table(found.frame))
        console.print(WRITING)
        written = write_report(out)
        warn(written.warning)
        page = written.page
        console.print(f"the report: {page.absolute()}", soft_wrap=True, markup=False)
        console.print(demo_sentence(found.frame), markup=False)
        if show:
            webbrowser.open(page.absolute().as_uri())


File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Of the sessions; or one that holds the URL of a database, or env:VARIABLE."),
]
Last = Annotated[int, typer.Option(min=1, help="How many decisions, from the latest back.")]
Name = Annotated[str, typer.Option("--name", help="Of the session.")]


@contextmanager
def _session(file: Path, name: str) -> Iterator[superarm.Session]:
    """A session that is there; none is made by looking at one."""
    with plain_errors():
        place = from_command("FILE", file)
        known = session_names(place)
        if name not in known:
            raise InvalidArgument("--name", f"one of {', '.join(known)}", name)
        with superarm.Session.open(place, name=name) as held:
            for note in held.notes:
                warn(note)
            yield held


@session.command("list")
def list_sessions(file: File) -> None:
    """The sessions of a file, with how far each has come."""
    with plain_errors():
        table = Table("session", "policy", "decisions", "waiting", box=None, pad_edge=False, header_style="bold")
        place = from_command("FILE", file)
        for name in session_names(place):
            with superarm.Session.open(place, name=name) as held:
                made, out = held.decisions(), held.pending()
                table.add_row(name, type(held.policy).__name__, str(len(made)), str(len(out)))
        console.print(table)


@session.command()
def show(file: File, name: Name = "main", last: Last = 20) -> None:
    """What the policy has learnt, and how the latest decisions stand."""
    with _session(file, name) as held:
        lines = [repr(held), str(held.policy), *decision_lines(held.decisions().tail(last))]
        console.print("\n".join(lines), markup=False, soft_wrap=True)


@session.command()
def verify(file: File, name: Name = "main") -> None:
    """Look through the journal, replay it from its first event, and compare; the exit code tells whether it is well."""
    with _session(file, name) as held:
        found = held.verify()
        console.print(str(found), markup=False)
        if not found.ok:
            raise typer.Exit(1)


@session.command()
def replay(
    file: File,
    out: Annotated[Path, typer.Argument(metavar="POLICY", help="File of the policy, for superarm.load.")],
    at: Annotated[int | None, typer.Option(min=1, help="After which event; by default the last.")] = None,
    name: Name = "main",
) -> None:
    """Save the policy as it was after an event."""
    with _session(file, name) as held:
        try:
            policy: Any = held.policy if at is None else held.at(at)
        except InvalidArgument as error:
            raise InvalidArgument("--at", error.expected, error.came) from None
        policy.save(out)


@session.command()
def snapshot(file: File, name: Name = "main") -> None:
    """Keep the state, so that the next start is quick."""
    with _session(file, name) as held:
        console.print(f"kept the state after event {held.snapshot()}")


@session.command()
def compact(
    file: File,
    days: Annotated[
        float | None, typer.Option("--older-than", min=0, help="Days; by default as the session was told, or 30.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Folder that old events go to; by default they stay, with the picked arms.")
    ] = None,
    name: Name = "main",
) -> None:
    """Keep less of decisions that are old and settled, and say what can no longer be done."""
    with _session(file, name) as held:
        found = held.compact(None if days is None else 86400.0 * days, archive=archive)
        console.print(str(found), markup=False, soft_wrap=True)


@session.command()
def explain(
    file: File,
    decision: Annotated[str | None, typer.Argument(metavar="[ID]", help="Of the decision, or how it begins.")] = None,
    key: Annotated[str | None, typer.Option(help="Of the decision, in place of its id.")] = None,
    t: Annotated[int | None, typer.Option("--t", min=1, help="Number of its round, in place of its id.")] = None,
    name: Name = "main",
) -> None:
    """Why the policy made a decision, by what it knew then."""
    with _session(file, name) as held:
        console.print(str(held.explain(decision, key=key, t=t)), markup=False, soft_wrap=True)


@session.command()
def export(file: File, folder: Annotated[Path, typer.Argument()], name: Name = "main") -> None:
    """Write the journal, and tables of decisions and outcomes, into a folder."""
    with _session(file, name) as held:
        console.print(f"written: {held.export(folder)}", soft_wrap=True, markup=False)


@session.command("import")
def import_(folder: Annotated[Path, typer.Argument()], file: File, name: Name = "main") -> None:
    """Make a session of what 'superarm session export' wrote."""
    with plain_errors(), superarm.Session.restore(folder, from_command("FILE", file), name=name) as held:
        console.print(repr(held), markup=False)
