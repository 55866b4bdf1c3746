"""Twelve shops that differ: which coupons to show, for many clicks, while every shop that takes part keeps a margin."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from superarm.arguments import Array, IntArray, flag, generator, one_of, whole_number
from superarm.environments.environment import contexts_of
from superarm.errors import InvalidArgument, safe_repr
from superarm.feasible import AtMost
from superarm.kernels.stationary import SquaredExponential
from superarm.posteriors.gaussian_process import GaussianProcess
from superarm.rewards.simple import Mean
from superarm.round import Round

SHOPS = 12
FEATURES = 3  # discount, relevance, price
NOISE_STD = (0.1, 0.4)  # noise of the margin without a discount, and the increase with a full discount
FLOORS = (0.18, 0.42)  # range of the floors, as quantiles of the promised outcome over the coupons of a shop
PROMISED = ("margins", "clicks")

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Shops:
    """Coupons of twelve shops; a round is a day. The first outcome is a click, 0 or 1, the second the margin.

    Every day ``coupons`` coupons arrive, each of a random shop with a random discount, relevance and price, all from 0
    to 1; at most ``most`` are shown. A discount brings clicks and costs margin, and how much of both depends on the
    shop: its intercepts and its slopes are its own, drawn by ``seed``. The noise of the margin grows with the discount.
    The promise to every shop whose coupons are shown: their mean margin is at least the shop's floor.

    Parameters
    ----------
    seed
        draws the shops
    coupons
        arms of a day
    most
        coupons shown a day
    one_hot
        whether twelve columns after the features say which shop a coupon is of; otherwise only the labels do
    promised
        "margins", or "clicks". With "clicks" the margin is earned and comes first, and the floor is for the mean of the
        clicks, which are so noisy that little can be certified

    >>> import numpy as np
    >>> next(Shops(coupons=40, most=5).rounds(np.random.default_rng(0)))
    Round(t=1, 40 arms in 3 dimensions, 12 groups, 1 kind of promise, AtMost(k=5, per_group=None), Sum())
    """

    seed: int = 0
    coupons: int = 300
    most: int = 40
    one_hot: bool = False
    promised: str = "margins"

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        for argument in ("coupons", "most"):
            whole_number(argument, getattr(self, argument), 1)
        flag("one_hot", self.one_hot)
        one_of("promised", self.promised, PROMISED)

    @property
    def prior(self) -> GaussianProcess:
        """The prior that a user would give who knows only that outcomes are about 0 to 1."""
        kernel = SquaredExponential(lengthscale=1.0, variance=0.1)
        return GaussianProcess(kernel, self._in_order(0.45, 0.3), mean=0.5)

    def _in_order(self, click: T, margin: T) -> tuple[T, T]:
        """A pair for clicks and margins in the order of the outcomes: the promised one comes second."""
        return (click, margin) if self.promised == "margins" else (margin, click)

    @cached_property
    def _clicks(self) -> Array:
        """(12, 4) weights of 1 and the features in the log odds of a click, by shop."""
        shared, own = (-1.8, 3.0, 2.0, -0.6), (0.6, 0.8, 0.4, 0.4)
        return np.random.default_rng((self.seed, 0)).normal(shared, own, (SHOPS, 1 + FEATURES))

    @cached_property
    def _margins(self) -> Array:
        """(12, 4) weights of 1 and the features in the margin, by shop."""
        shared, own = (0.7, -0.8, 0.2, 0.6), (0.25, 0.25, 0.1, 0.2)
        return np.random.default_rng((self.seed, 1)).normal(shared, own, (SHOPS, 1 + FEATURES))

    @cached_property
    def floors(self) -> Array:
        """(12,) the mean that each shop was promised."""
        rng = np.random.default_rng((self.seed, 2))
        features = rng.uniform(size=(1000, FEATURES))
        levels = rng.uniform(*FLOORS, SHOPS)
        return np.array([np.quantile(self._truth(features, np.full(1000, s))[:, 1], levels[s]) for s in range(SHOPS)])

    def _truth(self, features: Array, shops: IntArray) -> Array:
        columns = np.column_stack([np.ones(len(features)), features])
        odds = (self._clicks[shops] * columns).sum(axis=1)
        margins = (self._margins[shops] * columns).sum(axis=1)
        return np.column_stack(self._in_order(1.0 / (1.0 + np.exp(-odds)), margins))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Days with new coupons each."""
        generator("rng", rng)
        for t in itertools.count(1):
            features = rng.uniform(size=(self.coupons, FEATURES))
            shops = np.sort(rng.integers(SHOPS, size=self.coupons))
            yield Round(
                t=t,
                contexts=np.hstack([features, np.eye(SHOPS)[shops]]) if self.one_hot else features,
                groups=shops,
                constraint=Mean() >= self.floors[np.unique(shops)],
                feasible=AtMost(self.most),
            )

    def expected_outcomes(self, round: Round) -> Array:
        """(M, 2) probability of a click, and expected margin."""
        contexts = contexts_of(round, FEATURES + SHOPS * self.one_hot)
        shops = np.asarray(round.groups)
        if shops.dtype.kind != "i" or (len(shops) and not (shops.min() >= 0 and shops.max() < SHOPS)):
            expected = f"a round of this environment, with labels from 0 to {SHOPS - 1}"
            raise InvalidArgument("round", expected, safe_repr(round))
        return self._truth(contexts[:, :FEATURES], shops)

    def outcomes(self, round: Round, rng: np.random.Generator) -> Array:
        """(M, 2) clicks, and margins with noise."""
        expected = self.expected_outcomes(round)
        least, more = NOISE_STD
        std = least + more * round.contexts[:, 0]
        chances, usual = self._in_order(*expected.T)
        margins = usual + std * generator("rng", rng).normal(size=len(round))
        clicks = (rng.uniform(size=len(round)) < chances).astype(float)
        return np.column_stack(self._in_order(clicks, margins))
