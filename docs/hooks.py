"""What MkDocs does beyond its settings: pages from elsewhere, cross-references, mathematics without scripts."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
CALL = tuple(f"<code>{method} /" for method in ("GET", "POST", "PUT", "PATCH", "DELETE"))
PAGES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "benchmarks.md": "benchmarks/results.md",
}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from files outside this folder, and from the commands."""
    from superarm.cli import app

    made = {page: (ROOT / source).read_text(encoding="utf-8") for page, source in PAGES.items()}
    for script in sorted(ROOT.glob("examples/*.py")):
        made[f"examples/{script.stem}.md"] = example_page(script)
    made["command_line.md"] = command_page(app)
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Colour prompts as a console, and link the pages that are named by their paths."""
    text = re.sub(r"^```python\n(?=>>>)", "```pycon\n", markdown, flags=re.MULTILINE)
    up = "../" * page.file.src_uri.count("/")
    if page.file.src_uri in PAGES.keys() - {"benchmarks.md"}:
        text = re.sub(r"\]\(([A-Z]+\.md)", lambda named: f"]({named[1].lower()}", text.replace("](docs/", "]("))
    return re.sub(r"(?<!\[)`docs/(\w+\.md)`", lambda named: f"[{named[1]}]({up}{named[1]})", text)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Write mathematics as MathML, which browsers show by themselves, and make the rest fit readers and screens."""
    here = page.file.src_uri
    return linked(roomy(examples(mathematics(html))), here)


def mathematics(html: str) -> str:
    """Formulas as MathML."""

    def mathml(found: re.Match[str]) -> str:
        return convert(unescape(found[2]), display="inline" if found[1] == "span" else "block")

    return re.sub(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', mathml, html, flags=re.DOTALL)


def examples(html: str) -> str:
    """Examples with prompts, to be copied and read."""
    return re.sub(r"<pre>((?:<span></span>)?<code>)(.*?)</code></pre>", _example, html, flags=re.DOTALL)


def roomy(html: str) -> str:
    """Pictures that open in full size, and cells that leave room for the others on a small screen.

    They say how wide they are at the least, and the address of a call breaks after a slash.
    """
    html = re.sub(r'<img [^>]*src="(pictures/[^"]+)"[^>]*>', r'<a class="picture" href="\1">\g<0></a>', html)

    def cell(found: re.Match[str]) -> str:
        letters = len(unescape(re.sub(r"<[^>]+>", "", found[1])))
        said = re.sub(r"(?<=[}\w])/(?=[{\w])", "/<wbr>", found[1]) if found[1].startswith(CALL) else found[1]
        return f'<td style="--room: {min(letters // 5, 9)}rem">{said}</td>' if letters > 20 else found[0]

    return re.sub(r"<td>(.*?)</td>", cell, html, flags=re.DOTALL)


def linked(html: str, here: str) -> str:
    """Links to the pages that are named by the paths of their files."""

    def link(found: re.Match[str]) -> str:
        path = found[1]
        page = "benchmarks" if path == "benchmarks/results.md" else path.removeprefix("docs/").rpartition(".")[0]
        known = (ROOT / path).exists() and f"{page}.md" != here
        return f'<a href="{"../" * here.count("/")}{page}.html">{found[0]}</a>' if known else found[0]

    named = r'(?<!">)<code>(docs/[a-z_]+\.md|benchmarks/results\.md|examples/\d\d_\w+\.py)</code>'
    return re.sub(named, link, html)


def runnable(example: str) -> str:
    """The code of an example with prompts, without them and without what it prints."""
    code = ""
    for step in doctest.DocTestParser().get_examples(example):
        # An interpreter ends a block at an empty line.
        code += step.source + "\n" * step.source.rstrip("\n").rpartition("\n")[2].startswith(" ")
    return code.rstrip("\n")


def _example(found: re.Match[str]) -> str:
    """A block with prompts, whose button copies only the code, and whose printed sentences wrap."""
    said = unescape(re.sub(r"<[^>]+>", "", found[2]))
    if not said.startswith(">>> "):
        return found[0]
    printed = re.findall(r'<span class="go">(.*?)</span>', found[2])
    in_columns = any(re.search(r"[\u2500-\u257f]|\S {2,}\S", unescape(line)) for line in printed)
    shown = found[2] if in_columns else found[2].replace('<span class="go">', '<span class="go wrapped">')
    # The theme's button copies the attribute in place of the text.
    return f'<pre data-copy="{escape(runnable(said)).replace(chr(10), "&#10;")}">{found[1]}{shown}</code></pre>'


def example_page(script: Path) -> str:
    """A script in percent format as a page."""
    parts = []
    for cell in re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, body = cell.partition("\n")
        if "markdown" in head:
            parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            parts.append(f"```py\n{body.strip()}\n```")
    return f"# {script.stem[3:].replace('_', ' ').capitalize()}\n\n`examples/{script.name}`\n\n" + "\n\n".join(parts)


def command_page(app: Any) -> str:
    """Every command with its arguments and options, as its help tells them."""
    import typer

    group = typer.main.get_command(app)
    more = "`-h` shows the help of any command; `superarm --install-completion` lets your shell complete them."
    parts = ["# The command line", group.help or "", more, *_commands(group, "superarm", 2)]
    return "\n\n".join(parts) + "\n"


def _commands(group: Any, path: str, level: int) -> Iterator[str]:
    for name, command in group.commands.items():
        words = f"{path} {name}"
        yield f"{'#' * level} {words}\n\n{' '.join((command.help or '').split())}"
        if hasattr(command, "commands"):
            yield from _commands(command, words, level + 1)
            continue
        context = command.context_class(command, info_name=words)
        usage = " ".join([words, *command.collect_usage_pieces(context)])
        yield f"```sh\n{usage}\n```"
        rows = [row for parameter in command.params if (row := _row(parameter, context))]
        if rows:
            yield "| Argument or option | What it is |\n| --- | --- |\n" + "\n".join(rows)


def _row(parameter: Any, context: Any) -> str:
    if parameter.name == "help":
        return ""
    term, words = parameter.get_help_record(context) or ("", "")
    cells = [re.sub(r"\s+", " ", cell).replace("|", "\\|") for cell in (term, words)]
    return f"| `{cells[0]}` | {cells[1]} |" if term else ""
