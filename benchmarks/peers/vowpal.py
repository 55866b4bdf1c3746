"""Vowpal Wabbit's contextual bandit, in its own process: python vowpal.py [seconds].

Prints how many decisions on 60 arms it makes in a second of CPU, and how many with one outcome learnt each. It picks
one arm, promises nothing, keeps nothing on the disk and speaks no HTTP: the floor of what a decision may cost.
"""

from __future__ import annotations

import importlib
import random
import sys
import time
from typing import Any

ARMS, FEATURES, ROUNDS = 60, 4, 64


def rounds() -> list[list[str]]:
    rng = random.Random(0)
    pool = [[round(rng.random(), 6) for _ in range(FEATURES)] for _ in range(200)]
    arms = ["|a " + " ".join(f"x{place}:{value}" for place, value in enumerate(each)) for each in pool]
    return [["shared |s one", *(rng.choice(arms) for _ in range(ARMS))] for _ in range(ROUNDS)]


def rate(bandit: Any, seconds: float, learns: bool) -> float:
    """Decisions in a second of CPU."""
    asked, made, begun = rounds(), 0, time.process_time()
    while time.process_time() - begun < seconds:
        lines = asked[made % ROUNDS]
        chances = bandit.predict("\n".join(lines))
        if learns:
            arm = max(range(ARMS), key=chances.__getitem__)
            told = [*lines[: arm + 1], f"0:-0.5:{chances[arm]} {lines[arm + 1]}", *lines[arm + 2 :]]
            bandit.learn("\n".join(told))
        made += 1
    return made / (time.process_time() - begun)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    bandit = importlib.import_module("vowpalwabbit").Workspace("--cb_explore_adf --epsilon 0.1 --quiet")
    print(f"{rate(bandit, seconds, learns=False)} {rate(bandit, seconds, learns=True)}")


if __name__ == "__main__":
    main()
