"""Contestants are compared before they are timed, and those that cannot be had are named."""

from dataclasses import replace

import numpy as np
import pytest

import superarm as sa
from benchmarks import own, posteriors
from benchmarks.measure import Product
from benchmarks.peers.peer import play
from benchmarks.peers.roster import HERE, ROSTER, Entry, Peers

SMALL = posteriors.small_cells()
ROUND = ("predict", "append", "round")


@pytest.fixture(scope="module")
def product():
    return Product()


def test_a_cell_with_a_peer_in_another_process(product):
    roster = {"scikit-learn": ROSTER["scikit-learn"], "BoTorch": Entry("botorch", "nowhere")}
    cell = replace(SMALL[0], peers=tuple(roster), repetitions=3)
    with Peers(roster) as peers:
        rows = posteriors.measure(cell, peers, product)
        assert peers.packages()["scikit-learn"].startswith("scikit-learn ")
    mine, theirs, missing = rows
    assert [row["who"] for row in rows] == ["superarm exact", "scikit-learn", "BoTorch"]
    assert theirs["difference"] < 1e-9
    assert "no environment 'nowhere'" in missing["note"]
    for row in (mine, theirs):
        assert all(row[part][1] <= row[part][0] <= row[part][2] for part in (*ROUND, "to_floor"))
    assert theirs["to_first"][0] > 0
    section = {"rows": rows}
    assert [len(listing.rows) for listing in posteriors.listings(section)] == [3]
    assert "scikit-learn" in posteriors.verdicts(section)[0]


def test_a_peer_whose_library_is_not_there():
    with Peers({"GPflow SGPR": Entry("gpflow", HERE)}) as peers:
        assert peers.get("GPflow SGPR") is None
        assert "ModuleNotFoundError" in peers.missing["GPflow SGPR"]


def test_a_contestant_that_contradicts_is_not_timed(product, monkeypatch):
    monkeypatch.setitem(
        own.OWN, "superarm wrong", lambda problem, catalogue: sa.ExactPosterior(own.kernel_of(problem), noise_std=0.06)
    )
    cell = replace(SMALL[0], own=("superarm exact", "superarm wrong"), peers=())
    with Peers({}) as peers:
        rows = posteriors.measure(cell, peers, product)
    assert rows[1]["who"] == "superarm wrong"
    assert "not timed" in rows[1]["note"]


@pytest.mark.parametrize("cell", SMALL, ids=lambda cell: cell.kind)
def test_own_posteriors_of_every_kind_of_cell(cell, product):
    with Peers({}) as peers:
        rows = posteriors.measure(replace(cell, peers=()), peers, product)
    assert [row["who"] for row in rows] == list(cell.own)
    assert all("round" in row for row in rows)


def test_sparse_contestants_share_their_inducing_points():
    rounds = posteriors.Rounds(SMALL[-1])
    problem = rounds.problem()
    x, y = rounds.history()
    candidates, new, outcomes = rounds.next()
    mine = own.Own(own.same_inducing(problem, rounds.catalogue))
    mine.start(x, y)
    played = play(mine, candidates, new, outcomes)
    # Titsias' mean, dense: K_xu (K_uu + K_uf K_fu / s2)^-1 K_uf y / s2.
    kernel, z, s2 = own.kernel_of(problem), problem.inducing, problem.noise_std**2
    kuf = kernel(z, x)
    inner = kernel(z, z) + kuf @ kuf.T / s2
    mean = kernel(candidates, z) @ np.linalg.lstsq(inner, kuf @ y / s2, rcond=None)[0]
    assert played.mean == pytest.approx(mean, abs=1e-4)
