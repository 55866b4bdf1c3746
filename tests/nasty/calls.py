"""One valid call of every public callable, from which the nasty ones start: a new callable joins by a line here."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
import superarm.posteriors
import superarm.regret
from superarm import wire
from superarm.datasets import download, fashion_mnist, movielens, synthetic
from superarm.sessions.stores.memory import MemoryStore

ANY = ("none", "text", "booleans", "missing", "classes", "infinite", "complex", "numbers", "arrays", "objects")
LABELS = ("none", "text", "booleans", "classes", "numbers", "objects", "infinite", "complex")


@dataclass(frozen=True)
class Call:
    """A valid call, made anew for every throw.

    Attributes
    ----------
    make
        gives the callable and its arguments by name
    takes
        by argument: kinds of values (see :mod:`tests.nasty.values`) that it takes on purpose, of those that an argument
        must otherwise refuse
    lookalikes
        arguments and values that have the members asked for but mean something else, and what these are
    most
        by argument: the largest number thrown, and why; more would be legal and take for ever, or all memory
    """

    make: Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    lookalikes: Mapping[tuple[str, str], str] = field(default_factory=dict)


CONTEXTS = np.linspace(0.0, 1.0, 6)[:, None]
PAIRS = np.column_stack([np.linspace(0.1, 0.6, 6), np.linspace(0.6, 0.1, 6)])
KERNEL = sa.Matern52(lengthscale=0.5)


def a_round(**rest: Any) -> sa.Round:
    given = {"groups": ["a", "a", "a", "b", "b", "b"], "constraint": sa.Sum() >= 0.2, "feasible": sa.AtMost(3)}
    return sa.Round(**{"t": 1, "contexts": CONTEXTS, **given, **rest})


NAMED = a_round(columns=["price"]).columns


def whole_round() -> sa.Round:
    return a_round(feasible=sa.WholeGroups(1))


def first_arms(round: sa.Round) -> list[int]:
    return list(range(min(2, len(round))))


def good(round: sa.Round) -> sa.GoodSubgroups:
    return sa.GoodSubgroups(round, PAIRS[:, 1])


def prior() -> sa.ExactPosterior:
    return sa.ExactPosterior(KERNEL, noise_std=0.1)


def belief() -> sa.Belief:
    return sa.Belief(mean=PAIRS, std=np.full((6, 2), 0.1))


def some_outcomes() -> sa.Outcomes:
    return sa.Outcomes.of(a_round(), [0, 1], [[0.5, 0.5], [0.1, 0.1]])


def selection() -> sa.Selection:
    round = a_round()
    return sa.Automatic()(PAIRS[:, 0], round, good(round))


def federated() -> Any:
    return sa.environments.Federated(clients=2.0, requests=3)


def ratings() -> movielens.MovieLens:
    return movielens.MovieLens(
        name="mine",
        ratings=pl.DataFrame({"user": [7, 7, 8], "movie": [2, 1, 1], "rating": [4.5, 3.0, 2.0]}),
        movies=pl.DataFrame({"movie": [1, 2], "title": ["A", "B"], "genres": [["War"], ["Crime", "Drama"]]}),
    )


@functools.cache
def environments() -> dict[str, Any]:
    return {
        "Federated": federated(),
        "GPSample": sa.environments.GPSample(groups=2.0, arms=2.0, pool=20, horizon=2),
        "Movies": sa.environments.Movies(ratings(), locations=2, movies=2.0, users=2.0, k=1),
        "RandomProblem": sa.environments.RandomProblem(3),
        "Shops": sa.environments.Shops(coupons=20, most=3),
        "Simulator": sa.environments.Simulator(lambda t, rng: a_round(t=t), lambda round: PAIRS, noise_std=0.1),
        "WrongWorld": sa.environments.WrongWorld("groups kept", "ds", 3),
    }


def policies() -> dict[str, Callable[..., Any]]:
    gp: dict[str, Callable[..., Any]] = {
        cls.__name__: lambda cls=cls: cls(prior())
        for cls in (sa.TCGPUCB, sa.CautiousTCGPUCB, sa.OCLOKUCB, sa.CGPUCB, sa.TCGPTS)
    }
    return gp | {
        "ACCUCB": sa.ACCUCB,
        "CCMAB": lambda: sa.CCMAB(horizon=10),
        "CUCB": sa.CUCB,
        "Uniform": sa.Uniform,
        "Rule": lambda: sa.Rule(first_arms),
        "Clairvoyant": lambda: sa.Clairvoyant(federated()),
    }


def round_of(policy: str) -> sa.Round:
    return next(federated().rounds(np.random.default_rng(0))) if policy == "Clairvoyant" else a_round()


def a_session(observed: bool = False) -> tuple[sa.Session, sa.Decision]:
    """A session with a decision."""
    session = sa.Session.open(MemoryStore(), policy=sa.CUCB())
    decision = session.decide(a_round(), key="first")
    if observed:
        session.observe(decision.id, decision.arms, PAIRS[: len(decision.arms)])
    return session, decision


def _asked(method: str, /, **arguments: Any) -> Callable[[], tuple[Callable[..., Any], dict[str, Any]]]:
    """A call of a session made anew; ``id`` and ``arms`` that are None are of its decision."""

    def make() -> tuple[Callable[..., Any], dict[str, Any]]:
        session, decision = a_session()
        own = {"id": decision.id, "arms": decision.arms}
        given = {name: own.get(name) if value is None else value for name, value in arguments.items()}
        return getattr(session, method), given

    return make


def an_entry() -> sa.LogEntry:
    return sa.LogEntry(round=a_round(), arms=[0, 1], outcomes=PAIRS[:2], probabilities=[0.5, 0.5])


def folder() -> Path:
    return Path(tempfile.mkdtemp(dir=os.getcwd()))


def a_catalogue() -> sa.Catalogue:
    """Six arms in two shards."""
    frame = pl.DataFrame({"x": CONTEXTS[:, 0], "shop": list("aaabbb"), "sku": range(6)})
    return sa.Catalogue.write(frame, folder() / "arms", contexts=["x"], group="shop", id="sku", shards=2)


def a_sharded_round() -> sa.ShardedRound:
    return sa.ShardedRound(t=1, arms=a_catalogue(), constraint=sa.Sum() >= 0.2, feasible=sa.AtMost(3))


def saved_policy() -> Path:
    path = folder() / "policy"
    sa.CUCB().save(path)
    return path


def clothes() -> Path:
    """Four files of Fashion-MNIST's layout, with one picture of one pixel each."""
    home = folder()
    for part in fashion_mnist.PARTS:
        (home / f"{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7]))
        (home / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 3]))
    return home


def release() -> Path:
    """A small release in the cache, which is where the working folder is."""
    home = Path("cache") / "movielens" / "ml-latest-small"
    if not home.exists():
        home.mkdir(parents=True)
        (home / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,1,4.0,1500000000\n1,2,3.5,1500000001\n")
        (home / "movies.csv").write_text("movieId,title,genres\n1,A,War\n2,B,Crime|Drama\n")
    return home


def _with(function: Callable[..., Any], /, **arguments: Any) -> Callable[[], tuple[Callable[..., Any], dict[str, Any]]]:
    """A call whose arguments nobody changes."""
    return lambda: (function, dict(arguments))


def a_log() -> Path:
    file = folder() / "log.parquet"
    pl.DataFrame({"x": CONTEXTS[:, 0], "earned": PAIRS[:, 0], "lost": PAIRS[:, 1]}).write_parquet(file)
    return file


def _of_learners(method: str, /, **arguments: Any) -> Callable[[], tuple[Callable[..., Any], dict[str, Any]]]:
    """A call of learners; a batch that is None is theirs."""

    def make() -> tuple[Callable[..., Any], dict[str, Any]]:
        learners = sa.Learners(CONTEXTS, noise_std=0.1)
        if method == "snapshot":
            learners = sa.Learners.open(folder() / "l", CONTEXTS, noise_std=0.1)
        own = {"batch": learners.select(["ann", 2], [[0, 1], [2, 3]], feasible=sa.AtMost(1))}
        given = {name: own.get(name) if value is None else value for name, value in arguments.items()}
        return getattr(learners, method), given

    return make


def _later(make: Callable[[], Any], method: str, /, **arguments: Any) -> Any:
    """A method of an object made anew."""
    return lambda: (getattr(make(), method), dict(arguments))


PROFILE = sa.federated.ClientProfile(client_id="a", num_examples=8, limit=0.5)
REQUEST = sa.federated.Request(client_id="a", num_records=4, local_steps=2)


def _proposed(method: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A method of a selector about the proposal that it has just made."""
    selector = sa.federated.RequestSelector(sa.CUCB(), at_most=2)
    proposal = selector.propose(1, [PROFILE], 1.0)
    told = [sa.federated.Outcome(request=each.id, utility=0.1, leakage=0.2) for each in proposal.requests]
    return getattr(selector, method), {"proposal": proposal} | ({"outcomes": told} if method == "observe" else {})


FRAME_NAMES = ("a frame", "an empty frame", "a lazy frame", "a pandas frame")
CALLABLE = ("classes", "callables")
MEAN = {"mean": CALLABLE}
ORACLE = {"oracle": ("callables",)}
PATH = ("text",)
FRAMES = {("policy", name): "select and update, of columns" for name in FRAME_NAMES}
GOOD = {("reward", "good subgroups"): "value, of a group"}
CALLS: dict[str, Call] = {
    # --- a round
    "Round": Call(
        _with(
            sa.Round,
            t=1,
            contexts=CONTEXTS,
            groups=list("aaabbb"),
            constraint=sa.Sum() >= 0.2,
            feasible=sa.AtMost(3),
            reward=sa.Sum(),
            arm_ids=list("uvwxyz"),
            safe=[True, False] * 3,
            columns=["price"],
        ),
        takes={
            "groups": ("text", "booleans", "complex"),
            "arm_ids": ("text", "booleans", "complex"),
        },
        lookalikes=GOOD,
    ),
    "Round.check_arms": Call(_later(a_round, "check_arms", arms=[0, 1], argument="arms"), takes={"argument": ANY}),
    "Round.from_frame": Call(
        lambda: (
            sa.Round.from_frame,
            {
                "frame": pl.DataFrame({"x": np.arange(6.0), "g": list("aaabbb")}),
                "contexts": ["x"],
                "group": "g",
                "t": 1,
                "feasible": sa.AtMost(2),
            },
        ),
    ),
    "Round.digest": Call(_later(a_round, "digest")),
    "Outcomes.of": Call(
        lambda: (
            sa.Outcomes.of,
            {"round": a_round(), "arms": [0, 1], "outcomes": [[0.5, 0.5], [0.1, 0.1]], "noise_std": 0.1},
        ),
        takes={"noise_std": ("none", "missing")},
    ),
    "AtMost": Call(_with(sa.AtMost, k=2, per_group=1)),
    "Exactly": Call(_with(sa.Exactly, k=2, per_group=1)),
    "WholeGroups": Call(_with(sa.WholeGroups, n=2)),
    "Sum": Call(_with(sa.Sum)),
    "Mean": Call(_with(sa.Mean)),
    "Min": Call(_with(sa.Min)),
    "Max": Call(_with(sa.Max)),
    "Count": Call(_with(sa.Count)),
    "Variance": Call(_with(sa.Variance)),
    "DixitStiglitz": Call(
        _with(sa.DixitStiglitz, items=list("aabbcc"), power=2.0),
        takes={"items": ("text", "booleans", "complex")},
    ),
    "Custom": Call(_with(sa.Custom, function=np.median, monotone="increasing"), takes={"function": CALLABLE}),
    "TransformedSum": Call(_with(sa.TransformedSum, function=np.log1p, weights=1.0), takes={"function": CALLABLE}),
    "Constraint": Call(_with(sa.Constraint, reward=sa.Sum(), sense=">=", threshold=0.2)),
    "tolerance": Call(_with(sa.tolerance, thresholds=1.0), takes={"thresholds": ("missing",)}),
    # --- what is believed
    **{
        name: Call(_with(getattr(sa, name), lengthscale=0.5, variance=1.0, columns=None))
        for name in ("SquaredExponential", "Matern12", "Matern32", "Matern52", "Laplacian", "Linear", "Categories")
    },
    "RationalQuadratic": Call(_with(sa.RationalQuadratic, lengthscale=0.5, variance=1.0, alpha=2.0, columns=None)),
    "posteriors.SumKernel": Call(_with(superarm.posteriors.SumKernel, first=KERNEL, second=KERNEL)),
    "posteriors.ProductKernel": Call(_with(superarm.posteriors.ProductKernel, first=KERNEL, second=KERNEL)),
    "Independent": Call(_with(sa.Independent, first=KERNEL, second=KERNEL)),
    "Coregionalised": Call(_with(sa.Coregionalised, kernel=KERNEL, matrix=[[1.0, 0.5], [0.5, 1.0]])),
    "GaussianProcess": Call(_with(sa.GaussianProcess, kernel=KERNEL, noise_std=0.1, mean=0.0), takes=MEAN),
    "ExactPosterior": Call(
        _with(
            sa.ExactPosterior,
            kernel=KERNEL,
            noise_std=0.1,
            mean=0.0,
            catalogue=CONTEXTS,
            catalogue_memory=1 << 20,
            device="cpu",
        ),
        takes=MEAN,
    ),
    "SparsePosterior": Call(
        _with(sa.SparsePosterior, kernel=KERNEL, noise_std=0.1, inducing=sa.GreedyVariance(), mean=0.0),
        takes=MEAN,
        lookalikes={("inducing", name): "choose, of something else" for name in ("a module", "an oracle")},
    ),
    **{
        f"{cls.__name__}.{method}": Call(
            lambda cls=cls, method=method, arguments=arguments: (
                getattr(cls(KERNEL, 0.1).condition(CONTEXTS, PAIRS), method),
                dict(arguments),
            ),
            takes={"outcomes": ("missing",), "noise_std": ("missing", "none"), "others": ("none",)},
            most={"n": (1000, "draws; a million take a gigabyte")},
        )
        for cls in (sa.GaussianProcess, sa.ExactPosterior, sa.SparsePosterior)
        for method, arguments in {
            "condition": {"contexts": CONTEXTS, "outcomes": PAIRS, "noise_std": 0.1},
            "covariance": {"contexts": CONTEXTS, "others": CONTEXTS},
            "learned": {"learning": sa.Learning(starts=1, at_most=20, least=2), "seed": 0},
            "over": {"columns": NAMED},
            "rougher": {"factor": 0.3},
            "bounded": {},
            "log_marginal_likelihood": {},
            "predict": {"contexts": CONTEXTS},
            "sample": {"contexts": CONTEXTS, "n": 2, "seed": 0},
            "error_bounds": {"contexts": CONTEXTS},
            "on": {"device": "cpu"},
        }.items()
        if hasattr(cls, method)
    },
    "RandomSubset": Call(_with(sa.RandomSubset, s=3, seed=0)),
    "GreedyVariance": Call(_with(sa.GreedyVariance, tolerance=1e-8, at_most=10)),
    "Belief": Call(_with(sa.Belief, mean=PAIRS, std=PAIRS)),
    "Learning": Call(
        _with(
            sa.Learning,
            spread=5.0,
            noise_spread=3.0,
            reach=100.0,
            noise_reach=30.0,
            least=10,
            at_most=300,
            starts=8,
            schedule=(1, 2, 4),
            seasons=(7.0,),
        )
    ),
    "Learning.due": Call(_later(sa.Learning, "due", updates=3)),
    # --- indices and oracles
    "beta": Call(_with(sa.beta, t=1, arms=10, delta=0.05)),
    "double_ucb": Call(lambda: (sa.double_ucb, {"belief": belief(), "round": a_round(), "beta": 2.0, "zeta": 0.5})),
    "GoodSubgroups": Call(
        lambda: (
            sa.GoodSubgroups,
            {
                "round": a_round(),
                "satisfying": PAIRS[:, 1],
                "order": np.arange(6),
                "promises": a_round().promises,
                "closed": np.array([True, False]),
                "attainable": np.array([True, False]),
            },
        ),
        takes={"closed": ("booleans",), "attainable": ("booleans",)},
    ),
    "GoodSubgroups.allows": Call(lambda: (good(a_round()).allows, {"arms": [0, 1]})),
    "GoodSubgroups.counts": Call(lambda: (good(a_round()).counts, {"label": "a"})),
    "GoodSubgroups.is_empty": Call(lambda: (good(a_round()).is_empty, {"label": "a"})),
    "GoodSubgroups.keeps": Call(
        lambda: (good(a_round()).keeps, {"touched": good(a_round()).touched([0, 1])[0]}),
    ),
    "GoodSubgroups.subgroups": Call(lambda: (good(a_round()).subgroups, {"label": "a"})),
    "GoodSubgroups.touched": Call(lambda: (good(a_round()).touched, {"arms": [0, 1]})),
    "GoodSubgroups.without_promises": Call(lambda: (good(a_round()).without_promises, {})),
    "Selection.with_belief": Call(
        _later(lambda: sa.Uniform().select(a_round()), "with_belief", belief=sa.Belief(mean=PAIRS, std=PAIRS**2)),
    ),
    "Selection.to_dict": Call(_later(lambda: sa.Uniform().select(a_round()), "to_dict")),
    "Selection.to_frame": Call(_later(lambda: sa.Uniform().select(a_round()), "to_frame")),
    "Belief.to_dict": Call(_later(lambda: sa.Belief(mean=PAIRS, std=PAIRS**2), "to_dict")),
    "Belief.to_frame": Call(_later(lambda: sa.Belief(mean=PAIRS, std=PAIRS**2), "to_frame")),
    "Selection.of": Call(
        lambda: (
            sa.Selection.of,
            {
                "arms": [0, 1],
                "round": a_round(),
                "index": PAIRS[:, 0],
                "good": good(a_round()),
                "upper_bound": 5.0,
                "status": sa.Status.OPTIMAL,
                "solver": "mine",
                "seconds": 0.1,
            },
        ),
        takes={"solver": ("text",)},
    ),
    "Automatic": Call(_with(sa.Automatic, rel_gap=1e-10, deadline=5.0)),
    "Decomposition": Call(_with(sa.Decomposition, rel_gap=1e-10, label_limit=100, deadline=5.0)),
    "BestWholeGroups": Call(_with(sa.BestWholeGroups)),
    "MILP": Call(_with(sa.MILP, rel_gap=1e-9, deadline=5.0)),
    "Exhaustive": Call(_with(sa.Exhaustive, most_arms=10)),
    "Greedy": Call(_with(sa.Greedy)),
    **{
        f"{cls.__name__}.__call__": Call(
            lambda cls=cls, make=make: (
                cls().__call__,
                {"index": PAIRS[:, 0], "round": (round := make()), "good": good(round)},
            )
        )
        for cls, make in (
            (sa.Automatic, a_round),
            (sa.Decomposition, a_round),
            (sa.BestWholeGroups, whole_round),
            (sa.MILP, a_round),
            (sa.Exhaustive, a_round),
            (sa.Greedy, a_round),
        )
    },
    "Automatic.choose": Call(lambda: (sa.Automatic().choose, {"round": (round := a_round()), "good": good(round)})),
    # --- policies
    "TCGPUCB": Call(
        lambda: (
            sa.TCGPUCB,
            {
                "posterior": prior(),
                "zeta": 0.5,
                "delta": 0.05,
                "max_arms": 10,
                "beta_scale": 1.0,
                "batch_aware": False,
                "oracle": sa.Automatic(),
                "seed": 0,
                "learn": False,
                "outcomes": ("normal", None),
            },
        ),
        takes={"batch_aware": ("booleans",), "learn": ("booleans",), "outcomes": ("none",)} | ORACLE,
    ),
    "CautiousTCGPUCB": Call(
        lambda: (
            sa.CautiousTCGPUCB,
            {
                "posterior": prior(),
                "confidence": 0.99,
                "reward_width": 2.0,
                "must_teach": 0.03,
                "opening": 0.5,
                "horizon": 10,
                "exploring_out": 2,
                "most_out": 9,
                "oracle": sa.Automatic(),
                "seed": 0,
                "learn": False,
                "outcomes": ("normal", None),
            },
        ),
        takes={"learn": ("booleans",), "outcomes": ("none",)} | ORACLE,
    ),
    "OCLOKUCB": Call(
        lambda: (
            sa.OCLOKUCB,
            {
                "posterior": prior(),
                "delta": 0.05,
                "max_arms": 10,
                "beta_scale": 1.0,
                "batch_aware": False,
                "oracle": sa.Automatic(),
                "seed": 0,
                "learn": False,
            },
        ),
        takes={"batch_aware": ("booleans",), "learn": ("booleans",)} | ORACLE,
    ),
    "CGPUCB": Call(
        lambda: (
            sa.CGPUCB,
            {"posterior": prior(), "delta": 0.05, "max_arms": 10, "beta_scale": 1.0, "seed": 0, "learn": False},
        ),
        takes={"learn": ("booleans",)} | ORACLE,
    ),
    "TCGPTS": Call(
        lambda: (
            sa.TCGPTS,
            {"posterior": prior(), "oracle": sa.Automatic(), "seed": 0, "learn": False, "outcomes": ("normal", None)},
        ),
        takes={"learn": ("booleans",), "outcomes": ("none",)} | ORACLE,
    ),
    "ACCUCB": Call(
        lambda: (
            sa.ACCUCB,
            {"horizon": 10, "v1": 1.0, "v2": 1.0, "rho": 0.5, "oracle": sa.Automatic(), "seed": 0},
        ),
        takes=ORACLE,
    ),
    "CCMAB": Call(lambda: (sa.CCMAB, {"horizon": 10, "alpha": 1.0, "oracle": sa.Automatic(), "seed": 0}), takes=ORACLE),
    "CUCB": Call(lambda: (sa.CUCB, {"oracle": sa.Automatic(), "seed": 0}), takes=ORACLE),
    "Uniform": Call(_with(sa.Uniform, seed=0)),
    "Uniform.probabilities": Call(_with(sa.Uniform().probabilities, round=a_round(), arms=[0, 3])),
    "Rule": Call(_with(sa.Rule, pick=first_arms), takes={"pick": ("callables",)}),
    "Clairvoyant": Call(lambda: (sa.Clairvoyant, {"environment": federated()})),
    "CCMAB.cells_per_side": Call(lambda: (sa.CCMAB(horizon=10).cells_per_side, {"dimension": 2})),
    "CCMAB.control": Call(lambda: (sa.CCMAB(horizon=10).control, {"t": 2, "dimension": 2})),
    **{
        f"{name}.{method}": Call(
            lambda name=name, make=make, method=method: (
                getattr(make(), method),
                {
                    "indices": {"round": round_of(name)},
                    "select": {"round": round_of(name)},
                    "update": {"round": round_of(name), "arms": [0, 1], "outcomes": [[0.5, 0.5], [0.1, 0.1]]}
                    | ({"noise_std": [[0.1, 0.2], [0.3, 0.4]]} if hasattr(make(), "learner") else {}),
                    "explain": {"round": round_of(name), "selection": make().select(round_of(name)), "most": 2},
                    "save": {"path": folder() / "policy"},
                }[method],
            ),
            takes={"outcomes": ("missing",), "noise_std": ("missing", "none"), "path": PATH},
        )
        for name, make in policies().items()
        for method in ("indices", "select", "explain", "update", "save")
        if hasattr(getattr(sa, name), method)
    },
    **{
        f"CautiousTCGPUCB.{method}": Call(
            lambda method=method: (
                getattr(sa.CautiousTCGPUCB(prior()), method),
                {"decision": "one"}
                | {
                    "decided": {"round": a_round(), "selection": sa.CautiousTCGPUCB(prior()).select(a_round())},
                    "observed": {
                        "round": a_round(),
                        "arms": [0, 1],
                        "outcomes": [[0.5, 0.5], [0.1, 0.1]],
                        "noise_std": 0.1,
                    },
                }.get(method, {}),
            ),
            takes={"outcomes": ("missing",), "noise_std": ("missing", "none"), "decision": ("text",)},
        )
        for method in ("decided", "observed", "played", "withdrawn", "expired")
    },
    "load": Call(lambda: (sa.load, {"path": saved_policy()}), takes={"path": PATH}),
    "storable": Call(
        _with(
            sa.storable,
            upgrade=lambda fields: fields,
            formerly=("Old",),
            shapes={"rows": "n 3"},
            follows={"sums": lambda fields: fields["rows"].sum(axis=1)},
        ),
        takes={"upgrade": CALLABLE},
    ),
    "simulate": Call(
        lambda: (
            sa.simulate,
            {"policy": sa.CUCB(), "environment": federated(), "rounds": 2, "seed": 0, "zeta": 0.5},
        ),
        most={"rounds": (20, "rounds that are played")},
        lookalikes=FRAMES,
    ),
    "experiments.study": Call(
        lambda: (
            sa.experiments.study,
            {
                "policies": {"mine": sa.CUCB},
                "environment": federated(),
                "rounds": 1,
                "runs": 1,
                "zeta": 0.5,
                "name": "own",
                "title": "A study",
            },
        ),
        takes={"name": ("text",), "title": ("none", "text"), "environment": ("classes",)},
        lookalikes={("environment", "an environment"): "it is one"},
    ),
    "compare": Call(
        lambda: (
            sa.compare,
            {
                "policies": {"mine": sa.CUCB},
                "environment": federated(),
                "rounds": 1,
                "runs": 1,
                "seed": 0,
                "out": folder() / "out",
                "workers": 1,
            },
        ),
        takes={"out": ("none", "text"), "environment": ("classes",)},
        most={
            "rounds": (3, "rounds that are played"),
            "runs": (3, "runs that are played"),
            "workers": (2, "processes"),
        },
        lookalikes={
            ("environment", "an environment"): "it is one, and large",
            ("workers", "none"): "one process a core, which take seconds to start",
        },
    ),
    # --- logs of any length
    "fit_log": Call(
        lambda: (
            sa.fit_log,
            {
                "prior": sa.GaussianProcess(KERNEL, 0.1),
                "log": a_log(),
                "contexts": ["x"],
                "outcomes": ["earned", "lost"],
                "workers": 1,
                "learn": False,
                "at_most": 100,
                "leaf_rows": 3,
            },
        ),
        takes={"learn": ("booleans",)},
        most={"workers": (2, "processes")},
    ),
    # --- many learners
    "Learners": Call(
        _with(
            sa.Learners,
            features=CONTEXTS,
            groups=["a", "a", "a", "b", "b", "b"],
            noise_std=0.1,
            scale=1.0,
            mean=np.zeros((1, 2)),
            zeta=0.5,
            delta=0.05,
            max_arms=None,
            beta_scale=1.0,
            seed=0,
        ),
        takes={"groups": LABELS, "features": ("booleans",), "mean": ("booleans",)},
    ),
    "Learners.open": Call(
        lambda: (
            sa.Learners.open,
            {
                "folder": folder() / "l",
                "features": CONTEXTS,
                "groups": None,
                "partitions": 2,
                "noise_std": 0.1,
                "workers": "here",
            },
        ),
        takes={"folder": PATH, "groups": LABELS, "features": ("booleans",), "workers": ("text",)},
        most={"workers": (2, "processes")},
    ),
    "Learners.select": Call(
        _of_learners("select", keys=["ann", 2], arms=[[0, 1], [2, -1]], feasible=sa.AtMost(1), constraint=None),
        takes={"keys": LABELS, "constraint": ("none",)},
    ),
    "Learners.predict": Call(_of_learners("predict", keys=["ann", 2], arms=[[0, 1], [2, -1]]), takes={"keys": LABELS}),
    "Learners.update": Call(
        _of_learners("update", batch=None, outcomes=np.zeros((2, 1, 2)), number=None),
        takes={"outcomes": ("missing", "booleans")},
    ),
    **{f"Learners.{name}": Call(_of_learners(name)) for name in ("snapshot", "digest", "close")},
    "run": Call(
        lambda: (
            sa.run,
            {
                "experiment": sa.experiments.study({"mine": sa.CUCB}, federated(), rounds=1, runs=1),
                "out": folder() / "out",
                "seed": 0,
                "workers": 1,
            },
        ),
        takes={"out": ("none", "text")},
        most={"workers": (2, "processes")},
    ),
    # --- sessions
    "Session.open": Call(
        lambda: (
            sa.Session.open,
            {
                "path": folder() / "s.db",
                "policy": sa.CUCB(),
                "name": "main",
                "outcome_range": (-10.0, 10.0),
                "deadline": 60.0,
                "silence": (0.0, None),
                "rebase_after": 3600.0,
                "keep_rounds": 86400.0,
                "durability": "normal",
            },
        ),
        takes={"path": PATH, "name": ("text",), "outcome_range": ("infinite",)},
        lookalikes=FRAMES,
    ),
    "Session.decide": Call(
        _asked("decide", round=a_round(t=2), key="k", counted=False, trace="t"),
        takes={"key": ("text",), "trace": ("text",), "counted": ("booleans",)},
    ),
    "Session.observe": Call(
        _asked(
            "observe",
            id=None,
            arms=None,
            outcomes=[[0.5, 0.5], [0.1, 0.1], [0.2, np.nan]],
            noise_std=None,
            sample="",
            key="k",
            by=None,
        ),
        takes={"key": ("text",), "sample": ("text",)},
    ),
    "Session.observe_many": Call(
        lambda: (
            (held := a_session())[0].observe_many,
            {
                "frame": pl.DataFrame(
                    {"decision": [held[1].id], "arm": [held[1].arms[0]], "outcome_1": [0.5], "outcome_2": [0.5]}
                ),
                "by": None,
            },
        ),
    ),
    "Session.correct": Call(
        lambda: (
            (held := a_session(observed=True))[0].correct,
            {
                "id": held[1].id,
                "arm": held[1].arms[0],
                "outcome": 1,
                "value": 0.25,
                "sample": "",
                "reason": "refund",
                "key": "k",
                "by": None,
            },
        ),
        takes={"key": ("text",), "sample": ("text",), "reason": ("text",)},
    ),
    "Session.reconfigure": Call(_asked("reconfigure", policy=sa.Uniform()), lookalikes=FRAMES),
    "Session.fork": Call(
        lambda: (
            a_session()[0].fork,
            {"path": folder() / "f.db", "policy": sa.Uniform(), "name": "main", "durability": "normal"},
        ),
        takes={"path": PATH, "name": ("text",)},
        lookalikes=FRAMES,
    ),
    "Session.redact": Call(
        _asked("redact", id=None, label=None),
        takes={"label": LABELS},
    ),
    "Session.decisions": Call(
        _asked("decisions", label="shop", state="open", after=0, limit=5), takes={"label": LABELS}
    ),
    "Session.pending": Call(_asked("pending", after=0, limit=5)),
    "Session.events": Call(_asked("events", after=0)),
    "Session.at": Call(_asked("at", seq=1)),
    "Session.explain": Call(
        lambda: (
            (session := sa.Session.open(MemoryStore(), policy=sa.TCGPUCB())).explain,
            {"id": session.decide(a_round()).id, "key": None, "t": None, "most": 2},
        ),
    ),
    "Session.compact": Call(
        lambda: (a_session()[0].compact, {"older_than": 86400.0, "archive": folder() / "old"}), takes={"archive": PATH}
    ),
    "Session.export": Call(_asked("export", folder=Path("out")), takes={"folder": PATH}),
    "Session.restore": Call(
        lambda: (
            sa.Session.restore,
            {
                "folder": a_session()[0].export(folder() / "out"),
                "path": folder() / "r.db",
                "name": "main",
                "durability": "normal",
            },
        ),
        takes={"folder": PATH, "path": PATH, "name": ("text",)},
    ),
    "Session.record": Call(
        _asked(
            "record",
            round=a_round(t=2),
            arms=[0, 3],
            outcomes=[[0.5, 0.5], [0.1, 0.1]],
            probabilities=None,
            key="k",
            by=None,
            counted=False,
        ),
        takes={"key": ("text",), "outcomes": ("missing",), "counted": ("booleans",)},
    ),
    **{f"Session.{name}": Call(_asked(name, id=None)) for name in ("played", "withdraw", "expire", "state")},
    "Session.decision": Call(_asked("decision", id=None, key=None, t=None)),
    **{
        f"Session.{name}": Call(_asked(name))
        for name in (
            *("outcomes", "promises", "calibration"),
            *("snapshot", "verify", "close", "rebases"),
        )
    },
    "Session.rebase": Call(_asked("rebase", anew=False), takes={"anew": ("booleans",)}),
    # --- past one machine
    "Catalogue.write": Call(
        lambda: (
            sa.Catalogue.write,
            {
                "frames": pl.DataFrame({"x": CONTEXTS[:, 0], "shop": list("aaabbb"), "sku": range(6)}),
                "folder": folder() / "arms",
                "contexts": ["x"],
                "group": "shop",
                "id": "sku",
                "also": [],
                "shards": 2,
                "whole": True,
            },
        ),
        takes={"folder": PATH, "group": ("none",), "id": ("none",), "whole": ("booleans",), "also": ("arrays",)},
    ),
    "Catalogue.open": Call(lambda: (sa.Catalogue.open, {"folder": a_catalogue().folder}), takes={"folder": PATH}),
    "Catalogue.shard": Call(_later(a_catalogue, "shard", number=0)),
    "ShardedRound": Call(
        lambda: (
            sa.ShardedRound,
            {
                "t": 1,
                "arms": a_catalogue(),
                "constraint": sa.Sum() >= 0.2,
                "feasible": sa.AtMost(3),
                "reward": sa.Sum(),
                "items": None,
                "weights": None,
                "safe": None,
            },
        ),
        takes=dict.fromkeys(("constraint", "items", "weights", "safe"), ("none",)),
    ),
    "ShardedRound.digest": Call(_later(a_sharded_round, "digest")),
    "select": Call(
        lambda: (sa.select, {"policy": sa.TCGPUCB(prior()), "round": a_sharded_round(), "workers": "here"}),
        takes={"workers": ("text",)},
        most={"workers": (2, "processes")},
    ),
    "update": Call(
        lambda: (
            sa.update,
            {
                "policy": (policy := sa.TCGPUCB(prior())),
                "picked": (picked := sa.select(policy, a_sharded_round())),
                "outcomes": PAIRS[: len(picked.arms)],
                "noise_std": 0.1,
            },
        ),
        takes={"noise_std": ("none", "missing")},
    ),
    "decide": Call(
        lambda: (
            sa.decide,
            {
                "session": sa.Session.open(MemoryStore(), policy=sa.TCGPUCB(prior())),
                "round": a_sharded_round(),
                "workers": "here",
                "key": "k",
                "counted": False,
                "trace": "t",
            },
        ),
        takes={"workers": ("text",), "key": ("none", "text"), "trace": ("none", "text"), "counted": ("booleans",)},
        most={"workers": (2, "processes")},
    ),
    "Catalogue.rows": Call(_later(a_catalogue, "rows", rows=[0, 3])),
    # --- environments and data
    "environments.Federated": Call(
        _with(sa.environments.Federated, clients=2.0, requests=3, most_requests=2.0, noise_std=0.1),
        most={
            "clients": (100, "clients a round"),
            "requests": (100, "arms of a client"),
        },
    ),
    "environments.GPSample": Call(
        _with(
            sa.environments.GPSample,
            seed=0,
            groups=2.0,
            arms=2.0,
            pool=20,
            kernel=KERNEL,
            noise_std=0.1,
            percentile=80.0,
            most_groups=2,
            horizon=2,
        ),
        most={
            "groups": (50, "groups a round"),
            "arms": (50, "arms of a group"),
            "pool": (100, "points of the pool, whose prior is factored"),
            "horizon": (50, "rounds drawn beforehand"),
        },
    ),
    "environments.Movies": Call(
        lambda: (
            sa.environments.Movies,
            {
                "data": ratings(),
                "locations": 2,
                "movies": 2.0,
                "users": 2.0,
                "k": 1,
                "noise_std": 0.1,
                "thresholds": (0.5, 1.0),
            },
        ),
    ),
    "environments.RandomProblem": Call(_with(sa.environments.RandomProblem, seed=3)),
    "environments.Shops": Call(
        _with(sa.environments.Shops, seed=0, coupons=20, most=3, one_hot=True, promised="clicks"),
        takes={"one_hot": ("booleans",)},
        most={"coupons": (100, "arms a day")},
    ),
    "environments.Simulator": Call(
        _with(
            sa.environments.Simulator,
            draw=lambda t, rng: a_round(t=t),
            expected=lambda round: PAIRS,
            noise_std=0.1,
            delay=1,
        ),
        takes={"draw": ("callables",), "expected": ("callables",)},
    ),
    "environments.WrongWorld": Call(_with(sa.environments.WrongWorld, kind="step", promise="sum", seed=3)),
    **{
        f"environments.{name}.{method}": Call(
            lambda name=name, method=method: (
                getattr(environment := environments()[name], method),
                {
                    "rounds": {"rng": np.random.default_rng(0)},
                    "expected_outcomes": {"round": next(environment.rounds(np.random.default_rng(0)))},
                    "outcomes": {
                        "round": next(environment.rounds(np.random.default_rng(0))),
                        "rng": np.random.default_rng(0),
                    },
                }[method],
            )
        )
        for name in ("Federated", "GPSample", "Movies", "RandomProblem", "Shops", "Simulator", "WrongWorld")
        for method in ("rounds", "expected_outcomes", "outcomes")
    },
    "datasets.movielens.MovieLens": Call(
        lambda: (
            movielens.MovieLens,
            {"name": "mine", "ratings": ratings().ratings, "movies": ratings().movies},
        ),
        takes={"name": ("text",)},
    ),
    "datasets.movielens.MovieLens.genre_vectors": Call(lambda: (ratings().genre_vectors, {})),
    "datasets.movielens.read": Call(
        lambda: (
            movielens.read,
            {
                "folder": release(),
                "after": movielens.AFTER,
                "least_ratings": 1,
                "cache": Path("cache"),
                "progress": None,
            },
        ),
        takes={"cache": ("text",)},
    ),
    "datasets.download.cache_folder": Call(
        _with(download.cache_folder, cache=Path("cache")), takes={"cache": ("text",)}
    ),
    "datasets.download.fetch": Call(
        lambda: (
            download.fetch,
            {
                "release": release().name,
                "base_url": "https://localhost:1/",
                "cache": Path("cache"),
                "progress": None,
            },
        ),
        takes={"cache": ("text",)},
    ),
    "datasets.fashion_mnist.read": Call(lambda: (fashion_mnist.read, {"folder": clothes()})),
    "datasets.synthetic.synthetic": Call(
        _with(synthetic.synthetic, seed=0, users=2, movies=20, least_ratings=3, popularity=1.0),
        most={"users": (100, "users"), "movies": (1000, "movies")},
    ),
    # --- regret, theory, calibration
    "regret.performance": Call(
        lambda: (superarm.regret.performance, {"round": a_round(), "arms": [0, 1], "expected": PAIRS})
    ),
    "regret.optimum": Call(lambda: (superarm.regret.optimum, {"round": a_round(), "expected": PAIRS})),
    "theory.information_gain": Call(_with(sa.theory.information_gain, kernel=KERNEL, contexts=CONTEXTS, noise_std=0.1)),
    **{
        f"theory.{name}": Call(
            _with(getattr(sa.theory, name), kernel=KERNEL, rounds_of_contexts=[CONTEXTS, CONTEXTS[:2]], noise_std=0.1)
        )
        for name in ("information_gains", "lambda_star", "gains_of_rounds")
    },
    "theory.greedy_information_gain": Call(
        _with(sa.theory.greedy_information_gain, kernel=KERNEL, contexts=CONTEXTS, n=3, noise_std=0.1),
        most={"n": (100, "picks, one after the other")},
    ),
    "theory.feasible_information_gain": Call(
        lambda: (
            sa.theory.feasible_information_gain,
            {"kernel": KERNEL, "rounds": [a_round(), whole_round()], "noise_std": 0.1},
        )
    ),
    "theory.group_constant": Call(
        _with(sa.theory.group_constant, zeta=0.5, lipschitz=1.0, eigenvalue=1.0, noise_std=0.1)
    ),
    "theory.super_arm_constant": Call(
        _with(sa.theory.super_arm_constant, zeta=0.5, lipschitz=1.0, eigenvalue=1.0, noise_std=0.1)
    ),
    "theory.total_constant": Call(
        _with(sa.theory.total_constant, group_lipschitz=1.0, reward_lipschitz=1.0, eigenvalue=1.0, noise_std=0.1)
    ),
    **{
        f"theory.{name}": Call(
            _with(
                getattr(sa.theory, name),
                rounds=10,
                size=2,
                beta=5.0,
                gamma=3.0,
                zeta=0.5,
                lipschitz=1.0,
                eigenvalue=1.0,
                noise_std=0.1,
            )
        )
        for name in ("group_regret_bound", "super_arm_regret_bound")
    },
    "theory.total_regret_bound": Call(
        _with(
            sa.theory.total_regret_bound,
            rounds=10,
            size=2,
            beta=5.0,
            gamma=3.0,
            group_lipschitz=1.0,
            reward_lipschitz=1.0,
            eigenvalue=1.0,
            noise_std=0.1,
        )
    ),
    "theory.lipschitz_constant": Call(_with(sa.theory.lipschitz_constant, reward=sa.Sum(), outcome_range=(0.0, 1.0))),
    "theory.bound_of_run": Call(
        _with(
            sa.theory.bound_of_run,
            kernel=KERNEL,
            rounds_of_contexts=[CONTEXTS, CONTEXTS[:2]],
            noise_std=0.1,
            zeta=0.5,
            delta=0.05,
            max_arms=10,
            group_lipschitz=1.0,
            reward_lipschitz=1.0,
            max_size=6,
            candidates=CONTEXTS,
            gamma=None,
        )
    ),
    "theory.kernel_rate": Call(_with(sa.theory.kernel_rate, kernel=KERNEL, dimension=1)),
    "theory.KernelRate.__call__": Call(
        lambda: (sa.theory.kernel_rate(KERNEL, 1).__call__, {"rounds": 10, "size": 2, "eigenvalue": 1.0})
    ),
    "calibration.covered": Call(
        lambda: (sa.calibration.covered, {"belief": belief(), "expected": PAIRS, "level": 0.9})
    ),
    "calibration.coverage": Call(
        lambda: (
            sa.calibration.coverage,
            {"beliefs": [belief()], "outcomes": [PAIRS], "noise_std": 0.1, "levels": (0.5, 0.9)},
        )
    ),
    "calibration.replay": Call(
        lambda: (
            sa.calibration.replay,
            {"prior": prior(), "rounds": [(CONTEXTS, PAIRS)], "noise_std": 0.1, "levels": (0.5, 0.9)},
        )
    ),
    "calibration.verdicts": Call(
        lambda: (
            sa.calibration.verdicts,
            {"frame": sa.calibration.coverage([belief()], [PAIRS], noise_std=0.1)},
        )
    ),
    "calibration.kept": Call(
        lambda: (sa.calibration.kept, {"round": a_round(), "arms": [0, 1], "outcomes": PAIRS[:2]}),
        takes={"outcomes": ("missing",)},
    ),
    "calibration.promises": Call(
        lambda: (sa.calibration.promises, {"selections": [selection()], "kept": [{"b": True}]})
    ),
    "calibration.promises_verdict": Call(
        lambda: (
            sa.calibration.promises_verdict,
            {"frame": sa.calibration.promises([selection()], [{"b": True}])},
        )
    ),
    "calibration.promises_verdicts": Call(
        lambda: (
            sa.calibration.promises_verdicts,
            {"frame": sa.calibration.promises([selection()], [{"b": True}])},
        )
    ),
    # --- logs
    "LogEntry": Call(
        lambda: (
            sa.LogEntry,
            {
                "round": a_round(),
                "arms": [0, 1],
                "outcomes": PAIRS[:2],
                "probabilities": [0.5, 0.5],
                "part_probabilities": {"a": 0.25},
            },
        ),
        takes={"outcomes": ("missing",)},
    ),
    "Log": Call(lambda: (sa.Log, {"entries": [an_entry()]})),
    "Log.from_session": Call(lambda: (sa.Log.from_session, {"session": a_session()[0]})),
    "Log.from_frame": Call(
        lambda: (
            sa.Log.from_frame,
            {
                "frame": pl.DataFrame(
                    {"t": 1, "x": np.arange(6.0), "g": list("aaabbb"), "picked": [True] + [False] * 5, "p": 0.3}
                ).with_columns(outcome_1=pl.lit(0.1), outcome_2=pl.lit(0.2)),
                "contexts": ["x"],
                "t": "t",
                "picked": "picked",
                "outcomes": ["outcome_1", "outcome_2"],
                "probability": "p",
                "group": "g",
                "feasible": sa.AtMost(2),
            },
        ),
    ),
    "replay": Call(
        lambda: (sa.replay, {"policy": sa.CUCB(), "log": [an_entry()], "learn": True}),
        takes={"learn": ("booleans",)},
        lookalikes=FRAMES,
    ),
    # --- on the wire
    "wire.round_to_dict": Call(lambda: (wire.round_to_dict, {"round": a_round()})),
    "wire.round_from_dict": Call(lambda: (wire.round_from_dict, {"data": wire.round_to_dict(a_round())})),
    "wire.round_to_bytes": Call(lambda: (wire.round_to_bytes, {"round": a_round()})),
    "wire.round_from_bytes": Call(lambda: (wire.round_from_bytes, {"content": wire.round_to_bytes(a_round())})),
    "wire.round_to_frame": Call(lambda: (wire.round_to_frame, {"round": a_round()})),
    "wire.round_from_frame": Call(
        lambda: (wire.round_from_frame, dict(zip(("frame", "beside"), wire.round_to_frame(a_round()), strict=True)))
    ),
    "wire.outcomes_to_dict": Call(lambda: (wire.outcomes_to_dict, {"outcomes": some_outcomes()})),
    "wire.outcomes_from_dict": Call(
        lambda: (wire.outcomes_from_dict, {"data": wire.outcomes_to_dict(some_outcomes()), "round": a_round()})
    ),
    "wire.outcomes_to_frame": Call(lambda: (wire.outcomes_to_frame, {"outcomes": some_outcomes()})),
    "wire.outcomes_from_frame": Call(
        lambda: (wire.outcomes_from_frame, {"frame": wire.outcomes_to_frame(some_outcomes()), "round": a_round()})
    ),
    "wire.selection_to_dict": Call(lambda: (wire.selection_to_dict, {"selection": selection()})),
    "wire.selection_from_dict": Call(lambda: (wire.selection_from_dict, {"data": wire.selection_to_dict(selection())})),
    "wire.selection_to_frame": Call(lambda: (wire.selection_to_frame, {"selection": selection()})),
    "wire.selection_from_frame": Call(
        lambda: (
            wire.selection_from_frame,
            dict(zip(("frame", "beside"), wire.selection_to_frame(selection()), strict=True)),
        )
    ),
    "wire.frame_to_arrow": Call(lambda: (wire.frame_to_arrow, {"frame": wire.outcomes_to_frame(some_outcomes())})),
    "wire.frame_from_arrow": Call(
        lambda: (wire.frame_from_arrow, {"content": wire.frame_to_arrow(wire.outcomes_to_frame(some_outcomes()))})
    ),
    "wire.policy_to_bytes": Call(lambda: (wire.policy_to_bytes, {"policy": sa.Uniform()}), lookalikes=FRAMES),
    "wire.policy_from_dict": Call(lambda: (wire.policy_from_dict, {"data": {"policy": "CUCB"}})),
    "wire.policy_from_bytes": Call(lambda: (wire.policy_from_bytes, {"content": wire.policy_to_bytes(sa.Uniform())})),
    "wire.settings": Call(lambda: (wire.settings, {"policy": sa.Uniform()}), lookalikes=FRAMES),
    "wire.difference": Call(lambda: (wire.difference, {"one": sa.Uniform(), "other": sa.Uniform()})),
    # --- suites
    "check_reward": Call(_with(sa.check_reward, reward=sa.Sum(), arms=3, seed=0), lookalikes=GOOD),
    "check_group_reward": Call(_with(sa.check_group_reward, reward=sa.Sum(), arms=2, seed=0)),
    "check_posterior": Call(
        lambda: (sa.check_posterior, {"posterior": prior(), "dimension": 1, "seed": 0}),
        most={"dimension": (100, "features of a context")},
    ),
    "check_oracle": Call(
        _with(sa.check_oracle, oracle=sa.Automatic(), rounds=3, seed=0),
        takes=ORACLE,
        most={"rounds": (10, "rounds that are tried")},
    ),
    "check_policy": Call(
        lambda: (sa.check_policy, {"policy": sa.CUCB(), "dimension": 1, "seed": 0}),
        most={"dimension": (100, "features of a context")},
        lookalikes=FRAMES,
    ),
    # --- federated learning
    "federated.ClientProfile": Call(
        _with(sa.federated.ClientProfile, client_id="a", num_examples=8, limit=0.5), takes={"client_id": PATH}
    ),
    "federated.Menu": Call(_with(sa.federated.Menu, fractions=(0.5, 1.0), local_steps=(1, 2))),
    "federated.Menu.__call__": Call(_with(sa.federated.Menu().__call__, profile=PROFILE)),
    "federated.Request": Call(
        _with(sa.federated.Request, client_id="a", num_records=4, local_steps=2), takes={"client_id": PATH}
    ),
    "federated.Request.from_id": Call(_with(sa.federated.Request.from_id, id="a:4:2")),
    "federated.Request.context": Call(_with(REQUEST.context, global_loss=1.0)),
    "federated.Request.draw_seed": Call(_with(REQUEST.draw_seed, seed=0, server_round=1)),
    "federated.RequestSelector": Call(
        lambda: (
            sa.federated.RequestSelector,
            {"policy": sa.CUCB(), "at_most": 2, "per_client": 1, "menu": sa.federated.Menu()},
        ),
        takes={"menu": CALLABLE},
        lookalikes=FRAMES,
    ),
    "federated.RequestSelector.propose": Call(
        lambda: (
            sa.federated.RequestSelector(sa.CUCB()).propose,
            {"server_round": 1, "profiles": [PROFILE], "global_loss": 1.0},
        )
    ),
    "federated.RequestSelector.observe": Call(lambda: _proposed("observe")),
    "federated.RequestSelector.close": Call(lambda: _proposed("close")),
    "federated.calibrated_scores": Call(
        _with(sa.federated.calibrated_scores, losses_before=[1.0, 2.0], losses_after=[0.5, 0.1])
    ),
    "federated.membership_advantage": Call(
        _with(sa.federated.membership_advantage, member_scores=[1.0, 2.0], nonmember_scores=[0.5, 0.1])
    ),
    "federated.null_check": Call(_with(sa.federated.null_check, advantages=[0.1, -0.1])),
    "federated.DrawnUtility": Call(_with(sa.federated.DrawnUtility, seed=0)),
    "connect": Call(_with(sa.connect, workers="here")),
    "check_store": Call(_with(sa.check_store, make_store=MemoryStore), takes={"make_store": CALLABLE}),
    "check_environment": Call(
        lambda: (sa.check_environment, {"environment": federated(), "rounds": 2, "repetitions": 5, "seed": 0}),
        most={"rounds": (10, "rounds that are looked at"), "repetitions": (100, "draws of the outcomes")},
    ),
}

CHECKED = "superarm calls it with arrays that it has checked, once for every group of every round"
RECORD = "a record that superarm fills; it holds what it is given"
HELPER = "a helper of its room, whose callers have checked what they pass on"
PROTOCOL = "a contract, which nobody calls"
PYTHON = "an enumeration, whose look-up is Python's"
FORM = "what a group reward says of itself; check_group_reward tells whether it is true"
UTILITY = "plugged into a loop of federated learning, which calls it with the updates that it has received"
# Public callables at which nothing is thrown, and why.
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        ("ShardedSelection", "Outcomes", "TouchedGroup", "UntriedGroup", "Selection", "Indices", "calibration.Verdict"),
        RECORD,
    ),
    **dict.fromkeys(("theory.RoundGains", "theory.GreedyGain", "theory.FeasibleGain", "theory.Bounds"), RECORD),
    **dict.fromkeys(("theory.RunBounds", "theory.KernelRate", "regret.Performance"), RECORD),
    **{f"normal_forms.{name}": FORM for name in ("Filter", "Witness", "WeightedSum", "Blocks", "Dispersion")},
    **{f"datasets.download.{name}": HELPER for name in ("load_frame", "keep_frame", "checked_console", "byte_bar")},
    "datasets.fashion_mnist.Pictures": RECORD,
    "datasets.movielens.report_fetch": HELPER,
    "Decision": RECORD,
    **{f"federated.{name}": RECORD for name in ("Proposal", "Outcome", "NullCheck", "Update")},
    **{f"federated.{name}": UTILITY for name in ("leave_one_out", "standalone", "reported", "DrawnUtility.__call__")},
    "federated.Utility": PROTOCOL,
    "Session": "made by Session.open",
    "Catalogue": "made by Catalogue.write and Catalogue.open",
    **{
        f"{client}{method}": "asks a service, whose sessions refuse what they must: tests/service/test_client.py"
        for client in ("Client", "AsyncClient")
        for method in (
            *("", ".decide", ".observe", ".observe_many", ".correct", ".record", ".rebase", ".played", ".withdraw"),
            *(".decision", ".explain", ".decisions", ".pending", ".outcomes", ".promises", ".calibration"),
            *(".ledger", ".glance", ".events", ".reconfigure", ".redact", ".close"),
        )
    },
    **dict.fromkeys(("regret.super_arm_regret", "regret.total_regret"), "arithmetic, of columns as of numbers"),
    **dict.fromkeys(("Comparable", "Workers", "Place", "environments.Environment", "posteriors.Posterior"), PROTOCOL),
    **dict.fromkeys(("posteriors.Kernel", "posteriors.InducingRule"), PROTOCOL),
    **dict.fromkeys(("Sense", "Status", "Kind", "calibration.Finding"), PYTHON),
}
# Methods of contracts, on whatever class: what superarm calls in its loops.
INNER: dict[str, str] = dict.fromkeys(
    (
        *("value", "values", "scores", "transform", "normal_form", "check_size", "entries"),  # of rewards
        *("attainable", "whole", "has_size", "root"),  # of normal forms
        *("caps", "totals", "thresholds", "allows", "largest_sum", "most_groups"),  # of feasible sets and constraints
        *("diagonal", "into", "choose", "gradients", "parameters", "with_parameters"),  # of kernels and inducing rules
        *("by_lengthscale", "reciprocals", "slopes", "slopes_of"),  # of kernels with lengthscales
        *("described", "is_free", "is_good", "is_closed", "kept", "margins", "valued"),  # of good subgroups
    ),
    CHECKED,
)
STATIONARY = ("SquaredExponential", "Matern12", "Matern32", "Matern52", "Laplacian", "RationalQuadratic")
KERNELS = (*STATIONARY, "Linear", "Categories")
LEFT_OUT |= {f"{name}.__call__": CHECKED for name in (*KERNELS, "posteriors.SumKernel", "posteriors.ProductKernel")}
