"""The command ``superarm``: it parses and calls, no more.

Charts take a third as long to load as all the rest: the commands that draw them import them, when they do.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import time
import webbrowser
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
from superarm.experiments.experiment import names_in
from superarm.experiments.fitness import examined
from superarm.experiments.measures import summary
from superarm.experiments.paper import STUDIES
from superarm.experiments.paper import demo as small_study
from superarm.experiments.results import read
from superarm.experiments.starter import write_starter
from superarm.experiments.studies import POLICIES, settings_by_policy, studies_of, study, systems_by_study, with_sweep
from superarm.service.commands import serve, token
from superarm.sessions.commands import session
from superarm.terminal import Json, console, guess, plain_errors, print_json, warn
from superarm.workers.connect import opened

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)
data = typer.Typer(no_args_is_help=True, help="Fetch data sets.")
app.add_typer(data, name="data")
app.add_typer(session, name="session")
app.command()(serve)
app.add_typer(token, name="token")


WRITING = "writing the page, and every figure as PNG, SVG and PDF: about 15 seconds"
COMPILING = (
    "compiling the loops of oracles, kernels, posteriors and learners: about a minute the first time, then seconds"
)
CORES = os.cpu_count() or 1

Seed = Annotated[int, typer.Option(min=0, help="Seed of arrivals, noise and ties.")]
JOBS = "Number of processes; the results do not depend on it."
Jobs = Annotated[int, typer.Option(min=1, help=JOBS)]
JobsOnAll = Annotated[int, typer.Option(min=1, help=JOBS, show_default="one per core")]

On = Annotated[
    str | None,
    typer.Option("--on", help="Where to work, instead of --jobs: here, processes:8, ray, ray:auto or ray:ADDRESS."),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"superarm {superarm.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Pick a set of items every round, learn from noisy feedback, and keep promises to groups."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="superarm.plain")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the studies, and the policies with their studies and settings."""
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
        from superarm.report.listing import by_name

        policies = by_name(list(POLICIES))
        for head in ("what it is", "plays in", "settings, with defaults"):
            policies.add_column(head, overflow="fold")
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
    runs: Annotated[
        int | None, typer.Option(min=1, help="Independent runs; by default the paper's number, or that of your file.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Rounds T; by default the paper's number, or that of your file.")
    ] = None,
    seed: Seed = 0,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Some of the study's policies, separated by commas, each with settings if you like: "
            "'tcgp-ucb, tcgp-ucb zeta=0.25'. 'superarm list' names them."
        ),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep", metavar="", help="Add a grid of settings, to see what each costs and gains.")
    ] = False,
    jobs: JobsOnAll = CORES,
    on: On = None,
    out: Annotated[
        str | None,
        typer.Option(help="Folder of the results, by default results/STUDY; or a bucket, such as s3://bucket/study."),
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
        with guess("study", [name], STUDIES):
            whole = study(name, data=data, console=console)
        chosen = None if policies is None else names_in(policies, whole.policies)
        with guess("policies", [part.split()[0] for part in chosen or ()], whole.systems):
            experiment = whole.with_changes(rounds=rounds, runs=runs, policies=chosen)
        experiment = with_sweep(experiment) if sweep else experiment
        folder = out or str(Path("results") / (name if name in STUDIES else experiment.name))
        found = runner.run(experiment, folder=folder, seed=seed, workers=jobs if on is None else on)
        from superarm.report.folder import table, warning

        findings = [*experiment.findings(found.frame)] if experiment.findings else []
        if as_json:
            rows, said = summary(found.frame).to_dicts(), warning(found.frame)
            more = {"findings": findings} if findings else {}
            print_json({"results": str(folder), "data": experiment.data, "warning": said, "policies": rows, **more})
            return
        console.print(table(found.frame))
        for line in findings:
            console.print(line, soft_wrap=True, markup=False, highlight=False)
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
    """Check workers: versions, kinds of CPU, compiled loops, time of a task. The exit code says whether all is well."""
    with plain_errors(), opened(on) as found:
        fitness = examined(found)
        console.print(str(fitness), soft_wrap=True, markup=False)
        if not fitness.fit:
            raise typer.Exit(1)


@app.command()
def fit(
    log: Annotated[
        str,
        typer.Argument(metavar="LOG", help="Parquet files: a pattern in quotes, such as 'log/*.parquet', or a folder."),
    ],
    contexts: Annotated[str, typer.Option(help="Columns of the contexts, separated by commas.")],
    outcomes: Annotated[str, typer.Option(help="Both columns of outcomes, separated by a comma.")],
    prior: Annotated[Path, typer.Option(help="File of a GaussianProcess, written by superarm.storage.write.")],
    out: Annotated[Path, typer.Option(help="File to write the posterior to; superarm.storage.read reads it.")],
    learn: Annotated[bool, typer.Option("--learn", metavar="", help="Also learn the hyperparameters.")] = False,
    jobs: Jobs = 1,
    on: On = None,
) -> None:
    """Fit a posterior to a log of outcomes, for a policy to start from."""
    with plain_errors():
        if out.is_dir() or not out.absolute().parent.is_dir():  # before the work
            raise InvalidArgument("out", "a file in an existing folder", str(out))
        names, pair = ([name.strip() for name in each.split(",")] for each in (contexts, outcomes))
        workers = jobs if on is None else on
        fitted, note = superarm.fit_log(
            storage.read(prior), log, contexts=names, outcomes=pair, workers=workers, learn=learn
        )
        storage.write(fitted, out)
        console.print(f"{note}\nwritten: {out}", soft_wrap=True, markup=False)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(help="The file to write; study means study.py.")] = Path("study.py"),
) -> None:
    """Write a study to start from: an environment and a policy of your own, beside two of superarm's."""
    with plain_errors():
        file = write_starter(file)
        console.print(
            f"written: {file}; to run it:  superarm run {shlex.quote(str(file))}", soft_wrap=True, markup=False
        )


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="A folder that 'superarm run' has filled.")]) -> None:
    """Write report.html and the figures of a finished study beside its results."""
    with plain_errors():
        from superarm.report.folder import report as write_report

        read(folder)  # or an error, before anything is printed
        console.print(WRITING)
        written = write_report(folder)
        warn(written.warning)
        console.print(f"written: {written.page}", soft_wrap=True, markup=False)


@app.command("compile")
def compile_() -> None:
    """Compile all loops now, instead of when each is first needed; later processes load them."""
    with plain_errors():
        from superarm.experiments.machines import compile_loops
        from superarm.learners.partition import loops

        console.print(COMPILING)
        began = time.perf_counter()
        compile_loops()
        loops()
        console.print(f"ready: all loops are compiled, after {time.perf_counter() - began:.0f} seconds")


@data.command()
def movielens(
    release: Annotated[str, typer.Option(help=f"{', '.join(RELEASES)}.")] = "ml-latest-small",
    cache: Annotated[Path | None, typer.Option(help="Cache folder; by default that of the operating system.")] = None,
) -> None:
    """Fetch a MovieLens release once, verify its checksum, and keep it."""
    with plain_errors():
        report_fetch(release, console, cache)


@app.command()
def demo(
    seed: Seed = 0,
    jobs: JobsOnAll = CORES,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results/demo"),
    show: Annotated[bool, typer.Option(metavar="", help="Open the report in a browser.")] = False,
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
