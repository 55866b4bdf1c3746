import numpy as np
import pytest

from superarm.errors import InvalidArgument
from superarm.rewards.custom import Custom


@pytest.mark.parametrize(
    ("function", "monotone", "message"),
    [
        (3, "none", "function: expected a callable of the outcomes, got 3"),
        (np.sum, "up", "monotone: expected 'increasing', 'decreasing' or 'none', got 'up'"),
    ],
)
def test_wrong_custom_rewards_are_refused(function, monotone, message):
    with pytest.raises(InvalidArgument) as caught:
        Custom(function, monotone=monotone)
    assert str(caught.value) == message


def test_custom_must_say_how_it_moves():
    with pytest.raises(TypeError):
        Custom(np.sum)
