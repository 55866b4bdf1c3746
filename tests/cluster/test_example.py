"""The example of what lies past one machine, on a local Ray: the same lines as in one process."""

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_the_example_says_the_same_on_ray(ray_workers):
    main = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "07_past_one_machine.py"))["main"]
    assert main("ray") == main("here")
