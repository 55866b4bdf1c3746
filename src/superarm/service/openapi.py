"""The OpenAPI document: Litestar writes it from the routes; the bodies are added here, which routes read themselves.

They do so in threads, after the size of a body is known: what Litestar reads, it reads in the event loop.
"""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
from litestar import Litestar, Request, get
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.routes import HTTPRoute

from superarm.service import bodies, catalogues, problems
from superarm.service.asked import JSON, LONGEST_WAIT
from superarm.service.examples import EXAMPLES

KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A name that you choose for this call. If you repeat it, you get the first answer again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
BESIDE = {
    "name": "Superarm-Round",
    "in": "header",
    "required": False,
    "description": "With an Arrow body: `feasible`, `promises`, `reward` and `t` as JSON.",
    "schema": {"type": "string"},
}
WAIT = {
    "name": "Superarm-Deadline-Ms",
    "in": "header",
    "required": False,
    "description": "How many milliseconds the call may wait for its turn before the service answers 503.",
    "schema": {"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT},
}


@get(
    "/openapi.json",
    sync_to_thread=True,
    include_in_schema=False,
    opt={"scope": "open"},
    media_type="application/vnd.oai.openapi+json",
)
def openapi(request: Request[Any, Any, Any]) -> bytes:
    """The document."""
    return msgspec.json.encode(document(request.app))


class Document(JsonRenderPlugin):
    """The same where Litestar wants it: below the root, all of which it would take otherwise."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return msgspec.json.encode(document(request.app))


def document(app: Litestar) -> dict[str, Any]:
    """The whole document, as plain data."""
    found = app.openapi_schema.to_schema()
    taken = [(path, method, handler) for path, method, handler in _handlers(app) if "takes" in handler.opt]
    kinds = {handler.opt["takes"] for _, _, handler in taken if handler.opt["takes"] is not None}
    _, components = msgspec.json.schema_components(
        sorted(kinds, key=lambda kind: kind.__name__), ref_template="#/components/schemas/{name}"
    )
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(components)
    _describe(schemas)
    for path, method, handler in taken:
        operation = found["paths"][path][method]
        content: dict[str, Any] = {}
        if handler.opt["takes"] is not None:
            name = handler.opt["takes"].__name__
            content[JSON] = {"schema": {"$ref": f"#/components/schemas/{name}"}, "example": EXAMPLES[name]}
        for other in handler.opt["others"]:
            content[other] = {"schema": {"type": "string", "format": "binary"}}
        operation["requestBody"] = {"required": True, "content": content}
        if (key := handler.opt["key"]) is not None:
            operation.setdefault("parameters", []).append(KEY | {"required": key == "needed"})
        if bodies.RoundSent is handler.opt["takes"]:
            operation["parameters"] += [BESIDE, WAIT]
    return found


def _describe(schemas: dict[str, Any]) -> None:
    """Say what answers hold: Litestar leaves the docstrings of their structures out."""
    for name, schema in schemas.items():
        kinds = (getattr(room, name, None) for room in (bodies, catalogues, problems))
        words = next((inspect.getdoc(kind) for kind in kinds if kind is not None), None)
        if words is not None:
            schema.setdefault("description", words)


def _handlers(app: Litestar) -> list[tuple[str, str, Any]]:
    return [
        (route.path_format, str(method).lower(), handler)
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS"
    ]


def openapi_config(version: str) -> OpenAPIConfig:
    """Where the document is, and what it says of itself."""
    scheme = SecurityScheme(type="http", scheme="bearer", description="A token of 'superarm token create'.")
    return OpenAPIConfig(
        title="superarm",
        version=version,
        summary="Decisions with promises to groups, over HTTP",
        path="/v1/document",
        render_plugins=[Document(path="/openapi.json")],
        use_handler_docstrings=True,
        components=Components(security_schemes={"token": scheme}),
    )
