"""The process in which a peer lives: ``python -m benchmarks.peers.worker MODULE NAME``.

It answers one message after the other. A message is a NumPy archive with its length in front, which is the same for
every version of NumPy.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
from importlib import import_module
from importlib.metadata import version
from typing import IO, Any

import numpy as np

from benchmarks.peers.peer import Problem, play

LENGTH = 8  # bytes


def send(pipe: IO[bytes], **values: Any) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **values)
    pipe.write(buffer.tell().to_bytes(LENGTH, "little"))
    pipe.write(buffer.getbuffer())
    pipe.flush()


def receive(pipe: IO[bytes]) -> dict[str, Any] | None:
    """The next message, or None when there is nobody to send one."""
    head = pipe.read(LENGTH)
    if len(head) < LENGTH:
        return None
    with np.load(io.BytesIO(pipe.read(int.from_bytes(head, "little"))), allow_pickle=False) as found:
        return {name: found[name] if found[name].ndim else found[name].item() for name in found.files}


def serve(module: str, name: str, requests: IO[bytes], answers: IO[bytes]) -> None:
    try:
        found = import_module(f"benchmarks.peers.{module}")
        packages = [f"{package} {version(package)}" for package in found.PACKAGES]
    except Exception as error:  # of anybody's library: the table says that it is missing
        send(answers, error=f"{type(error).__name__}: {error}")
        return
    send(answers, packages=", ".join(packages))
    peer = None
    while (request := receive(requests)) is not None:
        try:
            if request["command"] == "finish":
                peer = None
                gc.collect()
                send(answers)
            elif request["command"] == "start":
                problem = Problem(
                    kernel=request["kernel"],
                    lengthscale=request["lengthscale"],
                    noise_std=request["noise_std"],
                    inducing=request.get("inducing"),
                )
                peer = found.MAKERS[name](problem)
                peer.start(request["x"], request["y"])
                send(answers)
            else:
                done = play(peer, request["candidates"], request["x"], request["y"])
                send(answers, mean=done.mean, std=done.std, predict=done.predict, append=done.append)
        except Exception as error:  # of anybody's library: the table says that it failed
            traceback.print_exc()
            send(answers, error=f"{type(error).__name__}: {error}")


def main() -> None:
    # Whatever the library prints goes to the errors: the pipe is for messages alone.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.argv[2], sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
