"""The three studies of the paper, every constant in sight (sections 5.1, 5.2 and the appendix), and two more."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.datasets.movielens import MovieLens
from superarm.environments import random_problem
from superarm.environments.environment import Environment
from superarm.environments.federated import Federated
from superarm.environments.gp_sample import GPSample
from superarm.environments.movies import Movies
from superarm.environments.random_problem import RandomProblem
from superarm.experiments.experiment import BENCHMARK, DataKind, Experiment, Maker, Setting, named
from superarm.kernels.kernel import Kernel
from superarm.kernels.stationary import Matern52, SquaredExponential
from superarm.policies.baselines.acc_ucb import ACCUCB
from superarm.policies.baselines.cc_mab import CCMAB
from superarm.policies.baselines.cucb import CUCB
from superarm.policies.baselines.gp_ucb import CGPUCB, OCLOKUCB
from superarm.policies.baselines.reference import Clairvoyant, Uniform
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.tcgp_ts import TCGPTS
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.engines.inducing import RandomSubset
from superarm.posteriors.gaussian_process import GaussianProcess, SparsePosterior
from superarm.posteriors.posterior import Posterior


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study in words and size: a line, what happens in it, T, and how many runs."""

    title: str
    explanation: str
    rounds: int
    runs: int
    paper_says_runs: bool = True


STUDIES = {
    "federated": Study(
        title="Privacy-aware federated learning: requests to clients under limits on leakage (paper, section 5.1)",
        explanation="Each round a server asks clients to train on parts of their data, to learn as much as possible "
        "while what leaks from each client stays below the limit that this client set.",
        rounds=100,
        runs=8,
    ),
    "movies": Study(
        title="Caching-aware movie recommendation: movie-user pairs under floors for locations (paper, section 5.2)",
        explanation="Each round twenty pairs of a movie and a user are picked and cached, to match the users' "
        "interests as well as possible while every location that is served gets at least what it was promised.",
        rounds=200,
        runs=20,
    ),
    "tradeoff": Study(
        title="The trade-off parameter zeta: whole groups under a floor on their variance (paper, appendix)",
        explanation="The parameter ζ of TCGP-UCB moves exploration between super arms and groups; here the same rounds "
        "are played with several values of it, to see what each costs in super-arm and in group regret.",
        rounds=100,
        runs=8,
        paper_says_runs=False,
    ),
    "problems": Study(
        title="Random problems: one for each run, with every group reward in both senses",
        explanation="Every run is another problem from one random generator, with its own kernel, promise, size and "
        "noise; the policies know kernel and noise, and nothing was tuned on these problems.",
        rounds=100,
        runs=50,
    ),
    "wrong": Study(
        title="Worlds whose prior is wrong: one kind after the other, with three promises",
        explanation="Every run is a world in which something is not as the policies were told: hyperparameters, scale, "
        "smoothness, noise, groups that differ, outcomes that come late or never. The report compares the promises "
        "they kept with the probabilities they stated.",
        rounds=60,
        runs=75,
    ),
    "shops": Study(
        title="Twelve shops that differ: coupons to show under floors on their margins",
        explanation="Each day forty of three hundred coupons are shown, for as many clicks as possible, while the mean "
        "margin of every shop that takes part stays above its floor; shops differ in ways that no feature shows.",
        rounds=40,
        runs=10,
    ),
    "real": Study(
        title="Real data: sets that nothing was tuned on, with a practitioner's script beside the policy",
        explanation="Each run is a real table, whose items are picked for as much reward as possible while the mean of "
        "every group that is picked from keeps its promise. The cautious policy is told nothing, and a script of a "
        "page shows what one would write instead.",
        rounds=60,
        runs=24,
    ),
    "leakage": Study(
        title="Measured leakage: federated learning on digits, where every client limits what its updates leak",
        explanation="Each round a server asks some of twelve clients to train the model on part of their records; each "
        "client measures how much this tells an attacker about the records, and sets the largest leakage that it "
        "accepts. The study promises that limits hold, not that models are better.",
        rounds=30,
        runs=20,
    ),
}

DELTA = 0.05
ZETA = 0.5
NOISE_STD = 0.05  # federated and movies
ZETAS = tuple(np.linspace(0.001, 0.999, 5).round(4).tolist())  # trade-off
V1, V2, RHO = 1.0, 1.0, 0.5  # ACC-UCB on contexts of one dimension

FEDERATED_KERNEL = SquaredExponential(lengthscale=1.0, variance=1.0)
MOVIES_KERNEL = Matern52(lengthscale=1.0, variance=1.0)

BENCHMARKS: dict[str, Maker] = {BENCHMARK: lambda s: Clairvoyant(s.environment)}


def learners(prior: Callable[[Setting], Posterior]) -> dict[str, Maker]:
    """The policies with a posterior that keep promises, by name, for any study.

    Parameters of a maker after the first are settings that can be named: "tcgp-ucb zeta=0.25".
    """
    return {
        "tcgp-ucb": lambda s, zeta=ZETA, delta=DELTA, beta_scale=1.0: TCGPUCB(
            prior(s), zeta=zeta, delta=delta, beta_scale=beta_scale, seed=s.seed, learn=False
        ),
        "tcgp-ucb-batch": lambda s, zeta=ZETA, delta=DELTA, beta_scale=1.0: TCGPUCB(
            prior(s), zeta=zeta, delta=delta, beta_scale=beta_scale, batch_aware=True, seed=s.seed, learn=False
        ),
        "tcgp-ts": lambda s: TCGPTS(prior(s), seed=s.seed, learn=False),
        "cautious": lambda s, confidence=0.99, reward_width=2.0, must_teach=0.03: CautiousTCGPUCB(
            prior(s), confidence=confidence, reward_width=reward_width, must_teach=must_teach, seed=s.seed
        ),
        "cautious-fixed": lambda s, confidence=0.99, reward_width=2.0, must_teach=0.03: CautiousTCGPUCB(
            prior(s),
            confidence=confidence,
            reward_width=reward_width,
            must_teach=must_teach,
            seed=s.seed,
            learn=False,
            opening=0.0,
        ),
    }


def self_taught(prior: Callable[[Setting], Posterior]) -> dict[str, Maker]:
    """TCGP-UCB with hyperparameters that it learns as it goes, which the cautious policy does by default."""
    return {
        "tcgp-ucb-learned": lambda s, zeta=ZETA, delta=DELTA: TCGPUCB(
            prior(s), zeta=zeta, delta=delta, seed=s.seed, learn=True
        ),
    }


def _systems(kernel: Kernel, inducing: int) -> dict[str, Maker]:
    """The systems of the paper's comparison and more, on contexts of one dimension."""
    exact = GaussianProcess(kernel, NOISE_STD)  # or certified to be within 1e-6 of it

    def sparse(setting: Setting, points: int) -> SparsePosterior:
        return SparsePosterior(kernel, NOISE_STD, inducing=RandomSubset(points, seed=setting.seed))

    return {
        **learners(lambda s: exact),
        **self_taught(lambda s: exact),
        "stcgp-ucb": lambda s, zeta=ZETA, delta=DELTA, inducing=inducing: TCGPUCB(
            sparse(s, inducing), zeta=zeta, delta=delta, seed=s.seed, learn=False
        ),
        "oclok-ucb": lambda s, delta=DELTA: OCLOKUCB(exact, delta=delta, seed=s.seed, learn=False),
        "acc-ucb": lambda s, v1=V1, v2=V2, rho=RHO: ACCUCB(horizon=s.rounds, v1=v1, v2=v2, rho=rho, seed=s.seed),
        "cc-mab": lambda s: CCMAB(horizon=s.rounds, seed=s.seed),
        "cucb": lambda s: CUCB(seed=s.seed),
        "uniform": lambda s: Uniform(seed=s.seed),
        **BENCHMARKS,
    }


def federated() -> Experiment:
    """Privacy-aware federated learning (section 5.1): T = 100, 8 runs."""
    environment = Federated()
    kernel = FEDERATED_KERNEL
    one_arm: dict[str, Maker] = {
        "cgp-ucb": lambda s, delta=DELTA: CGPUCB(
            GaussianProcess(kernel, NOISE_STD), delta=delta, seed=s.seed, learn=False
        )
    }
    return Experiment(
        **known("federated"),
        environment=lambda seed: environment,
        policies={**one_arm, **_systems(kernel, inducing=10)},
        zeta=ZETA,
        settings={
            "clients": f"Poisson({environment.clients:g})",
            "requests per client": environment.requests,
            "most requests per client": f"Poisson({environment.most_requests:g})",
            "promise": "total leakage of a client <= U[0, 1]",
            "noise": environment.noise_std,
            "kernel": repr(kernel),
            "inducing points of stcgp-ucb": 10,
            **_common(),
        },
    )


def movies(data: MovieLens, label: str, kind: DataKind) -> Experiment:
    """Caching-aware movie recommendation (section 5.2): T = 200, 20 runs."""
    environment = Movies(data)
    kernel = MOVIES_KERNEL
    return Experiment(
        **known("movies"),
        environment=lambda seed: environment,
        policies=_systems(kernel, inducing=5),
        zeta=ZETA,
        settings={
            "ratings": f"{len(data.ratings)} by {data.ratings['user'].n_unique()} users, {_digest(data)}",
            "movies": f"Poisson({environment.movies:g})",
            "users": f"Poisson({environment.users:g})",
            "locations": environment.locations,
            "size": f"exactly {environment.k}",
            "promise": "Dixit-Stiglitz reward of a location >= U[0.5, 4] (the interval is the authors' constant)",
            "noise": environment.noise_std,
            "kernel": repr(kernel),
            "inducing points of stcgp-ucb": 5,
            **_common(),
        },
        data=label,
        data_kind=kind,
    )


def tradeoff() -> Experiment:
    """The trade-off parameter zeta (appendix): T = 100, five values."""
    one = GPSample()

    def environment(seed: int) -> Environment:
        return GPSample(seed=seed)

    prior = GaussianProcess(one.kernel, one.noise_std)
    systems = {**learners(lambda s: prior), **self_taught(lambda s: prior), **BENCHMARKS}
    zetas = [f"tcgp-ucb zeta={zeta:g}" for zeta in ZETAS]
    others = [name for name in systems if name != "tcgp-ucb"]
    return Experiment(
        **known("tradeoff"),
        environment=environment,
        policies=dict(named(name, systems) for name in (*zetas, *others)),
        systems=systems,
        zeta=ZETA,
        settings={
            "groups": f"Poisson({one.groups:g}) of Poisson({one.arms:g}) arms",
            "pool": one.pool,
            "promise": f"variance of a group >= the {one.percentile:g}th percentile of all groups",
            "size": f"at most {one.most_groups} whole groups (the authors' constant)",
            "noise": one.noise_std,
            "kernel": repr(one.kernel),
            "posterior": "exact, or certified to be within 1e-6 of it",
            "zeta": list(ZETAS),
            "delta": DELTA,
        },
    )


def known(name: str) -> dict[str, Any]:
    """The title and size of an experiment, from the table of studies."""
    study = STUDIES[name]
    return {"name": name, "title": study.title, "rounds": study.rounds, "runs": study.runs}


def _digest(data: MovieLens) -> str:
    """A short digest of the ratings: other data make another configuration."""
    columns = [data.ratings[name].to_numpy() for name in ("user", "movie", "rating")]
    return hashlib.sha256(b"".join(np.ascontiguousarray(column).tobytes() for column in columns)).hexdigest()[:12]


def _common() -> dict[str, object]:
    return {"zeta": ZETA, "delta": DELTA, "acc-ucb": {"v1": V1, "v2": V2, "rho": RHO, "children": 2, "root": 0.5}}


def problems() -> Experiment:
    """50 random problems, T = 100; a run's problem is drawn by the run's own seed, so no two studies share one.

    Settings are tried out by hand on ``RandomProblem(0)`` to ``RandomProblem(99)``, which no run draws: its seeds are
    numbers of 63 random bits.
    """
    systems = {**learners(_known_prior), **BENCHMARKS}
    return Experiment(
        **known("problems"),
        environment=RandomProblem,
        policies=systems,
        systems=systems,
        zeta=ZETA,
        settings={
            "generator": "superarm.environments.RandomProblem, drawn by the seed of the run",
            "contexts": f"a pool of {random_problem.POOL}",
            "thresholds": f"quantiles {random_problem.QUANTILES[0]} to {random_problem.QUANTILES[1]} of random subsets",
            "posterior": "exact; the learner knows kernel and noise",
            "zeta": ZETA,
            "delta": DELTA,
        },
        describe=lambda problem: problem.description,
    )


def _known_prior(setting: Setting) -> GaussianProcess:
    problem = setting.environment
    assert isinstance(problem, RandomProblem)
    return GaussianProcess(problem.kernel, problem.noise_std)


# What each policy does, in the words of superarm.report.story.
DEMONSTRATION = {
    "cautious": "certifies before it plays",
    "tcgp-ucb": "is optimistic",
    "tcgp-ts": "samples from its belief",
    "oclok-ucb": "ignores groups",
    "uniform": "picks at random",
}


def demo() -> Experiment:
    """The federated study with five policies and the benchmark: T = 40, 4 runs."""
    return federated().with_changes(rounds=40, runs=4, policies=tuple(DEMONSTRATION))
