"""What all keys share: features and groups of the arms, the prior, and how much is explored."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from superarm.arguments import Array, IntArray, as_floats, fraction, non_negative, real_array, weight, whole_number
from superarm.errors import InvalidArgument
from superarm.groups import Groups, label_array
from superarm.storage import storable
from superarm.storage.content import digest
from superarm.storage.labels import canonical

LARGEST = 1e50  # a feature, a scale or a prior mean: products of three and their squares are numbers
MOST_FEATURES = 256


@storable(shapes={"features": "A d", "codes": "A", "mean": "d 2"})
@dataclass(frozen=True, kw_only=True, eq=False)
class SharedModel:
    """The model of every key, and what is known of the arms; see :class:`superarm.Learners` for the fields."""

    features: Array  # (A, d)
    labels: tuple[Hashable, ...]
    codes: IntArray  # (A,) positions in ``labels``
    noise_std: float
    scale: tuple[float, float]
    mean: Array  # (d, 2)
    zeta: float
    delta: float
    max_arms: int | None
    beta_scale: float
    seed: int

    def _check_fields(self) -> None:
        """A file may hold what no call would make."""
        SharedModel.of(
            self.features, [self.labels[code] for code in self.codes.tolist()], noise_std=self.noise_std,
            scale=self.scale, mean=self.mean, zeta=self.zeta, delta=self.delta, max_arms=self.max_arms,
            beta_scale=self.beta_scale, seed=self.seed,
        )  # fmt: skip

    @staticmethod
    def of(
        features: Any,
        groups: Any,
        *,
        noise_std: Any,
        scale: Any,
        mean: Any,
        zeta: Any,
        delta: Any,
        max_arms: Any,
        beta_scale: Any,
        seed: Any,
    ) -> SharedModel:
        """Checked arguments of :class:`superarm.Learners`."""
        table = real_array(features, "features", "numbers of shape (A, d)")
        if table.ndim != 2 or not len(table) or not 1 <= table.shape[1] <= MOST_FEATURES:
            expected = f"shape (A, d), one row per arm, A at least 1, with d from 1 to {MOST_FEATURES}"
            raise InvalidArgument("features", expected, f"shape {table.shape}")
        _check_size("features", table)
        arms, d = table.shape
        grouping = Groups.of(np.zeros(arms, dtype=np.intp) if groups is None else label_array(groups, "groups"))
        if len(grouping.codes) != arms:
            raise InvalidArgument("groups", f"one label per arm ({arms})", f"{len(grouping.codes)} labels")
        noise = as_floats("noise_std", noise_std, "a number")
        if noise.shape != () or not 1.0 / LARGEST <= noise <= LARGEST:
            raise InvalidArgument("noise_std", f"a number from {1.0 / LARGEST:g} to {LARGEST:g}", noise_std)
        scales = as_floats("scale", scale, "a positive number, or one for each outcome")
        if scales.shape not in ((), (2,)) or not ((scales >= 1.0 / LARGEST) & (scales <= LARGEST)).all():
            raise InvalidArgument("scale", f"a number from {1.0 / LARGEST:g} to {LARGEST:g}, or two", scale)
        first, second = np.broadcast_to(scales, 2).tolist()
        prior = np.zeros((d, 2)) if mean is None else real_array(mean, "mean", "numbers of shape (d, 2)")
        if prior.shape != (d, 2):
            raise InvalidArgument("mean", f"shape ({d}, 2), one weight per feature and outcome", f"shape {prior.shape}")
        _check_size("mean", prior)
        for array in (table, prior):
            array.setflags(write=False)
        return SharedModel(
            features=table,
            labels=tuple(canonical(label, "groups") for label in grouping.labels),
            codes=grouping.codes,
            noise_std=float(noise),
            scale=(first, second),
            mean=prior,
            zeta=weight("zeta", zeta),
            delta=fraction("delta", delta),
            max_arms=None if max_arms is None else whole_number("max_arms", max_arms, 1, 2**53),
            beta_scale=non_negative("beta_scale", beta_scale),
            seed=whole_number("seed", seed, 0, 2**63 - 1),
        )

    @cached_property
    def grouping(self) -> Groups:
        """The groups of all arms."""
        return Groups.of([self.labels[code] for code in self.codes.tolist()])

    @property
    def beta(self) -> Array:
        """What the compiled loops make beta_t of: 2 log(M pi^2 t^2 / (3 delta)) times ``beta_scale``."""
        rest = 2.0 * math.log(math.pi) - math.log(3.0 * self.delta)
        return np.array([self.beta_scale, float(self.max_arms or 0), rest])

    def digest(self) -> str:
        """Tells this model from every other."""
        facts = [
            *(list(map(repr, self.labels)), self.noise_std, self.scale, self.zeta, self.delta),
            *(self.max_arms, self.beta_scale, self.seed),
        ]
        return digest(["superarm.Learners", 1, *facts], [self.features, self.codes, self.mean])


def _check_size(argument: str, values: Array) -> None:
    wrong = ~(np.abs(values) <= LARGEST)  # NaN too
    if wrong.any():
        raise InvalidArgument(argument, f"finite numbers of at most {LARGEST:g} in size", values[wrong][0])
