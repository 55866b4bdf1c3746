"""The reference of the HTTP interface as a page, made from the OpenAPI document."""

from __future__ import annotations

import json
import tempfile
import textwrap
from collections.abc import Mapping
from typing import Any

from superarm.service.guards import OPEN
from superarm.service.routes.documented import ALWAYS, WORDS

HEAD = """# HTTP reference

All calls of `superarm serve`. If you are new to it, read [a service in five minutes](first_service.md) first;
[How to run the service](service.md) is about production. This page is made from the OpenAPI document, which a running
service has at `/openapi.json`: `python -m superarm.service.reference > docs/http.md`.

## How to call

- If the service has tokens, send one with each call: `Authorization: Bearer sa_...`. The list of all calls says
  which scope it needs.
- Bodies and answers are JSON unless stated otherwise. A body needs a `Content-Type`. Tables (outcomes, promises,
  calibration) also come as Arrow, if you send `Accept: application/vnd.apache.arrow.stream`.
- A call either does everything or changes nothing. It is durable before the service answers.
- If a call breaks off, repeat it. A decision needs an `Idempotency-Key`; a record, an outcome or a correction may have
  one. Under the same key the service answers with the first result and does nothing twice. Known outcomes that come
  again change nothing.
- Headers of more than 64 KB are answered with 431, without a body.
- Lists have pages: put `next`, or the last `seq`, into `after` of the next call.
- The tables, the ledger, the waiting decisions and the change feed have an `ETag`. If you send it back as
  `If-None-Match`, and nothing has happened since, the answer is 304 without a body.

## Problems

A call that fails answers with `application/problem+json` (RFC 9457): see [Problem](#problem). If an argument is wrong,
`argument` names it, `expected` says what it should be, and `came` what came.
"""
METHODS = ("get", "post", "put", "patch", "delete")
WIDTH = 120


def reference(document: Mapping[str, Any], scopes: Mapping[tuple[str, str], str]) -> str:
    """The page; ``scopes`` has the scope that a token needs, by method and path."""
    calls = [
        (method, path, item[method], scopes.get((method, path), ""))
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    ]
    rows = [f"| {status} | {words} |" for status, words in WORDS.items()]
    parts = [HEAD, "\n".join(["| status | what it means |", "| --- | --- |", *rows]) + "\n"]
    always = _listed([str(status) for status in ALWAYS])
    parts.append(_wrapped(f"Every call under `/v1` can answer {always}; below, each call lists the others.") + "\n")
    rows = [
        f"| `{method.upper()} {path}` | {each['summary']} | {_scope(scope)} |" for method, path, each, scope in calls
    ]
    parts.append("\n".join(["## All calls\n", "| call | what it does | scope |", "| --- | --- | --- |", *rows]) + "\n")
    parts += [_operation(*call) for call in calls]
    schemas = document["components"]["schemas"]
    parts.append("## Bodies\n")
    examples = {
        _name(content.get("schema", {})): content["example"]
        for *_, operation, _ in calls
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "example" in content
    }
    parts += [
        _schema(name, schemas[name], examples.get(name)) for name in sorted(schemas) if schemas[name].get("properties")
    ]
    return "\n".join(parts).rstrip() + "\n"


def _scope(scope: str) -> str:
    return "no token" if scope == OPEN else f"`{scope}`"


def _operation(method: str, path: str, operation: Mapping[str, Any], scope: str) -> str:
    lines = [f"## {method.upper()} {path}\n", f"**{operation['summary']}.** Scope: {_scope(scope)}.\n"]
    if words := operation.get("description"):
        lines.append(_wrapped(_flat(words)) + "\n")
    for each in operation.get("parameters", ()):
        needed = "" if each.get("required") else ", optional"
        lines.append(_item(f"`{each['name']}` ({each['in']}{needed}): {each.get('description', '')}"))
    taken = [
        f"`{media}`{_linked(content.get('schema', {}))}"
        for media, content in operation.get("requestBody", {}).get("content", {}).items()
    ]
    if taken:
        lines.append(_item(f"Body: {' or '.join(taken)}"))
    good = {status: answer for status, answer in operation["responses"].items() if status < "300" or "/v1" not in path}
    for status, answer in sorted(good.items(), reverse=True):
        kinds = [_linked(content.get("schema", {})) for content in answer.get("content", {}).values()]
        words = _flat(answer.get("description", ""))
        said = "" if words.endswith(" follows") else f". {words}"  # what the protocol says of every 200 and 201
        lines.append(_item(f"Answers {status}{next(iter(kinds), '')}{said}"))
    bad = [status for status in sorted(operation["responses"]) if status not in good and int(status) not in ALWAYS]
    if bad:
        lines.append(_item(f"Problems: {_listed(bad)}"))
    return "\n".join(lines) + "\n"


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _linked(schema: Mapping[str, Any]) -> str:
    name = _name(schema)
    return f" with [{name}](#{name.lower()})" if name else ""


def _schema(name: str, schema: Mapping[str, Any], example: Any) -> str:
    needed = schema.get("required", ())
    words = [_wrapped(_flat(schema["description"])) + "\n"] if "description" in schema else []
    fields = [
        _item(f"`{field}`: {_kind(kind)}{'' if field in needed else ', optional'}")
        for field, kind in schema["properties"].items()
    ]
    shown = [] if example is None else ["\nFor example:\n", "```json", _folded(example), "```"]
    return "\n".join([f"### {name}\n", *words, *fields, *shown]) + "\n"


def _folded(example: Any, before: int = 0, indent: str = "") -> str:
    """An object as JSON, on one line where it fits after what is ``before`` it, else with a line for each member."""
    whole = json.dumps(example)
    if before + len(whole) < WIDTH or not isinstance(example, Mapping):
        return whole
    heads = {name: f"{indent}  {json.dumps(name)}: " for name in example}
    members = [head + _folded(example[name], len(head), indent + "  ") for name, head in heads.items()]
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return f"[{_name(schema)}](#{_name(schema).lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[several]))
    if schema.get("type") == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {_kind(schema['items'])}"
    kind = schema.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _flat(words: str) -> str:
    return " ".join(words.replace("``", "`").split())


def _item(words: str) -> str:
    return _wrapped(f"- {words.rstrip('.')}.", "  ")


def _wrapped(words: str, indent: str = "") -> str:
    return textwrap.fill(words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """The reference of this version."""
    from superarm.service.app import ROUTES, application
    from superarm.service.openapi import document
    from superarm.service.sessions import Sessions

    scopes = {
        (str(method).lower(), path.replace(":str}", "}").replace(":int}", "}")): route.opt.get("asks", "")
        for route in ROUTES
        for path in route.paths
        for method in route.http_methods
    }
    with tempfile.TemporaryDirectory() as folder:
        held = Sessions(f"{folder}/none.db")
        try:
            return reference(document(application(held)), scopes)
        finally:
            held.close()


if __name__ == "__main__":
    print(page(), end="")
