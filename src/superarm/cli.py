"""The command ``superarm``: it parses and calls, no more."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

import superarm
from superarm import demo as demonstration

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Pick a set of items every round, learn from noisy feedback, and keep promises to groups.",
)


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


@app.command()
def demo(
    rounds: Annotated[int, typer.Option(min=1, help="How many rounds to play.")] = 6,
    seed: Annotated[int, typer.Option(min=0, help="Of arrivals, noise and ties.")] = 0,
) -> None:
    """Play a small privacy-aware federated loop in the terminal."""
    demonstration.play(rounds, seed, Console(highlight=False))
