"""The package as a whole: what importing it costs, its public names, its command."""

import subprocess
import sys

from typer.testing import CliRunner

import superarm as sa
from superarm.cli import app

HEAVY = ["numba", "scipy.optimize", "polars", "pandas", "altair", "joblib", "typer", "rich", "sklearn"]


def test_import_is_light():
    code = f"import superarm, sys; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_public_names():
    assert len(set(sa.__all__)) == len(sa.__all__)
    for name in sa.__all__:
        assert hasattr(sa, name), name
        assert name == "errors" or name.startswith("__") or getattr(sa, name).__doc__, name


def test_demo_shows_picks_certificates_and_margins():
    result = CliRunner(env={"COLUMNS": "140"}).invoke(app, ["demo", "--rounds", "2", "--seed", "1"])
    assert result.exit_code == 0, result.output
    for part in ("Round 1", "Round 2", "alpha", "margin", "OPTIMAL", "decomposition"):
        assert part in result.output
    again = CliRunner(env={"COLUMNS": "140"}).invoke(app, ["demo", "--rounds", "2", "--seed", "1"])

    def without_times(text):
        return [line for line in text.splitlines() if " ms" not in line]

    assert without_times(result.output) == without_times(again.output)


def test_version_and_bad_use():
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"superarm {sa.__version__}"
    assert CliRunner().invoke(app, ["demo", "--rounds", "0"]).exit_code == 2
