"""The sessions that a service holds: opened once, asked in threads, each with a queue of its own."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from superarm.errors import Conflict, StoreUnavailable, SuperarmError, UnreadableFile
from superarm.feasible import AtMost
from superarm.kernels.stationary import Matern52
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import Policy
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.gaussian_process import ExactPosterior
from superarm.rewards.simple import Sum
from superarm.round import Round
from superarm.service.catalogues import Catalogues
from superarm.service.counters import Counters, caught_up
from superarm.service.desk import Desk
from superarm.service.metrics import Metrics
from superarm.service.problems import Busy, UnknownSession
from superarm.sessions.counts.reads import bins, totals
from superarm.sessions.running import Steps
from superarm.sessions.session import Session
from superarm.sessions.stores.shelf import Shelf, shelf_at

A = TypeVar("A")
logger = logging.getLogger("superarm.service")
WIDTH = 8  # requests of a session that are at work together: while one is committed the next ones are made
THREADS = 64
COUNTING = 0.02  # seconds that a look at the metrics may count promises of a session
AGAIN = 1.0  # seconds after which a store that cannot be reached is asked again
FAILED = 10.0  # seconds for which a commit that failed makes the service unready, unless another succeeds
RUNNING, PAUSED, ARCHIVED = "running", "paused", "archived"


@dataclass(eq=False)
class Held:
    """A session that is open, and how many requests are in it."""

    session: Session
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WIDTH))
    inside: int = 0


def warm_up() -> None:
    """Load the compiled loops, or compile them, by a few rounds that nobody keeps."""
    round = Round(
        t=1, contexts=np.linspace(0.0, 1.0, 8)[:, None], groups=[0, 1] * 4, constraint=Sum() >= 0.1, feasible=AtMost(3)
    )
    posterior = ExactPosterior(Matern52(lengthscale=0.5), noise_std=0.1)
    policies: tuple[Policy, ...] = (TCGPUCB(posterior, learn=False), TCGPUCB(), CautiousTCGPUCB())
    for policy in policies:
        arms = policy.select(round).arms
        policy.update(round, arms, np.full((len(arms), 2), 0.5))
        policy.select(round)


class Sessions:
    """All sessions of a store.

    Parameters
    ----------
    store
        path of a file, or an address, as :meth:`superarm.Session.open` takes it
    queue
        requests of one session that may wait or be at work; more are refused
    durability
        as of :meth:`superarm.Session.open`
    """

    def __init__(self, store: str, *, queue: int = 64, durability: str = "full") -> None:
        self.store, self.queue, self.durability = store, queue, durability
        self.shelf: Shelf = shelf_at(store)
        self.catalogues = Catalogues(self.shelf)
        self.metrics, self.counters = Metrics(), Counters()
        self._states: dict[str, str] = {}
        self.refresh()
        self.ready = False
        self._failed_until = 0.0  # until when a commit that failed is held against the store
        self._held: dict[str, Held] = {}
        self._opening = threading.Lock()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="session")
        self._desk = Desk(self._pool)

    async def start(self) -> None:
        """Open all sessions, so that the first requests do not wait for a replay; then the service is ready.

        A session that cannot be read is left out: the others are served. A store that cannot be reached is asked again.
        """
        await self.apart(warm_up)
        while not self.ready:
            try:
                for name in await self.apart(self.names):
                    await self._begun(name)
                self.ready = True
            except StoreUnavailable as error:
                logger.error("the store cannot be used, and is asked again: %s", error)
                await asyncio.sleep(AGAIN)

    async def _begun(self, name: str) -> None:
        try:
            await self.held(name)
        except StoreUnavailable:
            raise
        except Exception as error:  # of whatever its policy is made of
            logger.error("session %r cannot be opened: %s", name, error)

    async def readable(self, names: Sequence[str]) -> tuple[list[tuple[str, Session]], dict[str, str]]:
        """Those sessions that can be opened, and why the others cannot."""
        found, unreadable = [], {}
        for name in names:
            try:
                found.append((name, (await self.held(name)).session))
            except UnreadableFile as error:
                unreadable[name] = str(error)
        return found, unreadable

    async def readiness(self) -> str:
        """ready, or what is still to come or out of reach, in a word."""
        if not self.ready:
            return "starting"
        if time.monotonic() < self._failed_until:
            return "unreachable"
        try:
            await self.apart(self.shelf.check)
        except SuperarmError:
            return "unreachable"
        return "ready"

    def names(self) -> list[str]:
        """Of all sessions that have begun."""
        return self.shelf.sessions()

    def states(self) -> dict[str, str]:
        """Sessions that are paused or archived, as this process knows them."""
        return self._states

    def refresh(self) -> None:
        """Read again which sessions are paused or archived: another process may have said so."""
        self._states = self.shelf.read("state")

    async def apart(self, call: Callable[[], A]) -> A:
        """What a call returns, made in a thread, while the event loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def held(self, name: str) -> Held:
        """A session that is open, or is opened now."""
        found = self._held.get(name)
        return found if found is not None else await self.apart(lambda: self._open(name))

    def _open(self, name: str) -> Held:
        with self._opening:  # one of those who ask for it opens it
            found = self._held.get(name)
            if found is None:
                if name not in self.names():
                    raise UnknownSession(name)
                found = Held(Session.open(self.store, name=name, durability=self.durability))
                self._held[name] = found
            return found

    async def create(self, name: str, policy: Policy, settings: dict[str, Any]) -> Held:
        """A new session."""

        def make() -> Held:
            with self._opening:
                if name in self._held or name in self.names():
                    raise Conflict(f"there is a session {name!r} already")
                session = Session.open(self.store, name=name, policy=policy, durability=self.durability, **settings)
                return self._held.setdefault(name, Held(session))

        return await self.apart(make)

    async def do(self, name: str, call: Callable[[Session], A]) -> A:
        """What a call of a session returns; refused where too many wait."""
        async with self._room(name, None) as session:
            return await self.apart(lambda: call(session))

    async def write(self, name: str, call: Callable[[Session], Steps[A]], *, patience: float | None = None) -> A:
        """What a call in steps returns, committed with others; refused as by :meth:`do`, or after ``patience``."""
        until = math.inf if patience is None else time.perf_counter() + patience
        async with self._room(name, patience) as session:
            try:
                made = await self._desk.do(lambda: call(session), until)
            except StoreUnavailable:
                self._failed_until = time.monotonic() + FAILED
                raise
            self._failed_until = 0.0
            return made

    @asynccontextmanager
    async def _room(self, name: str, patience: float | None) -> AsyncIterator[Session]:
        """Room for a request in a session; refused where too many wait, or there is none within ``patience``."""
        held = await self.held(name)
        if held.inside >= self.queue:
            raise Busy(f"{held.inside} requests of session {name!r} wait already; nothing was done")
        held.inside += 1
        try:
            begun = time.perf_counter()
            try:
                await asyncio.wait_for(held.gate.acquire(), patience)
            except TimeoutError:
                waited = time.perf_counter() - begun
                raise Busy(f"no room within {waited:.3f} s in session {name!r}; nothing was done") from None
            try:
                yield held.session
            finally:
                held.gate.release()
        finally:
            held.inside -= 1

    def measured(self, covers: Callable[[str], bool]) -> bytes:
        """The metrics, with how sessions stand now; what is not counted of promises within moments is said."""
        for name, held in [(name, held) for name, held in list(self._held.items()) if covers(name)]:
            counts = self.counters.of(name, held.session)
            missing = caught_up(counts, COUNTING)
            sums = totals(bins(counts.tables, counts.mark()))
            self.metrics.looked(name, held.session.out, _balance(held.session), sums, missing)
        self.metrics.ready.set(self.ready)
        return self.metrics.text(covers)

    async def switch(self, name: str, state: str) -> None:
        """Pause a session, archive it, or let it go on."""
        await self.held(name)
        await self.apart(lambda: self.shelf.write("state", name, None if state == RUNNING else state))
        await self.apart(self.refresh)

    def close(self) -> None:
        """End the threads, then let go of all sessions, each with a snapshot."""
        self._pool.shutdown(wait=True)
        for held in self._held.values():
            held.session.close()
        self._held.clear()
        self.shelf.close()


def _balance(session: Session) -> float | None:
    """Of the account of risk, where the policy keeps one."""
    ledger = getattr(session._running.durable().policy, "ledger", None)
    return None if ledger is None else float(ledger.account.balance)
