"""What was aimed at, and whether the results reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.measure import short
from benchmarks.page import Listing

Results = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A number that must be at most, or at least, a limit."""

    words: str
    limit: float
    measured: Callable[[Results], Iterable[float]]  # one for each cell that counts; none when nothing was measured
    at_least: bool = False

    def row(self, results: Results) -> list[str]:
        found = list(self.measured(results))
        wanted = f"{'>=' if self.at_least else '<='} {self.limit:g}"
        if not found:
            return [self.words, wanted, "", "not measured"]
        worst = min(found) if self.at_least else max(found)
        kept = worst >= self.limit if self.at_least else worst <= self.limit
        return [self.words, wanted, short(worst), "reached" if kept else "NOT REACHED"]


def cells(results: Results, who: str, *parts: str) -> list[Row]:
    """The timed rows of a contestant in the cells whose name has all these parts."""
    rows = results.get("posteriors", {}).get("rows", [])
    return [row for row in rows if row["who"] == who and "round" in row and all(part in row["cell"] for part in parts)]


def ratios(results: Results, who: str, part: str, *names: str) -> list[float]:
    return [row[part][0] for row in cells(results, who, *names) if part in row]


def fastest_exact_peer(results: Results) -> Iterable[float]:
    """For each large exact cell, how many times longer the fastest peer takes."""
    rows = results.get("posteriors", {}).get("rows", [])
    for cell in dict.fromkeys(row["cell"] for row in rows if row["kind"] == "exact" and "n = 500," not in row["cell"]):
        peers = [row["to_first"][0] for row in rows if row["cell"] == cell and "to_first" in row]
        if peers:
            yield min(peers)


def one_over_another(results: Results, who: str, first: tuple[str, ...], second: tuple[str, ...]) -> Iterable[float]:
    """Time of a round in one cell over that in another."""
    above, below = cells(results, who, *first), cells(results, who, *second)
    if above and below:
        yield above[0]["round"][0] / below[0]["round"][0]


def selects(results: Results, study: str, policy: str = "tcgp-ucb") -> list[float]:
    """Median milliseconds of select at every t that was looked at."""
    rows = results.get("rounds", {}).get("rows", [])
    return [1e3 * row["select"][0] for row in rows if row["study"] == study and row["policy"] == policy]


def cautious_over_plain(results: Results) -> Iterable[float]:
    for study in ("federated", "movies", "tradeoff"):
        plain = selects(results, study) or selects(results, study, "tcgp-ucb zeta=0.5")
        yield from (b / a for a, b in zip(plain, selects(results, study, "cautious"), strict=False))


def studies(results: Results) -> list[float]:
    rows = results.get("studies", {}).get("rows", [])
    return [row["ratio"][0] for row in rows if row["study"] == "federated"]


def catalogues(results: Results, what: str) -> list[Any]:
    """Of TCGP-UCB on 20,000,000 arms in whole groups; where a worker is killed, not what it had computed in vain."""
    rows = results.get("sharded", {}).get("rows", [])
    kept = [row for row in rows if (row["arms"], row["policy"], row["split"]) == (20_000_000, "plain", False)]
    return [row[what] for row in kept if not (row["killed"] and what == "seconds")]


def fits(results: Results) -> list[Row]:
    """Of a log of 10,000,000 rows on each engine; where a worker is killed, what it had computed is computed again."""
    rows: list[Row] = results.get("fit_log", {}).get("engines", [])
    return rows


def differences(results: Results, *names: str) -> list[float]:
    return [row["difference"] for row in cells(results, "superarm default", *names)]


MATERN = ("low rank", "Matern-5/2", "n = 4000,")
SE = ("low rank", "SE 1-D", "n = 4000,")
TARGETS = [
    Target(
        "exact round, n >= 2000, x floor",
        2.0,
        lambda r: [
            x for n in (2000, 4000, 8000) for x in ratios(r, "superarm exact", "to_floor", "exact", f"n = {n},")
        ],
    ),
    Target("exact round, n >= 2000, the fastest exact peer takes x", 2.5, fastest_exact_peer, at_least=True),
    Target(
        "exact round, n = 500, x floor", 3.2, lambda r: ratios(r, "superarm exact", "to_floor", "exact", "n = 500,")
    ),
    Target(
        "Matern-5/2 1-D, n = 4000, M = 5000: the dense round takes x",
        100,
        lambda r: ratios(r, "superarm exact", "to_first", *MATERN),
        at_least=True,
    ),
    Target("the same: mean and std differ from the dense ones by", 1e-9, lambda r: differences(r, *MATERN)),
    Target(
        "Matern-5/2 1-D: n = 100,000 over n = 4000",
        30,
        lambda r: one_over_another(r, "superarm default", (*MATERN[:2], "n = 100000,"), MATERN),
    ),
    Target(
        "recurring candidates, n = 4000, M = 5000: without the catalogue x",
        10,
        lambda r: ratios(r, "superarm exact", "to_first", "recurring"),
        at_least=True,
    ),
    Target(
        "federated posterior round: GPflow SGPR takes x",
        100,
        lambda r: ratios(r, "GPflow SGPR", "to_first", "federated"),
        at_least=True,
    ),
    Target(
        "federated posterior round: t = 1000 over t = 100",
        1.25,
        lambda r: one_over_another(r, "superarm default", ("federated", "n = 250000,"), ("federated", "n = 25000,")),
    ),
    Target(
        "low rank, n = 4000, M = 5000: GPyTorch at its defaults takes x",
        20,
        lambda r: ratios(r, "GPyTorch default", "to_first", "low rank"),
        at_least=True,
    ),
    Target(
        "the same: mean and std differ from the exact ones by",
        1e-6,
        lambda r: differences(r, *SE) + differences(r, *MATERN),
    ),
    Target("select, federated, ms at any t", 5.0, lambda r: selects(r, "federated")),
    Target("select, movies, ms at any t", 10.0, lambda r: selects(r, "movies")),
    Target("select, cautious over tcgp-ucb", 4.0, cautious_over_plain),
    Target(
        "many learners, 16 features, 20 arms, 3 picked: decisions a core-second",
        150_000,
        lambda r: [
            row["rate"][0]
            for row in r.get("learners", {}).get("rows", [])
            if (row["features"], row["arms"]) == (16, 20)
        ],
        at_least=True,
    ),
    Target(
        "fit_log, 1,000,000 rows at 96 features: microseconds a row",
        2.7,
        lambda r: [1e6 * row["row"][0] for row in r.get("fit_log", {}).get("rows", []) if row["rows"] == 1_000_000],
    ),
    Target(
        "fit_log, 10,000,000 rows on any engine, nothing killed: microseconds a row",
        2.7,
        lambda r: [1e6 * row["seconds"] / row["rows"] for row in fits(r) if not row["killed"]],
    ),
    Target(
        "the same, one killed or not: digests",
        1,
        lambda r: [len(found)] if (found := {row["digest"] for row in fits(r)}) else [],
    ),
    Target("20,000,000 arms at rank 96, any engine: core-seconds", 75.0, lambda r: catalogues(r, "seconds")),
    Target("the same: MB of the largest worker", 700.0, lambda r: catalogues(r, "peak")),
    Target("the same: MB sent", 10.0, lambda r: catalogues(r, "sent")),
    Target(
        "the same: different super arms", 1, lambda r: [len(found)] if (found := {*catalogues(r, "digest")}) else []
    ),
    Target("superarm run federated: wall over the policies' own time", 3.0, studies),
]


def listing(results: Results) -> Listing:
    rows = [target.row(results) for target in TARGETS]
    return Listing(title="Targets", head=["", "wanted", "worst of the medians", ""], rows=rows)
