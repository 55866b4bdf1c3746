"""What one decision came to, so far as is known: what the counts are sums of."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from superarm import calibration
from superarm.calibration.broken_promises import LEAST_SCALE, TOLERATED_BREAKS
from superarm.calibration.verdict import bets
from superarm.rewards.reward import reward_of
from superarm.sessions.parts import KeptParts
from superarm.sessions.promised import known_outcomes
from superarm.sessions.standing import EMPTY, REDACTED, WITHDRAWN, Standing
from superarm.sessions.stores.store import Store
from superarm.sessions.stores.tables import HONESTY, KINDS
from superarm.storage import values
from superarm.wire import packing
from superarm.wire.labels import label_to_data

RECORD = "RECORD"  # the kind of what somebody else chose
NO_KIND = ""  # of a policy that states none


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise that a decision touched: to whom, whether it was kept, and how likely that was said to be."""

    group: str | int  # its label, see key_of, or the number that stands for it in tables
    kept: bool | None  # None: not known yet
    probability: float | None  # None: nobody said, or the user vouched for it


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A decision as counts know it."""

    kind: str
    state: str
    picked: int
    reward: float | None  # None: not all first outcomes are known
    is_out: bool
    promises: tuple[Promise, ...]

    @property
    def counts(self) -> bool:
        """Whether it is one that the policy made, and that was played or may be."""
        return self.kind != RECORD and self.state not in (WITHDRAWN, REDACTED)

    def numbered(self, numbers: Mapping[str | int, int]) -> Judged:
        """The same, with numbers in place of labels."""
        return replace(self, promises=tuple(replace(each, group=numbers[each.group]) for each in self.promises))

    def to_json(self) -> str:
        """The promises, once groups are numbered."""
        rows = [[each.group, each.kept, each.probability] for each in self.promises]
        return json.dumps(rows, separators=(",", ":"))

    def sums(self) -> dict[str, float]:
        """What it adds to its bin."""
        if not self.counts:
            return {"records": self.kind == RECORD, "withdrawn": self.state == WITHDRAWN}
        kind = self.kind.lower() if self.kind.lower() in KINDS else "other"
        found: Counter[str] = Counter()
        for each in self.promises:
            found.update(promise_sums(each))
        return dict(found) | {
            "decisions": 1,
            "waits": self.is_out,
            "empty": not self.picked,
            "picked": self.picked,
            "rewarded": self.reward is not None,
            "reward": self.reward or 0.0,
            kind: 1,
        }

    def by_group(self) -> dict[str | int, dict[str, float]]:
        """What it adds to the sums of each group."""
        return {each.group: promise_sums(each) for each in self.promises} if self.counts else {}

    def honesty(self) -> dict[str, float]:
        """What it adds to the sums of its kind: a decision is one unit, whose promises may break together."""
        told = [each for each in self.promises if each.kept is not None and each.probability is not None]
        if not told or not self.counts:
            return {}
        predicted = sum(1.0 - (each.probability or 0.0) for each in told)
        broken = sum(not each.kept for each in told)
        fair = TOLERATED_BREAKS * predicted
        logs = bets(np.array([broken]), np.array([fair]), np.array([max(fair, LEAST_SCALE)]))
        return dict(zip(HONESTY, (1, predicted, broken, *logs.tolist()), strict=True))


def promise_sums(promise: Promise) -> dict[str, float]:
    """What one promise adds to sums."""
    if promise.kept is None:
        return {"unknown": 1}
    found: dict[str, float] = {"kept" if promise.kept else "broken": 1}
    if promise.probability is not None:
        found |= {"stated": 1, "predicted": 1.0 - promise.probability, "observed": not promise.kept}
    return found


def judged(store: Store, standing: Standing, parts: KeptParts) -> Judged:
    """What a decision came to, by the outcomes in force that somebody told."""
    reward: float | None = None
    promises: tuple[Promise, ...] = ()
    kind = RECORD if standing.recorded else NO_KIND
    if standing.selection and not standing.redacted:
        # Read as it is kept: to make the selection would take longer than all the rest.
        selection = packing.unpack(parts.content(standing.selection, "selection"), "selection")
        kind = selection["kind"] or NO_KIND
        kept: dict[str, bool] = {}
        if standing.seen and not standing.withdrawn:
            arms = np.array(standing.arms, dtype=np.intp)
            outcomes, round = known_outcomes(store, standing), parts.round(standing.round)
            kept = {key_of(label): is_kept for label, is_kept in calibration.kept(round, arms, outcomes).items()}
            if not np.isnan(outcomes[:, 0]).any():
                reward = reward_of(round.reward, outcomes[:, 0], arms)
        promises = tuple(_promise(row, kept) for row in selection["groups"] if row["threshold"] is not None)
    return Judged(
        kind=kind,
        state=standing.state,
        picked=len(standing.arms),
        reward=0.0 if standing.state == EMPTY and kind != RECORD else _finite(reward),
        is_out=standing.is_out,
        promises=promises,
    )


def _promise(row: Mapping[str, Any], kept: Mapping[str, bool]) -> Promise:
    """A promise as a selection is kept: see :func:`superarm.wire.selections.selection_to_dict`."""
    group, probability = _key(row["label"]), row["probability"]
    stated = None if probability is None or row["vouched"] else float(values.from_data(probability))
    return Promise(group=group, kept=kept.get(group), probability=stated)


def _finite(reward: float | None) -> float | None:
    """A reward that can be added up."""
    return reward if reward is not None and abs(reward) < 1e100 else None


def judged_from_row(row: tuple[Any, ...]) -> Judged:
    """What was kept of a decision: kind, state, picked, reward, is_out, body."""
    kind, state, picked, reward, is_out, body = row
    promises = (Promise(group=number, kept=kept, probability=p) for number, kept, p in json.loads(body))
    return Judged(kind=kind, state=state, picked=picked, reward=reward, is_out=bool(is_out), promises=tuple(promises))


def key_of(label: Hashable) -> str:
    """A label as text from which it can be told from every other: text in quotation marks, and a number in none."""
    return _key(label_to_data(label))


def _key(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def words_of(key: str) -> str:
    """The label of a key, for people."""
    return str(json.loads(key)) if key.startswith('"') else key
