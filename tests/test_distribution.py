"""What is published: the sdist builds and tests itself, and the wheel installs on every Python that superarm names."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import superarm as sa
from tests.test_documents import ROOT, code_blocks

pytestmark = pytest.mark.slow

NAME = f"superarm-{sa.__version__}"
COMMAND = Path("Scripts" if os.name == "nt" else "bin")


def build(target, folder, into):
    """With the hatchling of the lock, so that nothing is fetched."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    build("sdist", ROOT, folder)
    with tarfile.open(folder / f"{NAME}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / NAME


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """Built from the sdist, not from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build("wheel", unpacked, folder)
    return folder / f"{NAME}-py3-none-any.whl"


def test_the_sdist_holds_what_its_own_tests_need(unpacked):
    locks = sorted(path.name for path in ROOT.glob("requirements*.lock"))
    for name in ("Makefile", "CONTRIBUTING.md", "README.md", "LICENSE", *locks):
        assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes()
    assert os.access(unpacked / ".ci" / "run", os.X_OK)
    here, there = ({path.relative_to(root) for path in root.glob("tests/**/*.*")} for root in (ROOT, unpacked))
    assert {path for path in here if "__pycache__" not in path.parts} == there


def test_the_sdist_tests_itself(unpacked):
    environment = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "not slow", "--first-cases"]
    some = ["tests/rewards", "tests/oracles", "tests/policies", "tests/test_documents.py", "tests/test_round.py"]
    work = {"cwd": unpacked, "env": environment, "capture_output": True, "text": True}
    said = subprocess.run([sys.executable, "-c", "import superarm; print(superarm.__file__)"], **work).stdout
    assert Path(said.strip()).is_relative_to(unpacked)
    ended = subprocess.run([*command, *some], **work)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]


def test_the_wheel_says_that_it_is_typed(wheel):
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
        about = held.read(f"{NAME}.dist-info/METADATA").decode()
    assert "superarm/py.typed" in names
    assert "Typing :: Typed" in about
    for version in ("3.11", "3.12", "3.13"):
        assert f"Python :: {version}" in about
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


def python(version):
    """An interpreter of this version, or None; the shims of pyenv refuse versions that are not chosen."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for found in (sys.executable, shutil.which(f"python{version}"), *root.glob(f"versions/{version}.*/bin/python")):
        code = "import sys, ensurepip, venv; print('{}.{}'.format(*sys.version_info))"
        if found and subprocess.run([found, "-c", code], capture_output=True, text=True).stdout.strip() == version:
            return found
    return None


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_wheel_installs_and_the_first_example_runs(wheel, version, tmp_path, record_property):
    found = python(version)
    if found is None:
        pytest.skip(f"needs Python {version} with its venv module")
    subprocess.run([found, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    commands = tmp_path / "venv" / COMMAND
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(tmp_path / "venv")]
    locked = ["--require-hashes", "--only-binary", ":all:", "-r", str(ROOT / "requirements.lock")]
    for words in (locked, ["--no-deps", str(wheel)]):
        ended = subprocess.run([*pip, "install", "-q", *words], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
    (_, example), *_ = code_blocks(ROOT / "README.md")
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    work = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    ended = subprocess.run([str(commands / "python"), "example.py"], **work)
    assert ended.returncode == 0, ended.stderr
    assert "arms, value" in ended.stdout
    said = subprocess.run([str(commands / "superarm"), "--version"], **work).stdout
    assert said.strip() == f"superarm {sa.__version__}"
    exact = subprocess.check_output([str(commands / "python"), "--version"], text=True).strip()
    record_property("ran", f"the wheel on {exact}")
