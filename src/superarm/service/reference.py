"""The reference of the HTTP interface as a page, made from the OpenAPI document."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Any

HEAD = """# HTTP reference

This page is made from the OpenAPI document of the service, which a running one has at `/openapi.json`:
`python -m superarm.service.reference > docs/http.md`. [service.md](service.md) is the way in. Problems are
`application/problem+json` as RFC 9457 has them, with `argument`, `expected` and `came` where an argument is wrong.
"""
METHODS = ("get", "post", "put", "patch", "delete")


def reference(document: Mapping[str, Any], scopes: Mapping[tuple[str, str], str]) -> str:
    """The page; ``scopes`` has the scope that a token needs, by method and path."""
    parts = [
        HEAD,
        *(
            _operation(method, path, item[method], scopes.get((method, path), ""))
            for path, item in document["paths"].items()
            for method in METHODS
            if method in item
        ),
    ]
    schemas = document["components"]["schemas"]
    parts.append("## Bodies\n")
    parts += [_schema(name, schemas[name]) for name in sorted(schemas) if schemas[name].get("properties")]
    return "\n".join(parts).rstrip() + "\n"


def _operation(method: str, path: str, operation: Mapping[str, Any], scope: str) -> str:
    lines = [f"## {method.upper()} {path}\n", f"{operation.get('summary', '')}. Scope: {scope or 'none'}.\n"]
    if words := operation.get("description"):
        lines.append(_flat(words) + "\n")
    lines += [
        f"- `{each['name']}` ({each['in']}): {each.get('description', '')}" for each in operation.get("parameters", ())
    ]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f"- body `{media}`{_named(content.get('schema', {}))}")
    for status, answer in sorted(operation["responses"].items()):
        kinds = [_named(content.get("schema", {})) for content in answer.get("content", {}).values()]
        lines.append(f"- {status}{next(iter(kinds), '')}: {_flat(answer.get('description', ''))}")
    return "\n".join(lines) + "\n"


def _named(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f" ({name})" if name else ""


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    words = [_flat(schema["description"]) + "\n"] if "description" in schema else []
    fields = [
        f"- `{field}`: {_kind(kind)}{'' if field in needed else ', may be left out'}"
        for field, kind in schema["properties"].items()
    ]
    return "\n".join([f"### {name}\n", *words, *fields]) + "\n"


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[several]))
    if schema.get("type") == "array" and isinstance(schema.get("items"), Mapping):
        return f"array of {_kind(schema['items'])}"
    kind = schema.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _flat(words: str) -> str:
    return " ".join(words.split())


def page() -> str:
    """The reference of this version."""
    from superarm.service.app import ROUTES, application
    from superarm.service.openapi import document
    from superarm.service.sessions import Sessions

    scopes = {
        (str(method).lower(), path.replace(":str}", "}").replace(":int}", "}")): route.opt.get("scope", "")
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
