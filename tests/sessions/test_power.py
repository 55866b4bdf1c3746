"""The loss of power (see ``power`` for what this shows and what not)."""

import pytest

from tests.sessions.power import tried


@pytest.mark.parametrize(("events", "every"), [(7, 2), pytest.param(200, 10, marks=pytest.mark.slow)])
def test_full_durability_loses_nothing_that_was_acknowledged(tmp_path, events, every):
    faults, many, short = tried(tmp_path, "full", events, every)
    assert faults == []
    assert short == 0
    assert many >= events / every * 4


@pytest.mark.parametrize(("events", "every"), [(7, 2), pytest.param(200, 1, marks=pytest.mark.slow)])
def test_normal_durability_loses_a_tail_at_most(tmp_path, events, every):
    """And it does: otherwise the disk would not tell the two apart."""
    faults, _, short = tried(tmp_path, "normal", events, every)
    assert faults == []
    assert short > 0
