"""Three replicas on PostgreSQL, stopped and killed for five minutes: python -m tests.sessions.soak_replicas.

The last line is the summary; a fault is an error.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from tests.sessions.conftest import started
from tests.sessions.test_replicas import suffered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args()
    data = tempfile.mkdtemp(prefix="superarm-postgres-")
    running, url = started(data)
    try:
        with tempfile.TemporaryDirectory() as folder:
            made, stops, kills, epochs, fenced = suffered(Path(folder), url, given.seconds, seed=5)
    finally:
        running.cleanup()
        shutil.rmtree(data)
    print(
        f"three replicas, {given.seconds:.0f} s: {stops} holders stopped, {kills} killed, {epochs} takeovers, {fenced} "
        f"stale writers fenced, {made} decisions: nothing lost, nothing doubled, every bit replayed"
    )


if __name__ == "__main__":
    main()
