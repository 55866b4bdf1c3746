"""Targets are judged by their worst cell, and silence is no success."""

import pytest

from benchmarks import targets


def posterior_row(who, cell, seconds=1.0, **more):
    return {"who": who, "cell": cell, "kind": cell.split(",")[0], "round": [seconds] * 3, "difference": 0.0, **more}


def verdicts(results):
    return {row[0]: row[2:] for row in targets.listing(results).rows}


def test_without_results_nothing_is_reached():
    assert {verdict for _, verdict in verdicts({}).values()} == {"not measured"}


@pytest.mark.parametrize(("second", "verdict"), [(1.9, "reached"), (2.1, "NOT REACHED")])
def test_the_worst_cell_decides(second, verdict):
    rows = [
        posterior_row("superarm exact", "exact, SE 1-D, n = 2000, M = 500, K = 20", to_floor=[1.5, 1, 9]),
        posterior_row("superarm exact", "exact, SE 1-D, n = 8000, M = 500, K = 20", to_floor=[second, 1, 9]),
        posterior_row("superarm exact", "exact, SE 1-D, n = 500, M = 500, K = 20", to_floor=[3.0, 1, 9]),
    ]
    found = verdicts({"posteriors": {"rows": rows}})
    assert found["exact round, n >= 2000, x floor"] == [f"{second:.2f}", verdict]
    assert found["exact round, n = 500, x floor"] == ["3.00", "reached"]


def test_the_fastest_peer_of_the_worst_cell_decides():
    cell = "exact, SE 1-D, n = 2000, M = 500, K = 20"
    rows = [
        posterior_row("superarm exact", cell),
        posterior_row("scikit-learn", cell, to_first=[4.0, 3, 5]),
        posterior_row("BoTorch", cell, to_first=[9.0, 3, 5]),
        {"who": "GPyTorch exact", "cell": cell, "kind": "exact", "note": "not there"},
        posterior_row("scikit-learn", cell.replace("M = 500", "M = 5000"), to_first=[7.0, 3, 5]),
    ]
    found = verdicts({"posteriors": {"rows": rows}})
    assert found["exact round, n >= 2000, the fastest exact peer takes x"] == ["4.00", "reached"]


def test_one_cell_over_another_and_rounds():
    rows = [
        posterior_row("superarm default", "low rank, Matern-5/2 1-D, n = 4000, M = 5000, K = 20", 0.004),
        posterior_row("superarm default", "low rank, Matern-5/2 1-D, n = 100000, M = 5000, K = 20", 0.04),
    ]
    played = [
        {"study": "movies", "policy": policy, "select": [seconds] * 3}
        for policy, seconds in (("tcgp-ucb", 0.002), ("tcgp-ucb", 0.012), ("cautious", 0.004), ("cautious", 0.036))
    ]
    found = verdicts({"posteriors": {"rows": rows}, "rounds": {"rows": played}})
    assert found["Matern-5/2 1-D: n = 100,000 over n = 4000"] == ["10.0", "reached"]
    assert found["select, movies, ms at any t"] == ["12.0", "NOT REACHED"]
    assert found["select, cautious over tcgp-ucb"] == ["3.00", "reached"]
