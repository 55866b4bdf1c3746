"""One small learner for each of many keys, on features that all of them share."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from superarm.arguments import Array, real_array, whole_number, with_masks
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import AtMost, Exactly
from superarm.groups import label_array
from superarm.learners.batch import TWICE, Batch
from superarm.learners.folder import Folder, LearnersFile
from superarm.learners.keepers import Keepers
from superarm.learners.partition import Whole
from superarm.learners.promised import promise_rows, sizes
from superarm.learners.shared import SharedModel
from superarm.rewards.group_reward import Constraint
from superarm.round import LARGEST
from superarm.storage.hashes import STEP, label_hashes, mixed
from superarm.storage.labels import canonical
from superarm.words import counted
from superarm.workers.workers import Workers

MOST_PARTITIONS = 4096


class Learners:
    """Many small independent learners; one call decides, or learns, for a batch of keys.

    A key is for instance a user or a shop; it runs its own TCGP-UCB and learns only from its own outcomes. Both
    outcomes of an arm are linear in its d features, with weights of prior covariance ``scale``^2 I; see
    ``docs/learners.md`` for what differs from :class:`~superarm.GaussianProcess`. A decision for a key is the same, to
    the last bit, alone and in any batch. Threads may share learners; their calls are done one after the other.

    Parameters
    ----------
    features
        (A, d) features of every arm that can be picked; arms are numbers of its rows
    groups
        (A,) label of each arm's group; None: one group
    noise_std
        standard deviation of the noise of an outcome, in units of its scale
    scale
        prior standard deviation of the weights and unit of the noise, one for both outcomes or one for each
    mean
        (d, 2) prior mean of the weights, for instance an estimate from all keys; by default 0
    zeta, delta, max_arms, beta_scale, seed
        as for :class:`~superarm.TCGPUCB`; t of a key is the number of its updates plus 1; without ``max_arms``, M is
        the number of its arms

    >>> import numpy as np, superarm as sa
    >>> learners = sa.Learners(np.eye(3), noise_std=0.1)
    >>> batch = learners.select(["ann", "bob"], [[0, 1, 2], [1, 2, -1]], feasible=sa.AtMost(2))
    >>> batch
    Batch(2 keys: 2 OPTIMAL)
    >>> learners.update(batch, np.full((2, 2, 2), 0.5))
    >>> learners
    Learners(3 arms, 3 features, 1 group; 2 keys, 1 batch learnt)
    """

    def __init__(
        self,
        features: Any,
        groups: Any = None,
        *,
        noise_std: float,
        scale: Any = 1.0,
        mean: Any = None,
        zeta: float = 0.5,
        delta: float = 0.05,
        max_arms: int | None = None,
        beta_scale: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.model = SharedModel.of(
            features, groups, noise_std=noise_std, scale=scale, mean=mean, zeta=zeta, delta=delta, max_arms=max_arms,
            beta_scale=beta_scale, seed=seed,
        )  # fmt: skip
        self._keepers = Keepers.in_memory(self.model)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        features: Any = None,
        groups: Any = None,
        *,
        partitions: int = 1,
        workers: int | str | Workers = "here",
        **rest: Any,
    ) -> Learners:
        """Open the learners in a folder, or create new ones there.

        Every update is on disk before anything is learnt from it, and before the call returns. So if the process dies,
        the next one to open the folder has every batch whose update returned, with the same bits.

        Parameters
        ----------
        folder
            the folder; only one process can have it open
        features, groups, rest
            as for :class:`Learners`; you may leave them out if the folder has learners; otherwise they must agree
        partitions
            number of parts of new learners, each with its own log; the hash of a key decides its part
        workers
            where the parts live, as for :func:`superarm.connect`: in this process, in processes, or in Ray actors. All
            of them must see the folder. A killed worker starts again from its logs; no result depends on the workers
        """
        number = whole_number("partitions", partitions, 1, MOST_PARTITIONS)
        settings = None
        if features is not None:
            settings = LearnersFile(model=cls(features, groups, **rest).model, partitions=number)
        elif groups is not None or rest:
            raise InvalidArgument("features", "features, because other settings are given", "none")
        held = Folder.open(folder, settings)
        learners = cls.__new__(cls)
        learners.model, learners._keepers = held.settings.model, Keepers.in_folder(held, workers)
        return learners

    def __len__(self) -> int:
        with self._keepers.lock:
            return self._keepers.keys()

    def __repr__(self) -> str:
        arms, d = self.model.features.shape
        keys = "closed" if self._keepers.closed else counted(len(self), "key")
        return (
            f"Learners({counted(arms, 'arm')}, {counted(d, 'feature')}, {counted(len(self.model.labels), 'group')}; "
            f"{keys}, {self.batches} batch{'' if self.batches == 1 else 'es'} learnt)"
        )

    @property
    def batches(self) -> int:
        """How many batches of outcomes were learnt: the number of the last one."""
        return self._keepers.batches

    def select(
        self,
        keys: Any,
        arms: Any,
        *,
        feasible: AtMost | Exactly,
        constraint: Constraint | Mapping[Hashable, Constraint] | None = None,
    ) -> Batch:
        """Pick a super arm for every key, from its own arms; changes nothing.

        Parameters
        ----------
        keys
            J labels; an unknown key has learnt nothing
        arms
            (J, n) the arms that each key may be given, -1 where it has fewer; in any order
        feasible
            :class:`~superarm.AtMost` or :class:`~superarm.Exactly`, for each key separately
        constraint
            the promise to every group, on Sum, Mean or Count; or a mapping by label; or None
        """
        names = _keys(keys)
        offered = self._arms(arms, len(names))
        groups = self.model.grouping
        promise = promise_rows(constraint, groups, self.model.zeta)
        fewest, most, caps = sizes(feasible, groups, offered.shape[1])
        hashes = label_hashes(names)
        lots = mixed(hashes ^ mixed(STEP * np.array([self.model.seed + 1], dtype=np.uint64)))
        picked, values = np.full((len(names), most), -1, dtype=np.int64), np.zeros(len(names))
        codes = np.zeros(len(names), dtype=np.int64)
        split = self._keepers.split(names, hashes)
        with self._keepers.lock:
            decided = self._keepers.select(split, lots, offered, promise, caps, (fewest, most))
        for part, found in decided.items():
            rows = split[part][0]
            picked[rows], values[rows], codes[rows] = found
        if (codes == TWICE).any():
            raise InvalidArgument("arms", "every arm at most once for a key", f"twice in row {codes.argmax()}")
        for array in (picked, values, codes):
            array.setflags(write=False)
        return Batch(keys=tuple(names), arms=picked, values=values, codes=codes)

    def predict(self, keys: Any, arms: Any) -> tuple[Array, Array]:
        """Means and standard deviations, (J, n, 2), of each key's belief about arms (J, n); NaN where an arm is -1."""
        names = _keys(keys)
        asked = self._arms(arms, len(names))
        mean, std = np.empty((*asked.shape, 2)), np.empty((*asked.shape, 2))
        split = self._keepers.split(names, label_hashes(names))
        with self._keepers.lock:
            believed = self._keepers.predict(split, asked)
        for part, found in believed.items():
            mean[split[part][0]], std[split[part][0]] = found
        return mean, std

    def update(self, batch: Batch, outcomes: Any, *, number: int | None = None) -> None:
        """Learn the outcomes of a batch: all of them, or none if there is an error.

        A key that occurs twice learns its rows one after the other.

        Parameters
        ----------
        batch
            what :meth:`select` returned
        outcomes
            (J, K, 2) both outcomes of every picked arm; both NaN if missing; ignored where the arm is -1
        number
            number of the batch, :attr:`batches` plus 1. If you do not know whether a call succeeded, repeat it with its
            number: a batch is learnt only once
        """
        if not isinstance(batch, Batch):
            raise InvalidArgument("batch", "what Learners.select returned", safe_repr(batch))
        arms = self._arms(batch.arms, len(batch))
        values = _outcomes(outcomes, arms)
        keys = list(batch.keys)
        split = self._keepers.split(keys, label_hashes(keys))
        with self._keepers.lock:
            if number is not None and whole_number("number", number, 1) <= self.batches:
                return
            if number is not None and number > self.batches + 1:
                raise InvalidArgument("number", f"the next, {self.batches + 1}, or one before it", number)
            self._keepers.teach(split, arms, values)

    def snapshot(self) -> None:
        """Save what was learnt so far, so that the next start replays only what comes after."""
        with self._keepers.lock:
            self._keepers.snapshot()

    def digest(self) -> str:
        """64 hexadecimal digits that identify everything learnt, to the last bit."""
        said = hashlib.blake2b(self.model.digest().encode("ascii"), digest_size=32)
        with self._keepers.lock:
            parts = self._keepers.digests()
        for part in parts:
            said.update(part)
        return said.hexdigest()

    def close(self) -> None:
        """Close the folder, so that other processes can open it; these learners can no longer learn."""
        with self._keepers.lock:
            self._keepers.close()

    def __enter__(self) -> Learners:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _arms(self, arms: Any, keys: int) -> Whole:
        expected = f"arm numbers of shape ({keys}, n), -1 where a key has fewer"
        try:
            array = with_masks(arms)
        except ValueError:
            raise InvalidArgument("arms", expected, safe_repr(arms)[:100]) from None
        if np.ma.is_masked(array):
            raise InvalidArgument("arms", expected, "a masked number")
        array = np.asarray(array)
        if array.size == 0 and array.ndim == 1 and keys == 0:
            array = np.empty((0, 0), dtype=np.int64)
        if array.ndim != 2 or len(array) != keys or (array.size and array.dtype.kind not in "iu"):
            raise InvalidArgument("arms", expected, f"dtype {array.dtype}, shape {array.shape}")
        most = len(self.model.features) - 1
        if array.size and (array.min() < -1 or array.max() > most):
            raise InvalidArgument(
                "arms", f"-1 or arm numbers from 0 to {most}", array[(array < -1) | (array > most)][0]
            )
        return np.ascontiguousarray(array, dtype=np.int64)


def _keys(keys: Any) -> list[Hashable]:
    """Labels in the form in which they are kept."""
    if isinstance(keys, (str, bytes, set, frozenset)):  # a set has another order in every process
        raise InvalidArgument("keys", "one key for each row of arms, in their order", safe_repr(keys))
    array = label_array(keys, "keys")
    listed: list[Hashable] = array.tolist()
    if array.dtype.kind in "iu" or all(type(key) is str for key in listed):
        return listed
    return [canonical(key, "keys") for key in listed]


def _outcomes(outcomes: Any, arms: Whole) -> Array:
    """(J, K, 2) checked outcomes, NaN where there is no arm."""
    values = real_array(outcomes, "outcomes", "numbers")
    if values.shape != (*arms.shape, 2):
        expected = f"shape {(*arms.shape, 2)}, both outcomes of every picked arm"
        raise InvalidArgument("outcomes", expected, f"shape {values.shape}")
    values[arms < 0] = np.nan
    missing = np.isnan(values)
    too_large = ~(missing | (np.abs(values) <= LARGEST))
    if too_large.any():
        expected = f"numbers from {-LARGEST} to {LARGEST}, or NaN where both are missing"
        raise InvalidArgument("outcomes", expected, values[too_large][0])
    if (missing[..., 0] != missing[..., 1]).any():
        raise InvalidArgument("outcomes", "both outcomes of an arm, or NaN for both", "only one of the two")
    return values
