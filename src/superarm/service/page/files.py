"""The files of the page: the look of the report, what the page adds to it, and its script."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from superarm.service.asked import Asked

FILES = {
    "look.css": ("superarm.report", "page.css", "text/css"),
    "page.css": ("superarm.service.page", "page.css", "text/css"),
    "page.js": ("superarm.service.page", "page.js", "text/javascript"),
}


@functools.cache
def content(file: str) -> tuple[bytes, str]:
    """A file, and a tag that tells it from other versions."""
    package, name, _ = FILES[file]
    found = resources.files(package).joinpath(name).read_bytes()
    return found, f'"{hashlib.sha256(found).hexdigest()[:16]}"'


@get("/page/{file:str}", include_in_schema=False, sync_to_thread=False)
def show_file(request: Asked, file: FromPath[str]) -> Response[bytes]:
    """A file of the page, for everybody; whoever has it is told so."""
    if file not in FILES:
        raise NotFoundException("there is no such file")
    body, tag = content(file)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(body, media_type=FILES[file][2], headers=headers)
