"""How tests wait for what happens elsewhere: for a condition, never for a time."""

import time


def until(condition, seconds=120.0):
    """Wait until a condition holds; fail where it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not come true within {seconds:g} s"
        time.sleep(0.02)
