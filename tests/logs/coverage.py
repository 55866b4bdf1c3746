"""How often intervals of off-policy estimates hold the truth: ``python -m tests.logs.coverage --logs 2000``.

The intervals of rewards must do so at 0.935 to 0.965 in every world. Those of kept promises (Wilson's, of an effective
number of trials) may do so more often, as they are wide where all is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from functools import partial

import superarm as sa
from tests.logs.worlds import MODEL, WORLDS, World

ROUNDS = 60
LEAST, MOST = 0.935, 0.965


def held(world: World, seeds: Iterable[int], rounds: int = ROUNDS) -> Counter[tuple[str, str]]:
    """How many logs there were for each estimate, how many intervals held the truth, and how many were refused."""
    counts: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        replayed = sa.replay(world.policy, world.log(rounds, seed))
        for what, estimate, truth in (
            ("inverse propensity", partial(replayed.value, method="inverse propensity"), world.reward),
            ("doubly robust", partial(replayed.value, model=MODEL), world.reward),
            ("kept promises", replayed.kept, world.kept),
        ):
            if what == "kept promises" and not world.tells_parts:
                continue
            counts[what, "logs"] += 1
            try:
                found = estimate()
            except sa.errors.NoEstimate:
                counts[what, "refused"] += 1
            else:
                counts[what, "held"] += found.low <= truth <= found.high
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first log")
    arguments = parser.parse_args()
    wrong, rewards = 0, []
    for name, world in WORLDS.items():
        counts = held(world, range(arguments.first, arguments.first + arguments.logs))
        for what in dict.fromkeys(what for what, _ in counts):
            logs, refused = counts[what, "logs"], counts[what, "refused"]
            share = counts[what, "held"] / max(logs - refused, 1)
            promises = what == "kept promises"
            fine = share >= LEAST and (share <= MOST or promises) and refused <= (0.1 if promises else 0.01) * logs
            wrong += not fine
            rewards += [] if promises else [share]
            said = "" if fine else "  OUTSIDE"
            print(
                f"{name}, {what}: {share:.4f} of {logs - refused} intervals held, {refused} refused{said}", flush=True
            )
    print(f"of the intervals of rewards {min(rewards):.4f} to {max(rewards):.4f} held the truth")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
