"""Structured logs: one line of JSON for every request and everything else that is said; never a secret."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, TextIO

import msgspec

ACCESS = "superarm.access"


class Lines(logging.Formatter):
    """A record as a line of JSON: time, level, logger, message, and what was given as ``said``."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, "said", {}))
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode("utf-8", "replace")


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Let superarm and its server write lines to a stream, by default the standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    for name in ("superarm", "uvicorn", "litestar"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True  # the service writes its own
    # What no line says need not be found out for every line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None  # as the documentation of logging advises
