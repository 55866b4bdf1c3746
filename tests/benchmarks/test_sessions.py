"""Figures of sessions: what is asked for is judged, and what is there to be known is shown."""

from benchmarks.sessions import Figure


def test_a_figure_is_judged_where_it_is_asked_for():
    asked = Figure(what="x", values=[1.0, 2.0, 3.0], least=30.0)
    known = Figure(what="x", values=[1.0, 2.0, 3.0], least=30.0, asked=False)
    bare = Figure(what="x", values=[2.0], asked=False)
    assert (asked.met, asked.row()[-2:]) == (False, ["at least 30", "MISSED"])
    assert (known.met, known.row()) == (True, ["x", "2.00", "1.50 to 2.50", "", ""])
    assert (bare.met, bare.row()) == (True, ["x", "2.00", "", "", ""])
