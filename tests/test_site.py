"""The site is whole: every public name has an example, links hold, nothing is fetched, notebooks run."""

import ast
import contextlib
import doctest
import io
import json
import os
import re
import runpy
import socket
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import superarm as sa
from tests.report.chromium import executable

ROOT = Path(__file__).parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
NOTEBOOKS = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))


def entries():
    """What stands below each name of the reference, up to the next heading or name."""
    for page in sorted(ROOT.glob("docs/reference/*.md")):
        parts = re.split(r"^(?:::: superarm\.(\w+)|#+ .*)$", page.read_text("utf-8"), flags=re.MULTILINE)
        yield from ((name, body) for name, body in zip(parts[1::2], parts[2::2], strict=True) if name)


def test_every_public_name_has_one_entry_with_an_example():
    found = list(entries())
    assert sorted(name for name, _ in found) == sorted(sa.__all__)
    for name, body in found:
        example = body.partition("```python\n")[2] or getattr(sa, name).__doc__
        assert re.search(rf"(?:>>>|\.\.\.) .*\b{name}\b", example), f"{name}: no example in docstring or reference"


@pytest.mark.parametrize("name", NOTEBOOKS["TUTORIALS"])
def test_notebooks_are_those_of_the_pages(name):
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    kept = (ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text("utf-8")
    assert kept == NOTEBOOKS["notebook"](page), "python docs/notebooks.py writes them again"


def played(cell, names):
    """What a cell prints, with the value of its last line as Jupyter shows it."""
    source = cell["source"]
    if source.startswith("%%bash\n"):
        done = subprocess.run(["bash", "-ec", source[7:]], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (source, done.stdout, done.stderr)
        return done.stdout
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        if value is not None:
            print(repr(value))
    return printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS["TUTORIALS"])
def test_notebooks_run_and_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text("utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
    text = text.replace(r"\"shop.db\"])", rf"\"shop.db\", \"--bind\", \"127.0.0.1:{port}\"])")
    text = text.replace("time.sleep(10)", f"ready({port})")
    names = {"__name__": "__main__", "ready": ready}
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    try:
        for cell in cells:
            printed = played(cell, names)
            for output in cell["outputs"]:
                assert doctest.OutputChecker().check_output(output["text"] + "\n", printed, FLAGS), printed
    finally:
        if "server" in names:
            names["server"].terminate()
            assert names["server"].wait(30) == 0


def ready(port):
    """Wait until the service answers."""
    words = f"curl --retry 60 --retry-delay 1 --retry-all-errors -sf http://127.0.0.1:{port}/readyz"
    subprocess.run(words.split(), check=True, capture_output=True)


def test_copied_examples_have_neither_prompts_nor_output():
    example = ">>> for t in (1, 2):\n...     print(t)\n1\n2\n>>> {\n...     1: 2,\n... }\n{1: 2}\n"
    assert HOOKS["runnable"](example) == "for t in (1, 2):\n    print(t)\n\n{\n    1: 2,\n}"


@pytest.mark.parametrize(("printed", "wraps"), [("a sentence that is long", True), ("column  column", False)])
def test_printed_sentences_wrap_and_printed_columns_scroll(printed, wraps):
    block = f'<pre><span></span><code><span class="gp">&gt;&gt;&gt; </span>1\n<span class="go">{printed}</span>'
    html = HOOKS["examples"](f"{block}</code></pre>")
    assert html.startswith('<pre data-copy="1">')
    assert ('class="go wrapped"' in html) == wraps


def test_pages_that_are_named_by_their_files_are_linked():
    linked = HOOKS["linked"]
    assert linked("<code>examples/05_shops.py</code>", "reference/x.md").startswith(
        '<a href="../examples/05_shops.html">'
    )
    assert linked("<code>benchmarks/results.md</code>", "x.md").startswith('<a href="benchmarks.html">')
    for same in ("<code>docs/nothing.md</code>", '<a href="y"><code>docs/wrong.md</code></a>', "<code>src/x.py</code>"):
        assert linked(same, "x.md") == same
    assert "<a" not in linked("<code>examples/05_shops.py</code>", "examples/05_shops.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly where nothing can be fetched."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | nowhere | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=\"?([^\" >]+)", text)
        loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|preload|preconnect|icon)[^>]*\shref=\"?([^\" >]+)", text)
        assert not [address for address in loaded if "//" in address], page
        assert not re.search(r":(?:class|func|meth|mod|attr):", text), page


@pytest.mark.slow
def test_every_example_with_prompts_copies_code_that_compiles(site):
    blocks = 0
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        copied = re.findall(r'<pre data-copy="([^"]*)"', text)
        assert len(copied) == len(re.findall(r'<code><span class="gp">&gt;', text)), page
        for code in copied:
            compile(unescape(code), page.name, "exec")
        blocks += len(copied)
    assert blocks > 100


@pytest.mark.slow
def test_links_lead_to_pages_and_headings_that_exist(site):
    pages = {page: page.read_text("utf-8") for page in site.rglob("*.html")}
    for page, text in pages.items():
        if page.name == "404.html":
            continue
        for address in set(re.findall(r"<a[^>]*\shref=\"?([^\" >]+)", text)):
            if address.startswith(("http", "mailto:")):
                continue
            path, _, anchor = address.partition("#")
            target = (page.parent / path).resolve() if path not in ("", ".") else page
            assert target.exists(), (page, address)
            if anchor and target in pages:
                assert re.search(rf'\b(?:id|name)="?{re.escape(anchor)}[" >]', pages[target]), (page, address)


@pytest.mark.slow
@pytest.mark.skipif(executable() is None, reason="no Chromium is installed")
def test_search_works_without_a_server(site):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto((site / "index.html").as_uri())
        tab.get_by_placeholder("Search").fill("WholeGroups")
        playwright.expect(tab.locator(".md-search-result__item").first).to_contain_text("WholeGroups", timeout=15_000)
        browser.close()
