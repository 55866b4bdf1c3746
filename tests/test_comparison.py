import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import superarm as sa
from superarm.comparison import Comparison
from superarm.errors import ForeignResults
from superarm.experiments.results import read
from tests.report.samples import results

SMALL = sa.environments.Federated(clients=3.0, requests=3)
TIMES = ["select_seconds", "update_seconds"]


def compared(**rest):
    return sa.compare({"mine": sa.Uniform, "theirs": "cucb"}, SMALL, **{"rounds": 4, "runs": 2, "workers": 1, **rest})


def test_rows_are_those_of_a_simulation():
    """Against the loop by hand: rewards, regrets and promises of every round, with the same streams."""
    found = compared()
    for run in (0, 1):
        rows = found.frame.filter((pl.col("run") == run) & (pl.col("policy") == "clairvoyant"))
        from superarm.simulation import play, with_regret

        hand = pl.DataFrame(list(play(sa.Clairvoyant(SMALL), SMALL, rounds=4, seed=(0, run), benchmark=True)))
        assert rows["reward"].to_list() == hand["optimal_reward"].to_list()
        assert rows["group_regret"].to_list() == with_regret(hand, 0.5)["group_regret"].to_list()


def test_the_table_tells_what_the_rows_do():
    found = compared()
    table = found.table()
    mine = found.frame.filter(pl.col("policy") == "mine")
    row = table.filter(pl.col("policy") == "mine").row(0, named=True)
    assert row["runs"] == 2
    assert row["kept"] == mine["groups_satisfied"].sum() / mine["groups_touched"].sum()
    assert row["reward"] == pytest.approx(mine["reward"].sum() / mine["optimal_reward"].sum())
    assert table.filter(pl.col("policy") == "clairvoyant")["reward"].item() == 1.0
    assert "mine" in str(found)
    html = found._repr_html_()
    assert html.count("<tr>") == 1 + table.height
    assert "<td>clairvoyant</td><td>1.000" in html
    assert repr(found) == f"<Comparison of {table.height} policies, 2 x 4 rounds>"
    assert found.plot().to_dict()


def test_a_folder_keeps_the_results_and_another_comparison_is_refused(tmp_path):
    first = compared(out=tmp_path / "out")
    again = compared(out=tmp_path / "out")
    assert_frame_equal(first.frame, again.frame)
    assert_frame_equal(first.frame.drop(TIMES), compared().frame.drop(TIMES))
    with pytest.raises(ForeignResults, match="configuration: rounds is 4 there and 5 here; give"):
        compared(out=tmp_path / "out", rounds=5)


@pytest.mark.slow
def test_workers_give_the_same_and_the_page_is_written(tmp_path):
    found = compared(workers=2)
    assert_frame_equal(found.frame.drop(TIMES), compared().frame.drop(TIMES))
    page = found.report(tmp_path / "page").page
    assert page.exists()
    assert found.report(tmp_path / "page").page == page
    with pytest.raises(ForeignResults, match="holds other results"):
        compared(seed=1).report(tmp_path / "page")


def test_the_report_of_a_comparison_that_was_run_again_replaces_the_earlier_one(tmp_path, monkeypatch):
    monkeypatch.setattr("superarm.comparison.report", lambda place: place)
    compared().report(tmp_path / "page")
    again = compared()
    again.report(tmp_path / "page")
    assert_frame_equal(read(tmp_path / "page").frame, again.frame)  # times and all
    with pytest.raises(ForeignResults, match="holds other results: seed is 0 there and 1 here; give another"):
        compared(seed=1).report(tmp_path / "page")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ForeignResults, match="is not empty"):
        again.report(tmp_path / "mine")


def test_a_policy_that_fails_says_where():
    class Late:
        def select(self, round):
            assert round.t < 3, "no more"
            return [0]

        def update(self, round, arms, outcomes):
            pass

    with pytest.raises(AssertionError) as caught:
        sa.compare({"mine": Late}, SMALL, rounds=4, runs=1, workers=1)
    assert caught.value.__notes__ == ["policy mine, round 3 of run 0"]


def test_an_error_in_a_worker_process_is_told_briefly(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import superarm as sa\n"
        "class Mine(sa.Uniform):\n"
        "    def select(self, round):\n"
        "        raise ValueError('no more')\n"
        "if __name__ == '__main__':\n"
        "    world = sa.environments.Federated(clients=3.0, requests=3)\n"
        "    sa.compare({'mine': Mine}, world, rounds=4, runs=1, workers=2)\n"
    )
    said = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False).stderr
    assert "joblib" not in said
    assert said.count('mine.py", line 4, in select') == 1
    assert said.index("line 4, in select") < said.index("line 7, in <module>")
    *_, error, where, advice = said.splitlines()
    assert (error, where) == ("ValueError: no more", "policy mine, round 1 of run 0")
    assert advice.startswith("with workers=1")
    assert len(said.splitlines()) < 36


def test_a_notebook_shows_all_policies_with_their_whole_names():
    frame = results([f"a policy with a long name of its own {number:02}" for number in range(14)], rounds=2)
    found = Comparison(frame=frame, manifest={"policies": [], "runs": 3, "rounds": 2})
    html = found._repr_html_()
    assert html.count("<tr>") == 15
    assert "<td>a policy with a long name of its own 13</td>" in html
    assert len(repr(found)) < 60
