"""What ``superarm data movielens`` says."""

from __future__ import annotations

from rich.console import Console

from superarm.datasets.cache import PathLike
from superarm.datasets.download import fetch
from superarm.datasets.movielens import AFTER, LEAST_RATINGS, read
from superarm.errors import UnexpectedData


def report_fetch(release: str, console: Console, cache: PathLike | None = None) -> None:
    """Fetch a release, filter it as the paper does, and print where it is and what is in it."""
    folder = fetch(release, cache=cache, progress=console)
    console.print(f"{release} is in {folder}", soft_wrap=True)
    wanted = f"ratings after {AFTER:%Y-%m-%d} by users with at least {LEAST_RATINGS} of them"
    try:
        data = read(folder, cache=cache, progress=console)
    except UnexpectedData as none:
        console.print(f"It has no {wanted}, which the study needs ({none.came}).", soft_wrap=True)
    else:
        console.print(f"{data!r}: {wanted}", soft_wrap=True)
    console.print(
        "Its README says how GroupLens allows these data to be used. Please cite F. M. Harper and J. A. Konstan, The "
        "MovieLens Datasets: History and Context, ACM TiiS 5(4), 2015.",
        soft_wrap=True,
    )
