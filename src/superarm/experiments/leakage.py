"""The study of measured leakage: federated learning in which every client limits what its updates leak.

Unlike in the other studies there is no fixed truth behind the arms: the model learns, and what a request leaks changes
with it. So the study has a loop of its own, that of :mod:`superarm.federated`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from superarm.experiments.experiment import BENCHMARK, DataKind, Experiment, Maker, Setting
from superarm.experiments.paper import DELTA, ZETA, known
from superarm.federated import softmax
from superarm.federated.clients import dealt
from superarm.federated.loop import learn
from superarm.federated.requests import Menu, Request
from superarm.federated.selector import RequestSelector
from superarm.federated.softmax import Records
from superarm.federated.updates import Model
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.policies.baselines.reference import Uniform
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import Policy
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.policies.ties import tie_order
from superarm.round import Outcomes, Round
from superarm.selection import Selection, Status
from superarm.simulation import Entropy, certified, stream

MENU = Menu(fractions=(0.1, 0.25, 0.5, 1.0), local_steps=(2, 8, 32))
LIMITS = (0.15, 0.6)  # range of the limits of clients, which are uniform
RERUNS = 40  # repetitions of a request to measure its expected leakage
ERRORS = 2.0  # standard errors above its limit from which on a request counts as broken
ALIKE = ("alike (IID)", "not alike (non-IID)")  # clients, in even and in odd runs
BLIND, RANDOM = "feasible-random", "uniform"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large a world is.

    Attributes
    ----------
    clients
        how many
    most
        requests in a round, one a client
    each
        records of a client, half of them held out for its audit; None: as many as there are
    judged, reported
        records of the server: for losses and utilities, and for the report
    """

    clients: int = 12
    most: int = 5
    each: int | None = None
    judged: int = 200
    reported: int = 200


DIGITS, CLOTHES = Scale(), Scale(clients=40, most=10, each=240, judged=1000, reported=1000)


class World:
    """Clients with their records and limits, the server's records, and the model as it is now."""

    def __init__(self, records: Records, *, alike: bool, seed: int, scale: Scale = DIGITS) -> None:
        rng = np.random.default_rng(seed)
        ends = scale.judged, scale.judged + scale.reported
        many = len(records) if scale.each is None else ends[1] + scale.clients * scale.each
        shuffled = records[rng.permutation(len(records))[:many]]
        self.alike, self.seed, self.scale = alike, seed, scale
        self.judged_by, self.report = shuffled[: ends[0]], shuffled[ends[0] : ends[1]]
        clients = dealt(shuffled[ends[1] :], rng.uniform(*LIMITS, scale.clients), rng, alike=alike)
        self.clients = {client.client_id: client for client in clients}
        self.model = softmax.untrained(records.features.shape[1], int(records.labels.max()) + 1)
        self._expected: dict[str, tuple[float, float]] = {}

    def move(self, model: Model) -> None:
        """Continue with another model."""
        self.model = model
        self._expected = {}

    def expected(self, request: Request, t: int) -> tuple[float, float]:
        """The expected leakage of a request to train the present model, and its standard error."""
        if request.id not in self._expected:
            rng = np.random.default_rng(request.draw_seed(self.seed, t))
            self._expected[request.id] = self.clients[request.client_id].expected_leakage(
                request, self.model, RERUNS, rng
            )
        return self._expected[request.id]


class FeasibleByTruth:
    """Knows the expected leakage of every request, and draws at random among those that keep their limit."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.seed = world, seed

    def select(self, round: Round) -> Selection:
        """Requests in random order, one a client, each if it keeps the limit."""
        order, arms, asked = tie_order(round, self.seed), list[int](), set[str]()
        for arm in order.tolist():
            request = Request.from_id(str(round.arm_ids[arm]))
            if len(arms) == self.world.scale.most:
                break
            if request.client_id in asked:
                continue
            if self.world.expected(request, round.t)[0] <= self.world.clients[request.client_id].limit:
                arms.append(arm)
                asked.add(request.client_id)
        return Selection.of(
            sorted(arms),
            round=round,
            index=np.zeros(len(round)),
            good=GoodSubgroups(round, None, order),
            upper_bound=0.0,
            status=Status.OPTIMAL,
            solver="feasible by the truth",
        )

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn nothing."""


class WithoutUtility:
    """A cautious policy that gets random numbers instead of utilities: its picks are feasible, but random otherwise."""

    def __init__(self, policy: CautiousTCGPUCB, seed: int) -> None:
        self.policy, self.seed, self.confidence = policy, seed, policy.confidence

    def select(self, round: Round) -> Selection:
        """As the policy does."""
        return self.policy.select(round)

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn only the leakage."""
        learnt = Outcomes.of(round, arms, outcomes)
        lots = np.random.default_rng((self.seed, round.t)).uniform(size=len(learnt.arms))
        self.policy.update(round, learnt.arms, np.column_stack([lots, learnt.values[:, 1]]))


class _Timed:
    """A policy and the durations of its last calls."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.select_seconds, self.update_seconds = policy, 0.0, 0.0

    def select(self, round: Round) -> Selection:
        start = time.perf_counter()
        selection = self.policy.select(round)
        self.select_seconds, self.update_seconds = time.perf_counter() - start, 0.0
        return selection

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        start = time.perf_counter()
        self.policy.update(round, arms, outcomes)
        self.update_seconds += time.perf_counter() - start


def play(policy: Policy, world: World, *, rounds: int, seed: Entropy) -> Iterator[dict[str, Any]]:
    """Play and yield one row per round, in the columns of every study.

    The reward of a round is the accuracy of the model after it, on records that serve no other purpose. A touched
    client is satisfied unless the expected leakage of a request, the mean of ``RERUNS`` of them, is above its limit by
    two standard errors; what is above is its group regret.
    """
    draws = int(stream(seed, "records").integers(2**48))
    timed = _Timed(policy)
    selector = RequestSelector(timed, at_most=world.scale.most, menu=MENU)
    learning = learn(list(world.clients.values()), selector, world.judged_by, seed=draws, model=world.model)
    for each in itertools.islice(learning, rounds):
        selection, t = each.proposal.selection, each.proposal.server_round
        kept, regret = _kept(world, each.proposal.requests, selection, t)
        world.move(each.after)
        yield {
            "t": t,
            "arms": selection.arms.tolist(),
            "reward": softmax.accuracy(each.after, world.report),
            "group_regret": regret,
            "groups_touched": len(kept),
            "groups_satisfied": sum(kept),
            "status": selection.status.name,
            "alpha": selection.alpha,
            "select_seconds": timed.select_seconds,
            "update_seconds": timed.update_seconds,
            "kind": None if selection.kind is None else selection.kind.name,
            "predicted_broken": selection.predicted_broken,
            "covered_1": None,
            "covered_2": None,
            **certified(policy, selection, kept),
        }


def _kept(world: World, requests: tuple[Request, ...], selection: Selection, t: int) -> tuple[list[bool], float]:
    """Whether each touched client's limit was kept, in the order of the selection's groups, and the group regret."""
    above = dict.fromkeys((str(group.label) for group in selection.groups), 0.0)
    for request in requests:
        mean, error = world.expected(request, t)
        over = mean - world.clients[request.client_id].limit
        if over > ERRORS * error:
            above[request.client_id] = max(above[request.client_id], over)
    return [over == 0.0 for over in above.values()], sum(above.values())


def leakage(records: Records, label: str, kind: DataKind, scale: Scale = DIGITS) -> Experiment:
    """Measured leakage: T = 30, 20 runs, clients alike in every second one.

    Settings were tried out on worlds of the seeds 0 to 99, which no run draws: its seeds are numbers of 63 random bits.
    """
    systems: dict[str, Maker] = {
        "cautious": lambda s, confidence=0.99: CautiousTCGPUCB(confidence=confidence, seed=s.seed),
        BLIND: lambda s, confidence=0.99: WithoutUtility(CautiousTCGPUCB(confidence=confidence, seed=s.seed), s.seed),
        "tcgp-ucb-learned": lambda s, zeta=ZETA, delta=DELTA: TCGPUCB(zeta=zeta, delta=delta, seed=s.seed),
        RANDOM: lambda s: Uniform(seed=s.seed),
        BENCHMARK: _clairvoyant,
    }
    return Experiment(
        **known("leakage"),
        environment=lambda seed: World(records, alike=True, seed=seed, scale=scale),
        by_run=lambda run, seed: World(records, alike=run % 2 == 0, seed=seed, scale=scale),
        policies=systems,
        systems=systems,
        zeta=ZETA,
        settings={
            "clients": f"{scale.clients}, half of the records of each held out for its audit",
            "requests": f"at most {scale.most} a round, one a client",
            "menu": {"fractions of the records": list(MENU.fractions), "local steps": list(MENU.local_steps)},
            "promise": f"largest leakage of a client's requests <= U[{LIMITS[0]}, {LIMITS[1]}]",
            "leakage": "calibrated loss, 2 AUC - 1, measured by the client",
            "expected leakage": f"mean of {RERUNS} re-runs; broken if above the limit by {ERRORS:g} standard errors",
            "utility": f"leave one out, by the loss on {scale.judged} records of the server",
            "reward": f"accuracy after the round on {scale.reported} other records",
            "benchmark": "draws at random among the requests whose expected leakage keeps the limit",
            BLIND: "the cautious policy, with random numbers as utilities",
        },
        data=label,
        data_kind=kind,
        describe=lambda world: ALIKE[not world.alike],
        play=play,
    )


def _clairvoyant(setting: Setting) -> Policy:
    world = setting.environment
    assert isinstance(world, World)
    return FeasibleByTruth(world, setting.seed)
