import polars as pl
import pytest
from polars.testing import assert_frame_equal

import superarm as sa
from superarm.errors import ForeignResults

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
    by_run = mine.group_by("run").agg(pl.col("reward").sum() / pl.col("optimal_reward").sum())["reward"]
    assert row["reward"] == pytest.approx(by_run.mean())
    assert table.filter(pl.col("policy") == "clairvoyant")["reward"].item() == 1.0
    assert "mine" in str(found)
    assert "<table" in found._repr_html_()
    assert found.plot().to_dict()


def test_a_folder_keeps_the_results_and_another_comparison_is_refused(tmp_path):
    first = compared(out=tmp_path / "out")
    again = compared(out=tmp_path / "out")
    assert_frame_equal(first.frame, again.frame)
    assert_frame_equal(first.frame.drop(TIMES), compared().frame.drop(TIMES))
    with pytest.raises(ForeignResults, match="rounds differ"):
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
