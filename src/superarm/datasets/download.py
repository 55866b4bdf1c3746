"""Fetching an official MovieLens release once: resumed, verified, unpacked, and whole or not there at all.

Also where releases and what was filtered from them are kept between runs.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from superarm.arguments import instance, one_of
from superarm.datasets import files
from superarm.errors import DownloadFailed, InvalidArgument, UnexpectedData, safe_repr
from superarm.storage import alone, checked_path, replace_file

PathLike = str | os.PathLike[str]
OFFICIAL = "https://files.grouplens.org/datasets/movielens/"
RELEASES = ("ml-latest-small", "ml-32m", "ml-25m", "ml-20m", "ml-10m", "ml-1m", "ml-100k")

_SILENCE = 60.0  # seconds without a byte after which a connection is given up
_FRUITLESS = 3  # connections in a row that may end without a new byte
_CHUNK = 1 << 18
_LARGE = 1 << 25  # bytes; less is done before a bar could be read


def fetch(
    release: str, *, base_url: str = OFFICIAL, cache: PathLike | None = None, progress: Console | None = None
) -> Path:
    """Fetch a MovieLens release and return its folder; a release that is there already costs nothing.

    The archive is compared with the MD5 sum that GroupLens publishes beside it and unpacked elsewhere before it appears
    under its name. What an interruption leaves is continued by the next call and trusted only after that comparison.

    Parameters
    ----------
    release
        one of ``RELEASES``, such as "ml-latest-small"
    base_url
        address of the folder that holds ``<release>.zip`` and ``<release>.zip.md5``
    cache
        folder of the cache; by default SUPERARM_CACHE or the platform's
    progress
        where to draw a bar; None: nowhere
    """
    one_of("release", release, RELEASES)
    checked_console(progress)
    if not isinstance(base_url, str) or not base_url.startswith(("http://", "https://")):
        raise InvalidArgument("base_url", "an address that starts with https:// or http://", safe_repr(base_url))
    home = cache_folder(cache) / "movielens"
    target = home / release
    if target.is_dir():
        return target
    home.mkdir(parents=True, exist_ok=True)
    with alone(home / f".{release}.lock", wait=True):
        if target.is_dir():  # another process was faster
            return target
        url = f"{base_url.rstrip('/')}/{release}.zip"
        expected = _published_sum(f"{url}.md5")
        archive = home / f"{release}.zip.part"
        if not archive.exists() or _md5(archive) != expected:
            _download_verified(url, archive, expected, progress)
        _unpack(archive, target)
        archive.unlink()
    return target


def _published_sum(url: str) -> str:
    with _open(url) as answer:
        text = answer.read(4096).decode("ascii", "replace")
    # "MD5 (ml-25m.zip) = 6b51...", or "6b51...  ml-25m.zip"
    sums = re.findall(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{32}(?![0-9A-Za-z])", text)
    if len(sums) != 1:
        raise DownloadFailed(f"{url}: expected one MD5 sum, got {text[:80]!r}")
    return str(sums[0]).lower()


def _download_verified(url: str, archive: Path, expected: str, progress: Console | None) -> None:
    resumed = archive.exists() and archive.stat().st_size > 0
    _download(url, archive, progress)
    came = _md5(archive)
    if came != expected and resumed:
        # The beginning may be of an older archive, or damaged: once more from there.
        archive.unlink()
        _download(url, archive, progress)
        came = _md5(archive)
    if came != expected:
        archive.unlink()
        raise DownloadFailed(f"{url}: expected MD5 {expected} as published beside it, got {came}; nothing was kept")


def _download(url: str, archive: Path, progress: Console | None) -> None:
    """Fetch the rest of the archive, connecting again for as long as that brings something."""
    fruitless = 0
    while True:
        before = archive.stat().st_size if archive.exists() else 0
        if _download_once(url, archive, before, progress):
            return
        fruitless = 0 if archive.stat().st_size > before else fruitless + 1
        if fruitless == _FRUITLESS:
            raise DownloadFailed(
                f"{url}: the connection was lost after {archive.stat().st_size} bytes; they are kept, and the next "
                "call continues from there"
            )


def _download_once(url: str, archive: Path, begin: int, progress: Console | None) -> bool:
    """Whether the archive is complete after one connection."""
    with _open(url, begin) as answer:
        if answer.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            archive.unlink()  # more than there is: of another archive
            return _download_once(url, archive, 0, progress)
        place = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
        continued = answer.status == http.HTTPStatus.PARTIAL_CONTENT and place is not None and int(place[1]) == begin
        if answer.status == http.HTTPStatus.PARTIAL_CONTENT and not continued:
            raise DownloadFailed(f"{url}: asked for bytes from {begin}, got {answer.headers.get('Content-Range')}")
        begin = begin if continued else 0  # a server that knows no ranges sends everything
        length = answer.headers.get("Content-Length")
        total = None if length is None else begin + int(length)
        with (
            open(archive, "ab" if continued else "wb") as file,
            byte_bar(progress, f"fetching {url.rpartition('/')[2]}", total, begin) as advance,
        ):
            while True:
                try:
                    chunk = answer.read1(_CHUNK)  # what has come, so that little is lost when the rest does not
                except (OSError, http.client.HTTPException):
                    return False
                if not chunk:
                    return total is None or file.tell() >= total
                file.write(chunk)
                file.flush()
                advance(len(chunk))


@contextmanager
def _open(url: str, begin: int = 0) -> Iterator[Any]:
    request = urllib.request.Request(url, headers={"Range": f"bytes={begin}-"} if begin else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_SILENCE)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            error.close()
            raise DownloadFailed(f"{url}: the server answered {error.code} {error.reason}") from None
        answer = error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise DownloadFailed(
            f"{url}: no connection ({reason}); a release fetched by other means can be read from its folder"
        ) from None
    with answer:
        yield answer


def _md5(path: Path) -> str:
    with open(path, "rb") as file:
        # Published by GroupLens; it guards against damage, the connection (https) against forgery.
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _unpack(archive: Path, target: Path) -> None:
    """Unpack beside the target, then rename: the folder appears complete."""
    for left in target.parent.glob(f".{target.name}.unpacking.*"):
        shutil.rmtree(left)
    temporary = target.parent / f".{target.name}.unpacking.{secrets.token_hex(8)}"
    temporary.mkdir()
    try:
        with zipfile.ZipFile(archive) as content:
            for member in content.infolist():
                _extract(content, member, temporary)
        entries = list(temporary.iterdir())
        whole = entries[0] if len(entries) == 1 and entries[0].is_dir() else temporary
        files.layout_of(whole)
        os.replace(whole, target)
    # What zipfile raises for damaged, cut off, unknown and encrypted members; UnexpectedData for another layout.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, UnexpectedData) as error:
        archive.unlink()
        raise DownloadFailed(f"{archive.name}: cannot be unpacked ({error}); nothing was kept") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(content: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    name = PurePosixPath(member.filename)
    outside = name.is_absolute() or ".." in name.parts or "\\" in member.filename or ":" in member.filename
    if outside or stat.S_ISLNK(member.external_attr >> 16):
        raise zipfile.BadZipFile(f"{member.filename!r} would be written outside the folder")
    path = folder.joinpath(*name.parts)
    if member.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with content.open(member) as source, open(path, "xb") as file:
        shutil.copyfileobj(source, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())


def cache_folder(cache: PathLike | None = None) -> Path:
    """``cache`` if given, else the environment variable SUPERARM_CACHE, else the place that the platform has for it."""
    if cache is None or (isinstance(cache, str) and not cache):
        cache = os.environ.get("SUPERARM_CACHE") or None
    if cache is not None:
        return checked_path("cache", cache).expanduser().absolute()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "superarm" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "superarm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "superarm"


def load_frame(path: Path, key: dict[str, Any]) -> pl.DataFrame | None:
    """The frame kept at ``path``, or None unless it is there, unharmed, and was made for this ``key``."""
    try:
        kept = json.loads(_key_file(path).read_text())
        content = path.read_bytes()
    except (OSError, ValueError):
        return None
    # The digest comes first: a decoder is not made for damaged input.
    if kept != {**key, "sha256": hashlib.sha256(content).hexdigest()}:
        return None
    return pl.read_parquet(io.BytesIO(content))


def keep_frame(path: Path, key: dict[str, Any], frame: pl.DataFrame) -> None:
    """Keep the frame for :func:`load_frame`; a cache that cannot be written is no reason to fail."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    content = buffer.getvalue()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
        replace_file(_key_file(path), json.dumps({**key, "sha256": hashlib.sha256(content).hexdigest()}).encode())
    except OSError:
        return


def _key_file(path: Path) -> Path:
    return path.with_suffix(".json")


def checked_console(progress: Any) -> None:
    """Refuse anything but None or a console to draw a bar on."""
    if progress is not None:
        instance("progress", progress, Console, "a rich.console.Console, or None")


@contextmanager
def byte_bar(console: Console | None, what: str, total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Give a function to be told of further bytes; it draws nothing without a console or for a small file."""
    if console is None or (total is not None and total < _LARGE):
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda count: progress.advance(task, count)
