"""Whether a card says what the CPU says, for :mod:`benchmarks.gpu`."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import superarm as sa
from benchmarks.gpu_peers import KERNEL, NOISE, K, data
from superarm import storage


def agreement() -> dict[str, float]:
    """Largest differences between card and CPU."""
    x, y = data(0, 5000)
    c = data(1, 1000)[0]
    both = sa.Coregionalised(sa.Matern32(), [[1.0, 0.3], [0.3, 2.0]])
    several = sa.Matern12() * sa.Linear() + sa.SquaredExponential(lengthscale=[0.3, 0.4, 0.5, 0.6, 0.7])
    cases = {
        "Matern-5/2, n = 5000": (KERNEL, NOISE, 5000),
        "squared exponential, noise 0.01, n = 2000": (sa.SquaredExponential(lengthscale=0.5), 0.01, 2000),
        "sum and product, rational quadratic, n = 2000": ((several, sa.RationalQuadratic(alpha=0.7)), NOISE, 2000),
        "coregionalised, n = 2000": (both, NOISE, 1000),
    }
    found = {}
    for name, (kernel, noise, n) in cases.items():
        here, there = (sa.ExactPosterior(kernel, noise, device=device) for device in ("cpu", "cuda"))
        first = n - 10 * K
        here, there = here.condition(x[:first], y[:first]), there.condition(x[:first], y[:first])
        for start in range(first, n, K):
            here = here.condition(x[start : start + K], y[start : start + K])
            there = there.condition(x[start : start + K], y[start : start + K])
        found[f"{name}: mean"] = float(np.abs(here.predict(c).mean - there.predict(c).mean).max())
        found[f"{name}: std"] = float(np.abs(here.predict(c).std - there.predict(c).std).max())
        found[f"{name}: covariance"] = float(np.abs(here.covariance(c, c[:9]) - there.covariance(c, c[:9])).max())
        likelihoods = here.log_marginal_likelihood(), there.log_marginal_likelihood()
        found[f"{name}: log marginal likelihood, relative"] = abs(likelihoods[0] / likelihoods[1] - 1.0)
        with tempfile.TemporaryDirectory() as folder:
            storage.write(there, f"{folder}/there")
            storage.write(here, f"{folder}/here")
            again, came = storage.read(f"{folder}/there"), storage.read(f"{folder}/here").on("cuda")
        assert (again.device, came.device) == ("cuda", "cuda")
        one, other = again.condition(c[:K], y[:K]).predict(c), there.condition(c[:K], y[:K]).predict(c)
        found[f"{name}: loaded and continued on the card"] = float(np.abs(one.mean - other.mean).max())
        found[f"{name}: saved on the card, on the CPU"] = float(
            np.abs(again.on("cpu").predict(c).mean - here.predict(c).mean).max()
        )
        found[f"{name}: saved on the CPU, on the card"] = float(np.abs(came.predict(c).std - here.predict(c).std).max())
    return found


class Own:
    """A kernel that no card knows."""

    def __call__(self, x: Any, y: Any) -> Any:
        return np.exp(-np.abs(x[:, None] - y[None]).sum(axis=2))

    def diagonal(self, x: Any) -> Any:
        return np.ones(len(x))


def uses() -> dict[str, Any]:
    """What else can be done with a posterior: on the card and on the CPU."""
    x, y = data(3, 2000)
    c = data(4, 300)[0]
    found: dict[str, Any] = {}

    def pair(kernel: Any, noise: float, n: int) -> list[sa.ExactPosterior]:
        priors = (sa.ExactPosterior(kernel, noise, device=device) for device in ("cpu", "cuda"))
        return [prior.condition(x[:n], y[:n]) for prior in priors]

    here, there = pair(Own(), NOISE, 1000)
    found["own kernel, n = 1000: mean"] = float(np.abs(here.predict(c).mean - there.predict(c).mean).max())
    here, there = pair(sa.SquaredExponential(lengthscale=5.0), 1e-9, 300)
    found["nearly no noise, n = 300: jitter on the CPU"], found["the same on the card"] = here.jitter, there.jitter
    here, there = pair(KERNEL, NOISE, 2000)
    draws = here.sample(c, 3, seed=0), there.sample(c, 3, seed=0)
    found["draws at 300 contexts, n = 2000"] = float(np.abs(draws[0] - draws[1]).max())
    learning = sa.Learning(starts=2)
    here, there = here.learned(learning), there.learned(learning)
    found["learned: the same kernel, on the card"] = here.kernel == there.kernel and there.device == "cuda"
    found["learned: mean"] = float(np.abs(here.predict(c).mean - there.predict(c).mean).max())
    picked = []
    for device in ("cpu", "cuda"):
        policy, mine = sa.TCGPUCB(sa.ExactPosterior(KERNEL, NOISE, device=device), learn=False), []
        for t in range(1, 9):
            part = slice(100 * t, 100 * t + 100)
            groups, promise = np.arange(100) % 10, sa.Mean() >= -0.5
            round = sa.Round(t=t, contexts=x[part], groups=groups, constraint=promise, feasible=sa.AtMost(K))
            arms = policy.select(round).arms
            policy.update(round, arms, y[part][arms])
            mine.append(np.asarray(arms).tolist())
        picked.append(mine)
    found["a policy, 8 rounds: the same arms"] = picked[0] == picked[1]
    return found
