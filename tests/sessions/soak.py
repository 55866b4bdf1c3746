"""Two hundred kills of one client, and of three on one file: python -m tests.sessions.soak [--kills N].

The last line is the summary; a fault is an error.
"""

import argparse
import tempfile
from pathlib import Path

from tests.sessions.test_kills import killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    made = {}
    for clients in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            made[clients] = killed(Path(folder), given.kills, clients, seed=100 + clients)
    print(
        f"{given.kills} kills of one client ({made[1]} decisions) and {given.kills} of three on one file "
        f"({made[3]} decisions): nothing lost, nothing doubled, every bit replayed"
    )


if __name__ == "__main__":
    main()
