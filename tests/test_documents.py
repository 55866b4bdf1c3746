"""Examples and the code in the documents are executed, so they stay true."""

import doctest
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
MADE = {"../command_line.md"}  # with the site, whose tests follow its links
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def named(document):
    return document.relative_to(ROOT).as_posix().removeprefix("docs/")


def code_blocks(document):
    text = document.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield text[: match.start()].count("\n") + 1, match.group(1)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_code_in_documents(document, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    names = {"__name__": "document"}
    for line, code in code_blocks(document):
        if ">>>" not in code:
            exec(compile(code, f"{document.name}:{line}", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, f"{document.name}:{line}", str(document), line)
        said = []
        results = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
        names.update(test.globs)
        assert results.failed == 0, "".join(said)


def test_there_is_code_to_run():
    assert sum(1 for document in DOCUMENTS for _ in code_blocks(document)) >= 8
    assert len(EXAMPLES) >= 3


def test_the_readme_compares_an_own_policy_and_environment_in_ten_lines():
    (code,) = (code for _, code in code_blocks(ROOT / "README.md") if "sa.compare(" in code)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    assert max(map(len, code.splitlines())) <= 120
    assert all(name in code for name in ("sa.Rule(", "sa.environments.Simulator(", "runs=5", "results.report("))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples(example, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_links_and_paths_in_documents_exist(document):
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http") and target not in MADE:
            assert (document.parent / target).exists(), target
    for named in re.findall(r"`((?:src|docs|tests|examples|benchmarks)/[\w/.]+)`", text):
        assert (ROOT / named).exists(), named


def test_paths_of_paper_to_code_exist():
    text = (ROOT / "docs" / "paper_to_code.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text)
    assert len(paths) > 10
    for path in paths:
        assert (ROOT / "src" / "superarm" / path).exists(), path


def prose(document):
    """The lines that somebody wrote by hand: no tables, no output of examples, no commands to copy, no options."""
    kind = None
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            kind = line[3:] if kind is None else None
        example = kind == "python" and line.startswith((">>>", "..."))
        if (kind is None and not line.startswith(("|", "    ", "      members"))) or example:
            yield number, line


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=named)
def test_lines_are_at_most_120_characters_long(document):
    assert [number for number, line in prose(document) if len(line) > 120] == []
