"""Fetching from a server on this machine that can be told to misbehave."""

import hashlib
import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rich.console import Console

from superarm.datasets import download, movielens
from superarm.datasets.download import fetch
from superarm.datasets.movielens import read
from superarm.errors import DownloadFailed, InvalidArgument
from tests.datasets.made import plain, write_release


class Server:
    """Serves <release>.zip and its sum; ``cuts`` lists after how many bytes the next answers break off."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.sum = f"MD5 (ml-latest-small.zip) = {hashlib.md5(content).hexdigest()}\n"
        self.cuts: list[int] = []
        self.ranges = True
        self.lengths = True
        self.stall = threading.Event()
        self.stall.set()
        self.asked: list[tuple[str, str | None]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/data/"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, handler) -> None:
        wanted = handler.headers.get("Range")
        self.asked.append((handler.path.rpartition("/")[2], wanted))
        if handler.path.endswith(".md5"):
            if self.sum is None:
                handler.send_error(404)
                return
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(self.sum.encode())
            return
        begin = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and self.ranges else 0
        if begin and begin >= len(self.content):
            handler.send_error(416)
            return
        body = self.content[begin:]
        handler.send_response(206 if begin else 200)
        if begin:
            handler.send_header("Content-Range", f"bytes {begin}-{len(self.content) - 1}/{len(self.content)}")
        if self.lengths:
            handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.cuts.pop(0)] if self.cuts else body)
        handler.wfile.flush()
        self.stall.wait(30)

    def archives(self) -> list[str | None]:
        """The Range of every request for the archive."""
        return [wanted for name, wanted in self.asked if name.endswith(".zip")]


def zipped(folder, top="ml-latest-small/", extra=()):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"{top}{path.name}")
        for name, content in extra:
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_release(tmp_path_factory.mktemp("source"), users=8, movies=350)


@pytest.fixture
def server(source):
    made = Server(zipped(source))
    yield made
    made.stall.set()
    made.server.shutdown()
    made.server.server_close()


def left(cache):
    """Everything in the cache but locks."""
    folder = cache / "movielens"
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock")) if folder.exists() else []


def test_a_release_is_fetched_once_and_can_be_read(server, source, own_cache):
    folder = fetch("ml-latest-small", base_url=server.url)
    assert folder == own_cache / "movielens" / "ml-latest-small"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in source.iterdir()
    }
    assert left(own_cache) == ["ml-latest-small"]
    assert len(read(folder).ratings) == len(plain(source)[0])
    asked = len(server.asked)
    assert fetch("ml-latest-small", base_url=server.url) == folder
    assert fetch("ml-latest-small", base_url="http://127.0.0.1:1/") == folder  # nobody is asked
    assert len(server.asked) == asked


@pytest.mark.parametrize("spelling", ["{}  ml-latest-small.zip\n", "MD5 (ml-latest-small.zip) = {}", "{}"])
def test_spellings_of_the_published_sum(server, spelling, own_cache):
    server.sum = spelling.format(hashlib.md5(server.content).hexdigest().upper())
    assert fetch("ml-latest-small", base_url=server.url).is_dir()


def test_an_archive_without_a_folder_inside(source, own_cache):
    made = Server(zipped(source, top=""))
    assert (fetch("ml-latest-small", base_url=made.url) / "ratings.csv").is_file()
    made.server.shutdown()
    made.server.server_close()


def test_connections_that_break_off_are_continued(server, own_cache):
    server.cuts = [1000, 500, 2000]
    fetch("ml-latest-small", base_url=server.url)
    assert server.archives() == [None, "bytes=1000-", "bytes=1500-", "bytes=3500-"]
    assert left(own_cache) == ["ml-latest-small"]


def test_a_server_that_keeps_breaking_off_leaves_a_beginning_that_the_next_call_continues(server, own_cache):
    server.cuts = [1000, 0, 0, 0]
    with pytest.raises(DownloadFailed, match="was lost after 1000 bytes; they are kept"):
        fetch("ml-latest-small", base_url=server.url)
    assert left(own_cache) == ["ml-latest-small.zip.part"]
    fetch("ml-latest-small", base_url=server.url)
    assert server.archives()[-1] == "bytes=1000-"
    assert left(own_cache) == ["ml-latest-small"]


def test_a_server_without_ranges_starts_from_the_beginning(server, own_cache):
    server.cuts, server.ranges = [1000], False
    assert (fetch("ml-latest-small", base_url=server.url) / "movies.csv").is_file()


def test_a_body_cut_without_a_length_is_found_by_the_sum(server, own_cache):
    server.cuts, server.lengths = [1000], False
    with pytest.raises(DownloadFailed, match="expected MD5"):
        fetch("ml-latest-small", base_url=server.url)
    assert left(own_cache) == []
    assert fetch("ml-latest-small", base_url=server.url).is_dir()


@pytest.mark.parametrize("beginning", [b"of another archive", b"x" * 10**6, b""])
def test_a_wrong_beginning_is_fetched_anew(server, own_cache, beginning):
    (own_cache / "movielens").mkdir(parents=True)
    (own_cache / "movielens" / "ml-latest-small.zip.part").write_bytes(beginning)
    assert (fetch("ml-latest-small", base_url=server.url) / "movies.csv").is_file()
    assert server.archives()[-1] is None


def test_a_complete_archive_that_was_not_unpacked_is_not_fetched_again(server, own_cache):
    (own_cache / "movielens").mkdir(parents=True)
    (own_cache / "movielens" / "ml-latest-small.zip.part").write_bytes(server.content)
    fetch("ml-latest-small", base_url=server.url)
    assert server.archives() == []


def test_a_corrupted_archive_is_refused_and_not_kept(server, own_cache):
    content = bytearray(server.content)
    content[len(content) // 2] ^= 1
    server.content = bytes(content)
    with pytest.raises(DownloadFailed, match=r"ml-latest-small\.zip: expected MD5 .* nothing was kept"):
        fetch("ml-latest-small", base_url=server.url)
    assert left(own_cache) == []


@pytest.mark.parametrize("text", ["<html>moved</html>", "", "0" * 31, "0" * 33, f"{'0' * 32} {'1' * 32}"])
def test_a_published_sum_that_is_none_is_refused(server, own_cache, text):
    server.sum = text
    with pytest.raises(DownloadFailed, match=r"zip\.md5: expected one MD5 sum"):
        fetch("ml-latest-small", base_url=server.url)
    assert left(own_cache) == []


def test_missing_files_and_servers_are_named(server, own_cache):
    server.sum = None
    with pytest.raises(DownloadFailed, match=r"ml-latest-small\.zip\.md5: the server answered 404"):
        fetch("ml-latest-small", base_url=server.url)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, but nobody listens
        with pytest.raises(DownloadFailed, match=r"no connection \(.*refused"):
            fetch("ml-latest-small", base_url=f"http://127.0.0.1:{closed.getsockname()[1]}/")
    assert left(own_cache) == []


def test_a_silent_server_is_given_up(server, own_cache, monkeypatch):
    monkeypatch.setattr(download, "_SILENCE", 0.1)
    server.cuts = [1000, 0, 0, 0]
    server.stall.clear()
    with pytest.raises(DownloadFailed, match="was lost after 1000 bytes"):
        fetch("ml-latest-small", base_url=server.url)


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/evil.txt", "ml-latest-small/../../evil.txt", "..\\evil.txt", "C:evil"]
)
def test_an_archive_that_would_write_elsewhere_is_refused(source, own_cache, tmp_path, name):
    made = Server(zipped(source, extra=[(name, "evil")]))
    with pytest.raises(DownloadFailed, match="would be written outside"):
        fetch("ml-latest-small", base_url=made.url)
    assert left(own_cache) == []
    assert not list(tmp_path.rglob("*evil*"))
    made.server.shutdown()
    made.server.server_close()


def _link():
    link = zipfile.ZipInfo("ml-latest-small/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return link


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lambda source: zipped(source, extra=[(_link(), "/etc/passwd")]), "outside"),
        (lambda source: zipped(source.parent / "nothing"), "expected a MovieLens release"),
        (lambda source: b"not a zip file at all", "cannot be unpacked"),
        (lambda source: zipped(source)[:-30], "cannot be unpacked"),
        (lambda source: zipped(source).replace(b"PK\x01\x02", b"PK\x01\x03"), "cannot be unpacked"),
    ],
)
def test_an_archive_that_is_no_release_is_refused(source, own_cache, content, said):
    (source.parent / "nothing").mkdir(exist_ok=True)
    made = Server(content(source))
    with pytest.raises(DownloadFailed, match=said):
        fetch("ml-latest-small", base_url=made.url)
    assert left(own_cache) == []
    made.server.shutdown()
    made.server.server_close()


def test_a_killed_download_is_continued(server, own_cache):
    server.cuts = [5000]
    server.stall.clear()
    code = "import sys; from superarm.datasets.download import fetch; fetch('ml-latest-small', base_url=sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", code, server.url]) as process:
        part = own_cache / "movielens" / "ml-latest-small.zip.part"
        for _ in range(600):
            if part.exists() and part.stat().st_size == 5000:
                break
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGKILL)
    server.stall.set()
    assert part.stat().st_size == 5000
    assert not (own_cache / "movielens" / "ml-latest-small").exists()
    assert (fetch("ml-latest-small", base_url=server.url) / "ratings.csv").is_file()
    assert server.archives() == [None, "bytes=5000-"]
    assert left(own_cache) == ["ml-latest-small"]


def test_an_interruption_while_unpacking_leaves_nothing(server, own_cache, monkeypatch):
    real = download._extract

    def interrupted(content, member, folder):
        real(content, member, folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "_extract", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("ml-latest-small", base_url=server.url)
    assert left(own_cache) == ["ml-latest-small.zip.part"]
    # As kill -9 would leave it:
    (own_cache / "movielens" / ".ml-latest-small.unpacking.0123").mkdir()
    monkeypatch.setattr(download, "_extract", real)
    assert fetch("ml-latest-small", base_url=server.url).is_dir()
    assert left(own_cache) == ["ml-latest-small"]
    assert len(server.archives()) == 1


def test_two_at_once_fetch_once(server, own_cache):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch("ml-latest-small", base_url=server.url))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 4
    assert len(server.archives()) == 1


def test_wrong_arguments_are_named(own_cache):
    with pytest.raises(InvalidArgument, match="release: expected one of ml-latest-small, ml-32m"):
        fetch("../ml-25m")
    with pytest.raises(InvalidArgument, match="base_url"):
        fetch("ml-25m", base_url="file:///etc/")
    assert left(own_cache) == []


def test_the_command_says_where_the_data_are_and_what_the_filter_leaves(server, source, monkeypatch):
    monkeypatch.setattr(movielens, "fetch", lambda release, **rest: fetch(release, base_url=server.url, **rest))
    console = Console(file=io.StringIO(), width=100)
    movielens.report_fetch("ml-latest-small", console)
    ratings = plain(source)[0]
    said = console.file.getvalue()
    assert f"{len(ratings):,} ratings of" in said
    assert "movielens/ml-latest-small" in said.replace(os.sep, "/")
    assert "Harper" in said
