"""The first tutorials as notebooks, made from their pages: ``python docs/notebooks.py`` writes them again."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TUTORIALS = ("first_round", "nightly_shop", "first_service")
START = """import subprocess, sys, time

server = subprocess.Popen([sys.executable, "-m", "superarm", "serve", "--store", "shop.db"])
time.sleep(10)"""
STOP = "server.terminate()"


def notebook(page: str) -> str:
    """A page as the text of a notebook: prose, code with what it prints, and commands as cells of bash."""
    text = re.sub(r"^[^\n]*\(notebooks/[^\n]*$", "", page, flags=re.MULTILINE)
    cells = list(_cells(text))
    if any(cell["source"].startswith("%%bash") for cell in cells):
        cells.append(_cell("code", STOP))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    made = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _cells(text: str) -> Iterator[dict[str, Any]]:
    parts = re.split(r"^```(python|sh|console)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    for prose, kind, code in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True):
        if prose.strip():
            yield _cell("markdown", re.sub(r"\]\((?!http)(?=[\w/]+\.md)", "](../", prose.strip()))
        if kind == "sh":
            yield _cell("code", f"%%bash\n{code.strip()}")
        elif kind == "console":
            yield _cell("code", START)
        elif kind == "python":
            yield from _steps(code)


def _steps(code: str) -> Iterator[dict[str, Any]]:
    """Cells of a session with prompts: one ends where something is printed."""
    source: list[str] = []
    for example in doctest.DocTestParser().get_examples(code):
        source.append(example.source.rstrip("\n"))
        if example.want:
            yield _cell("code", "\n".join(source), example.want.rstrip("\n"))
            source = []
    if source:
        yield _cell("code", "\n".join(source))


def _cell(kind: str, source: str, printed: str = "") -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    if kind == "code":
        outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
        cell |= {"execution_count": None, "outputs": outputs}
    return cell


if __name__ == "__main__":
    (HERE / "notebooks").mkdir(exist_ok=True)
    for name in TUTORIALS:
        page = (HERE / f"{name}.md").read_text(encoding="utf-8")
        (HERE / "notebooks" / f"{name}.ipynb").write_text(notebook(page), encoding="utf-8")
