"""Docstrings as mkdocstrings reads them: references of Sphinx become links, and examples get a heading."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

HEADING = re.compile(r"^ *Examples\n *-+$", re.MULTILINE)
REFERENCE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`(~?)([\w.]+)`")
LITERAL = re.compile(r"::\n\n((?: {4}.*\n?|\n)+)", re.MULTILINE)


def rewritten(text: str, public: dict[str, str]) -> str:
    """The text of a docstring in Markdown; ``public`` has the path that each public name is documented at."""

    def link(found: re.Match[str]) -> str:
        shown = found[2].rpartition(".")[2]
        path = public.get(shown)
        return f"[`{shown}`][{path}]" if path else f"`{shown}`"

    text = REFERENCE.sub(link, text)
    text = LITERAL.sub(lambda found: ":\n\n" + found[1], text) if "::\n" in text else text
    if ">>>" in text and not HEADING.search(text):
        before, _, after = text.partition(">>>")
        text = f"{before.rstrip()}\n\nExamples\n--------\n>>>{after}"
    return text


class Docstrings(Extension):
    """Rewrites every docstring of the package once it is loaded."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        exported = [str(name) for name in pkg.exports or ()]
        public = {name: f"superarm.{name}" for name in exported}
        self._visit(pkg, public)

    def _visit(self, thing: Any, public: dict[str, str]) -> None:
        if thing.docstring is not None:
            thing.docstring.value = rewritten(thing.docstring.value, public)
        for member in thing.members.values():
            if not member.is_alias:
                self._visit(member, public)
