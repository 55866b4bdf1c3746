"""The command ``superarm``: it parses and calls, no more.

Charts take a third as long to load as all the rest: the commands that draw them import them, when they do.
"""

from __future__ import annotations

import io
import os
import sys
import webbrowser
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

import superarm
from superarm import storage
from superarm.datasets.download import RELEASES
from superarm.datasets.movielens import report_fetch
from superarm.errors import InvalidArgument
from superarm.experiments import runner
from superarm.experiments.fitness import examined
from superarm.experiments.measures import summary
from superarm.experiments.paper import STUDIES
from superarm.experiments.paper import demo as small_study
from superarm.experiments.results import read
from superarm.experiments.studies import POLICIES, settings_by_policy, studies_of, study, systems_by_study, with_sweep
from superarm.service.commands import serve, token
from superarm.session_commands import session
from superarm.terminal import Json, console, plain_errors, print_json, warn
from superarm.workers.connect import opened

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
data = typer.Typer(no_args_is_help=True, help="Fetch data sets.")
app.add_typer(data, name="data")
app.add_typer(session, name="session")
app.command()(serve)
app.add_typer(token, name="token")


WRITING = "writing the page, and every figure as PNG, SVG and PDF: some 15 seconds"
CORES = os.cpu_count() or 1

Seed = Annotated[int, typer.Option(min=0, help="Seed of arrivals, noise and ties.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; the results do not depend on it.")]

On = Annotated[
    str | None,
    typer.Option("--on", help="Where to work, in place of --jobs: here, processes:8, ray, ray:auto or ray:ADDRESS."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"superarm {superarm.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Pick a set of items every round, learn from noisy feedback, and keep promises to groups."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="superarm.plain")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """Studies, and policies with the studies that they play in and the settings that they take, by name."""
    with plain_errors():
        systems = systems_by_study()
        settings = settings_by_policy(systems)
        if as_json:
            known_studies = [
                {
                    "study": name,
                    "title": known.title,
                    "policies": [policy for policy in POLICIES if policy in systems[name]],
                }
                for name, known in STUDIES.items()
            ]
            known_policies = [
                {
                    "policy": name,
                    "words": words,
                    "studies": [study for study in STUDIES if name in systems[study]],
                    "settings": settings[name],
                }
                for name, words in POLICIES.items()
            ]
            print_json({"studies": known_studies, "policies": known_policies})
            return
        studies = Table("study", "what it is", box=None, pad_edge=False, header_style="bold")
        for name, known in STUDIES.items():
            studies.add_row(name, known.title)
        columns = ("policy", "what it is", "plays in", "settings, with defaults")
        policies = Table(*columns, box=None, pad_edge=False, header_style="bold")
        for name, words in POLICIES.items():
            policies.add_row(name, words, studies_of(name, systems), settings[name])
        console.print(studies, Text(), policies, Text(), sep="\n")
        console.print(
            "a policy with settings:  superarm run federated --policies 'tcgp-ucb, tcgp-ucb zeta=0.25'", soft_wrap=True
        )


@app.command()
def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help=f"{', '.join(STUDIES)}; or a file of your own, such as study.py.",
            autocompletion=lambda: list(STUDIES),
        ),
    ],
    runs: Annotated[int | None, typer.Option(min=1, help="Independent runs; by default the paper's number.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds T; by default the paper's number.")] = None,
    seed: Seed = 0,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Some of the study's policies, separated by commas, each with settings if you like: "
            "'tcgp-ucb, tcgp-ucb zeta=0.25'. 'superarm list' names them."
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", help="Add a grid of settings, to see what each costs and gains.")
    ] = False,
    jobs: Jobs = CORES,
    on: On = None,
    out: Annotated[
        str | None,
        typer.Option(help="Folder of the results, by default results/STUDY; or a bucket, as s3://bucket/study."),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="For movies: a MovieLens folder, or 'synthetic'; for leakage: 'synthetic', or 'fashion-mnist' or a "
            "folder with its files."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a study; the same command continues an interrupted one."""
    with plain_errors():
        chosen = None if policies is None else tuple(part.strip() for part in policies.split(",") if part.strip())
        experiment = study(name, data=data, console=console).with_changes(rounds=rounds, runs=runs, policies=chosen)
        experiment = with_sweep(experiment) if sweep else experiment
        folder = out or str(Path("results") / (name if name in STUDIES else experiment.name))
        found = runner.run(experiment, folder=folder, seed=seed, workers=jobs if on is None else on)
        from superarm.report.folder import table, warning

        if as_json:
            rows, said = summary(found.frame).to_dicts(), warning(found.frame)
            print_json({"results": str(folder), "data": experiment.data, "warning": said, "policies": rows})
            return
        console.print(table(found.frame))
        warn(warning(found.frame))
        if experiment.data is not None:
            console.print(f"data: {experiment.data}", markup=False)
        page = (
            "copy both files into a folder, and  superarm report FOLDER"
            if "://" in folder
            else f"superarm report {folder}"
        )
        console.print(f"results in {folder}; for figures and a page:  {page}", soft_wrap=True, markup=False)


@app.command()
def workers(
    on: Annotated[str, typer.Argument(metavar="WORKERS", help="here, processes:8, ray, ray:auto or ray:ADDRESS.")],
) -> None:
    """Say whether workers are fit: versions, kinds of CPU, compiled loops, and what tasks cost; the exit code too."""
    with plain_errors(), opened(on) as found:
        fitness = examined(found)
        console.print(str(fitness), soft_wrap=True, markup=False)
        if not fitness.fit:
            raise typer.Exit(1)


@app.command()
def fit(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="Parquet files: a pattern in quotes, as 'log/*.parquet', or a folder.")
    ],
    contexts: Annotated[str, typer.Option(help="Columns of the contexts, separated by commas.")],
    outcomes: Annotated[str, typer.Option(help="Both columns of outcomes, separated by a comma.")],
    prior: Annotated[Path, typer.Option(help="File of a GaussianProcess, by superarm.storage.write.")],
    out: Annotated[Path, typer.Option(help="File of the posterior, for superarm.storage.read.")],
    learn: Annotated[bool, typer.Option("--learn", help="Also learn the hyperparameters.")] = False,
    jobs: Jobs = 1,
    on: On = None,
) -> None:
    """Make a posterior of a log of any number of outcomes, for a policy to start from."""
    with plain_errors():
        if out.is_dir() or not out.absolute().parent.is_dir():  # before the work
            raise InvalidArgument("out", "a file in a folder that is there", str(out))
        names, pair = ([name.strip() for name in each.split(",")] for each in (contexts, outcomes))
        workers = jobs if on is None else on
        fitted, said = superarm.fit_log(
            storage.read(prior), log, contexts=names, outcomes=pair, workers=workers, learn=learn
        )
        storage.write(fitted, out)
        console.print(f"{said}\nwritten: {out}", soft_wrap=True, markup=False)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="The file to write; study means study.py.")] = Path("study.py"),
) -> None:
    """Write a study to start from: an environment and a policy of your own, beside two of superarm's."""
    file = file if file.suffix else file.with_suffix(".py")
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
    as_json: Json = False,
) -> None:
    """Run the federated study on a small setting with five policies, and report it."""
    with plain_errors():
        found = runner.run(small_study(), folder=out, seed=seed, workers=jobs)
        from superarm.report.folder import report as write_report
        from superarm.report.folder import table
        from superarm.report.story import story

        if not as_json:
            console.print(table(found.frame))
            console.print(WRITING)
        written = write_report(out)
        page = written.page
        if as_json:
            rows = summary(found.frame).to_dicts()
            print_json({"results": str(out), "page": str(page), "warning": written.warning, "policies": rows})
            return
        warn(written.warning)
        console.print(f"the report: {page.absolute()}", soft_wrap=True, markup=False)
        console.print(story(found.frame), markup=False)
        if show:
            webbrowser.open(page.absolute().as_uri())
