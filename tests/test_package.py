"""The package as a whole: what importing it costs, and its public names."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import superarm as sa

HEAVY = [
    *("numba", "scipy.optimize", "polars", "pandas", "altair", "joblib", "typer", "rich", "sklearn", "cupy", "ray"),
    "obstore",
]


def test_import_is_light():
    code = f"import superarm, sys; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_source_tree_needs_no_installation(tmp_path):
    """Where nothing knows of an installed superarm, its source alone says which version it is."""
    source, project = Path(sa.__file__).parents[1], Path(__file__).parents[1] / "pyproject.toml"
    stated = tomllib.loads(project.read_text("utf-8"))["project"]["version"]
    code = f"""
import sys
from importlib import metadata
def missing(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = missing
sys.path.insert(0, sys.argv[1])
import superarm
print(superarm.__version__, [name for name in {HEAVY} if name in sys.modules])
"""
    (tmp_path / "src").mkdir()
    shutil.copytree(source / "superarm", tmp_path / "src" / "superarm")
    for version in ("unknown", stated):
        said = subprocess.check_output([sys.executable, "-c", code, str(tmp_path / "src")], text=True, cwd=tmp_path)
        assert said.strip() == f"{version} []"
        shutil.copy(project, tmp_path)


def test_the_version_is_said_the_same_everywhere():
    root = Path(__file__).parents[1]
    stated = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    headings = re.findall(r"^## \[([^]]+)\]", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", stated)
    assert stated in headings
    assert f"\nversion: {stated}\n" in (root / "CITATION.cff").read_text("utf-8")


def test_completion_finds_what_is_not_loaded_yet():
    code = "import superarm as sa, sys; print(set(sa.__all__) <= set(dir(sa)), 'polars' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["True", "False"]


def test_completion_offers_public_names_only():
    assert [name for name in dir(sa) if not name.startswith("__")] == sorted(set(sa.__all__) - {"__version__"})


def test_the_package_runs_as_the_command():
    said = subprocess.run([sys.executable, "-m", "superarm", "list"], capture_output=True, text=True, check=True).stdout
    assert "federated" in said
    said = subprocess.run([sys.executable, "-m", "superarm", "run", "nothing"], capture_output=True, text=True)
    assert said.returncode != 0
    assert "nothing" in said.stdout + said.stderr


def test_the_command_loads_no_charts_before_it_needs_them():
    code = "import superarm.cli, sys; print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_ctrl_c_while_the_command_loads_is_quiet():
    code = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "superarm.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from superarm.__main__ import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_public_names():
    assert len(set(sa.__all__)) == len(sa.__all__)
    for name in sa.__all__:
        assert hasattr(sa, name), name
        assert name == "errors" or name.startswith("__") or getattr(sa, name).__doc__, name


def test_a_client_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)  # as where it is not installed
    for name in ("client", "connection"):
        monkeypatch.delitem(sys.modules, f"superarm.client.{name}", raising=False)
    with pytest.raises(
        ImportError, match=r"superarm.Client needs httpx: in a clone of superarm, pip install '\.\[client\]'"
    ):
        sa.Client  # noqa: B018  # to ask for the name is what raises


def test_no_message_sends_readers_to_a_package_that_is_not_published():
    for module in sorted(Path(sa.__file__).parent.rglob("*.py")):
        assert not re.search(r"pip install '?superarm", module.read_text("utf-8")), module
