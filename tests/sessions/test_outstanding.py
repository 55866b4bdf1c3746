"""Decisions that are out, as a value: like a dictionary, but that a change leaves the old one as it was."""

from hypothesis import given
from hypothesis import strategies as st

from superarm.sessions.outstanding import MOST, Outstanding


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=4 * MOST))
def test_it_is_a_dictionary_that_never_changes(changes):
    now, meant, before = Outstanding(), {}, []
    for number, (name, waits) in enumerate(changes):
        before.append((now, dict(meant)))
        if waits:
            now = now.with_(str(name), (number, None))
            meant[str(name)] = (number, None)
        else:
            now = now.without(str(name))
            meant.pop(str(name), None)
        assert len(now) == len(meant)
    assert now == meant
    assert all(then == told for then, told in before[::17])


def test_a_change_copies_few():
    now = Outstanding({str(number): (2, None) for number in range(10_000)})
    kept = now._told
    for number in range(MOST):
        now = now.with_(f"new {number}", (2, None))
        assert now._told is kept
    assert len(now.without("5")) == 10_000 + MOST - 1
