"""The service under load, with kills and without: a part of what `make soak` does for ten minutes each."""

import pytest

from tests.service.load import growth, loaded


@pytest.mark.slow
def test_load_with_kills(tmp_path):
    assert "nothing lost, nothing doubled" in loaded(tmp_path, 12.0, kill_every=5.0)


def test_growth_is_between_the_second_quarter_and_the_last():
    sizes = [(at, 100.0 + (at if at < 25 else 25.0)) for at in range(100)]
    assert growth(sizes, 100.0) == 0.0  # it grew at first only
    assert growth([(at, float(at)) for at in range(100)], 100.0) == 50.0
