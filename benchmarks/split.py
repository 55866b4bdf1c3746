"""Which worlds are for tuning and which for judging, written down before any policy was tuned on them.

A cause of broken promises should be met in judging by a world of another kind, not only by another seed. So kinds and
sets were put in pairs that share a cause (labels, amounts, days, seasons, groups on other scales, arms with a part of
their own), and one of each pair went to tuning; where the cause has no pair, it is judged. The public sets are about
half in each; those that were made for this (flights, insured people) and the grocer's are judged, but for one.

How hard worlds are was set once, with the policy of 4261edf and the script on seed 50, which no report holds: these two
should earn about as much as in the worlds that the list of kinds comes from. Whoever tunes plays the first and looks at
nothing of the second; both are reported.
"""

from __future__ import annotations

TUNING, JUDGING = "tuning", "judging"

SPLIT: dict[str, dict[str, tuple[str, ...]]] = {
    "real": {
        TUNING: ("digits", "diabetes", "decades", "visits"),
        JUDGING: ("wine", "tumours", "genres", "groceries", "baskets", "on time", "delays", "spending"),
    },
    "new": {
        TUNING: ("base", "own parts", "scales", "weekly", "30 features", "rare cost"),
        JUDGING: ("shock", "shock, seen", "adverse", "turns bad", "rising floors", "late", "rare loss"),
    },
    "old": {  # kinds that are wrong in their prior only are left out, because no policy here is given it
        TUNING: (
            *("right", "step", "hetero", "scale 100", "groups kept", "delay 1", "partial", "bernoulli", "drift slow"),
            "shops",
        ),
        JUDGING: (
            *("interactions", "one-hot", "offset 500 scale 100", "groups new", "delay 5", "groups redrawn", "poisson"),
            *("t3", "drift abrupt", "shops, one-hot"),
        ),
    },
}
ROUNDS = {"real": 60, "new": 60, "old": 60, "shops": 40, "turns bad": 120, "late": 80, "rare cost": 80}
ROUNDS |= {"30 features": 90, "shops, one-hot": 40}


def worlds(families: list[str], splits: list[str], names: list[str]) -> list[tuple[str, str, str]]:
    """Family, part of the split and name of the worlds of these families and parts, or of those named."""
    every = [(family, part, name) for family, parts in SPLIT.items() for part, mine in parts.items() for name in mine]
    unknown = {*names} - {name for *_, name in every}
    if unknown:
        raise SystemExit(
            f"unknown worlds: {', '.join(sorted(unknown))}; known: {'; '.join(name for *_, name in every)}"
        )
    return [
        (family, part, name)
        for family, part, name in every
        if family in families and part in splits and (not names or name in names)
    ]
