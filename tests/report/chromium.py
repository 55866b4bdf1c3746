"""A headless Chromium, driven through its DevTools protocol over a pipe: no port, no WebSocket, no dependency.

With ``--remote-debugging-pipe`` Chromium reads commands from file descriptor 3 and answers on 4, as JSON that ends in a
zero byte.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def executable() -> str | None:
    """Where Chromium is: ``$CHROMIUM``, or the first of the usual names on the path."""
    wanted = os.environ.get("CHROMIUM")
    return wanted or next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab, and everything it complained about."""

    def __init__(self, to_browser: int, from_browser: int, seconds: float = 60) -> None:
        self._to, self._from, self._seconds = to_browser, from_browser, seconds
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next(time.monotonic() + self._seconds)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path: Path) -> None:
        """Load a file and wait until it says that its charts are drawn."""
        self.call("Page.navigate", url=path.as_uri())
        self.until(f"location.href === {json.dumps(path.as_uri())} && document.documentElement?.dataset.drawn")

    def until(self, condition: str) -> None:
        end = time.monotonic() + self._seconds
        while not self.value(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} did not come true; complaints: {self.complaints}")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def look(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Set the window and the reader's colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended")
            self._rest += chunk
        first, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(first)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(said["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A Chromium of our own with its profile in ``folder``, ended with all its children."""
    program = executable()
    assert program is not None
    command_read, command_write = os.pipe()
    answer_read, answer_write = os.pipe()
    # The shell puts our ends where Chromium looks for them; exec leaves no shell behind.
    wiring = f'exec "$0" "$@" 3<&{command_read} 4>&{answer_write}'
    process = subprocess.Popen(
        ["bash", "-c", wiring, program, *FLAGS, f"--user-data-dir={folder}"],
        pass_fds=(command_read, answer_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(command_read)
    os.close(answer_write)
    try:
        yield Page(command_write, answer_read)
    finally:
        os.close(command_write)
        os.close(answer_read)
        try:
            process.wait(timeout=5)  # a closed pipe tells Chromium to leave
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the session that we started, and nothing else
            process.wait()
