"""A lock installs whatever comes out later, and what cannot be installed does not pass."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution, distributions

import pytest
from packaging.markers import Marker

from tests.test_documents import ROOT

LOCKS = sorted(ROOT.glob("requirements*.lock"))
PIN = re.compile(r"^([\w.-]+)==(\S+?)(?: ; (.*?))? \\\n(?: +--hash.*\n)+((?: +#.*\n)*)", re.MULTILINE)
LATER = "9999"


def make(*words, folder=ROOT, **environment):
    """As from a shell of its own: what a make around the tests was told would hold here too."""
    clean = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "WITHOUT"}
    return subprocess.run(["make", *words], cwd=folder, env=clean | environment, capture_output=True, text=True)


def empty_wheel(folder, name, version, needs=()):
    """Holds nothing but what it needs, and offers an extra; its hash."""
    stem = f"{re.sub('[-.]', '_', name)}-{version}"
    about = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", "Provides-Extra: extra"]
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(
            f"{stem}.dist-info/METADATA", "\n".join([*about, *(f"Requires-Dist: {need}" for need in needs), ""])
        )
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def installed_wheel(folder, name):
    """The wheel of what is installed here; its hash."""
    found = distribution(name)
    path = folder / f"{name}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in found.files:
            if ".." not in file.parts and file.suffix != ".pyc" and file.name != "RECORD":
                wheel.write(found.locate_file(file), str(file))
        wheel.writestr(f"{name}-{found.version}.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def later(lock, folder):
    """Fills a folder with what a lock names and something newer of each; the lock with the hashes of these files.

    The worst case: whoever needs a package needs an extra of it, so that none is what the lock says, word by word.
    """
    pins, lines = PIN.findall(lock.read_text()), []
    for name, version, marker, _ in pins:
        needs = [
            f"{other}[extra]>={least}" + (f"; {where}" if where else "")
            for other, least, where, via in pins
            if name in re.findall(r"[\w.-]+", via)
        ]
        digest = empty_wheel(folder, name, version, needs)
        empty_wheel(folder, name, LATER)
        lines.append(f"{name}=={version}" + (f" ; {marker}" if marker else "") + f" --hash=sha256:{digest}\n")
    return "".join(lines), {
        name: version for name, version, marker, _ in pins if not marker or Marker(marker).evaluate()
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A clone with a registry of its own, in which there is nothing but the pip of the lock, and a newer one."""
    folder, registry = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("registry")
    shutil.copy(ROOT / "Makefile", folder)
    ((name, version, *_),) = PIN.findall((ROOT / "requirements-pip.lock").read_text())
    assert distribution(name).version == version, "the pip of this environment is not that of the lock"
    (folder / f"requirements-{name}.lock").write_text(
        f"{name}=={version} --hash=sha256:{installed_wheel(registry, name)}\n"
    )
    empty_wheel(registry, name, LATER)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(registry), "PIP_CONFIG_FILE": os.devnull}

    def run(*words):
        return make(*words, f"PYTHON={sys.executable}", folder=folder, **offline)

    ended = run(".venv/.made")
    assert ended.returncode == 0, ended.stderr
    return folder, registry, run


@pytest.mark.slow
@pytest.mark.parametrize(
    "lock", [lock for lock in LOCKS if lock.stem != "requirements-pip"], ids=lambda lock: lock.stem
)
def test_a_lock_installs_when_everything_in_it_has_a_newer_version(project, lock):
    folder, registry, run = project
    text, expected = later(lock, registry)
    assert len(expected) > 30
    (folder / "requirements-flower.lock").write_text(text)
    ended = run(".venv-flower/.ready")
    assert ended.returncode == 0, ended.stderr
    (packages,) = (folder / ".venv-flower").glob("lib/python*/site-packages")
    assert {found.name: found.version for found in distributions(path=[str(packages)])} == expected


@pytest.mark.slow
def test_a_lock_with_a_wrong_hash_fails_and_the_last_line_says_why(project):
    folder, registry, run = project
    (registry / "spoilt-1.0.tar.gz").write_bytes(b"")  # whose hash is right: nobody builds from it instead
    hashes = {
        "spoilt-1.0.tar.gz": hashlib.sha256(b"").hexdigest(),
        "spoilt-1.0-py3-none-any.whl": empty_wheel(registry, "spoilt", "1.0"),
    }
    page = registry / "spoilt.html"  # as of a registry, which says the hashes: pip chooses by them
    page.write_text("".join(f'<a href="{file}#sha256={digest}">{file}</a>\n' for file, digest in hashes.items()))
    sdist, wheel = hashes.values()
    (folder / "requirements-flower.lock").write_text(f"spoilt==1.0 --hash=sha256:{sdist} --hash=sha256:{wheel[::-1]}\n")
    for done in ("requirements.lock", "pyproject.toml", ".venv/.runtime", "requirements-dev.lock", ".venv/.dev"):
        (folder / done).touch()
    ended = run("test-slow", f"PIP_FIND_LINKS={page}")
    assert ended.returncode != 0
    said = [line for line in ended.stderr.splitlines() if not line.startswith("make")][-1]
    assert re.match(
        "requirements-flower.lock cannot be installed: .* DO NOT MATCH THE HASHES .*: spoilt==1.0 .*WITHOUT=flower",
        said,
    )
    assert not (folder / ".venv-flower").exists()


def test_what_is_left_out_is_what_was_asked_for_and_the_last_line_repeats_it():
    everything = make("-n", "test-slow").stdout
    assert "tests/$" in everything
    assert re.search("for each in (.*?);", everything)[1].split() == [".venv-flower", ".venv-cluster"]
    less = make("-n", "test-slow", "WITHOUT=flower,obp").stdout
    assert ".venv-flower" not in less
    assert ".venv-cluster" in less
    assert less.splitlines()[-1] == "echo 'left out because of WITHOUT: flower obp'"
    assert "left out" not in everything


def test_a_test_that_is_skipped_without_being_asked_fails_the_run(tmp_path):
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_page(): pytest.skip('no Browser is installed')\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", str(tmp_path)]
    some, both = (
        subprocess.run([*command, f"--without={words}"], cwd=ROOT, capture_output=True, text=True)
        for words in ("curl", "curl,browser")
    )
    assert (some.returncode, both.returncode) == (1, 0)
    assert "not tested: no Browser is installed" in some.stdout
    assert "not tested" not in both.stdout
