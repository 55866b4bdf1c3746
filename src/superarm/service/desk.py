"""Calls that write, of all sessions: one thread does what has come, and commits it together.

The interpreter runs one thread at a time, and to hand over from one to the other costs more than most calls. So one
thread, the clerk, does all calls that wait, each up to where it would wait for the disk; then one commit makes them
durable, and all are answered. A clerk that does not come to an end, as with a round of many arms, keeps nobody waiting:
another takes its place, with all that it left.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from superarm.service.problems import Busy
from superarm.sessions.running import Steps, Wait, finished

A = TypeVar("A")
PATIENCE = 0.02  # seconds that a call may take before another clerk goes on with the others
LONGEST = 0.02  # seconds that a call which is done may wait for others to be committed with
MANY = 64  # calls that are committed together


@dataclass(eq=False)
class Job(Generic[A]):
    """A call that is awaited, and its result."""

    call: Callable[[], Steps[A]]
    future: asyncio.Future[A]
    until: float  # when it is too late to begin
    steps: Steps[A] | None = None
    wait: Wait | None = None
    value: A | None = None
    error: BaseException | None = None

    def begin(self) -> None:
        """Do it up to where it waits for the journal."""
        try:
            if time.perf_counter() > self.until:
                raise Busy("the service was busy for too long; nothing was done")
            self.steps = self.call()
            self.wait = next(self.steps)
        except StopIteration as end:
            self.value = end.value
        except BaseException as error:  # whatever it is: whoever awaits the call is told, in the event loop
            self.error = error

    def end(self) -> None:
        """Do the rest, when what it waits for is durable, or could not be kept."""
        if self.wait is not None and self.steps is not None:
            try:
                self.value = finished(self.steps, self.wait)
            except BaseException as error:  # as above
                self.error = error

    def tell(self) -> None:
        """Answer whoever awaits it; in the event loop."""
        if self.future.done():  # nobody awaits it any more
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)  # type: ignore[arg-type]  # where there is no error there is a value


@dataclass(eq=False)
class Clerk:
    """A thread at the desk, and since when it is at what it does."""

    since: float = field(default_factory=time.perf_counter)


class Desk:
    """Where calls wait for a clerk.

    Parameters
    ----------
    threads
        lends threads to clerks
    """

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._changing = threading.Lock()  # of what follows
        self._jobs: deque[Job[Any]] = deque()
        self._begun: list[Job[Any]] = []  # but for the commit
        self._first = 0.0  # when the first of them was
        self._clerk: Clerk | None = None
        self._watched = False

    async def do(self, call: Callable[[], Steps[A]], until: float) -> A:
        """What a call comes to, done by a clerk."""
        loop = asyncio.get_running_loop()
        job: Job[A] = Job(call, loop.create_future(), until)
        with self._changing:
            self._jobs.append(job)
            alone = self._clerk is None
        if alone:
            loop.call_soon(self._hire)  # when all that has come is read
        return await job.future

    def _hire(self) -> None:
        with self._changing:
            if self._clerk is None and self._jobs:
                self._take_on()
        if not self._watched:
            self._watched = True
            asyncio.get_running_loop().call_later(PATIENCE, self._watch)

    def _take_on(self) -> None:
        self._clerk = Clerk()
        self._threads.submit(self._work, self._clerk)

    def _watch(self) -> None:
        """Let another clerk take the place of one that is at one thing for long."""
        with self._changing:
            clerk = self._clerk
            if clerk is not None and (self._jobs or self._begun) and time.perf_counter() - clerk.since > PATIENCE:
                self._take_on()
        self._watched = clerk is not None
        if self._watched:
            asyncio.get_running_loop().call_later(PATIENCE, self._watch)

    def _work(self, clerk: Clerk) -> None:
        while (found := self._next(clerk)) is not None:
            if isinstance(found, Job):
                found.begin()
                if self._left(clerk, found):
                    continue
                found = [found]
            self._finish(found)

    def _finish(self, jobs: list[Job[Any]]) -> None:
        """Commit and answer jobs; where stores commit each session by itself, in as many threads."""
        together = [job for job in jobs if job.wait is None or job.wait.journal.together]
        alone: dict[Any, list[Job[Any]]] = {}
        for job in jobs:
            if job.wait is not None and not job.wait.journal.together:
                alone.setdefault(job.wait.journal, []).append(job)
        groups = [group for group in (*alone.values(), together) if group]
        for group in groups[:-1]:
            self._threads.submit(_finish, group)
        _finish(groups[-1])

    def _next(self, clerk: Clerk) -> Job[Any] | list[Job[Any]] | None:
        """What a clerk is to do: a job, a commit of those begun, or nothing more."""
        with self._changing:
            if self._clerk is not clerk:
                return None
            clerk.since = time.perf_counter()
            late = self._begun and (clerk.since - self._first > LONGEST or len(self._begun) >= MANY)
            if self._jobs and not late:
                return self._jobs.popleft()
            if self._begun:
                begun, self._begun = self._begun, []
                return begun
            self._clerk = None
            return None

    def _left(self, clerk: Clerk, job: Job[Any]) -> bool:
        """Leave a job for the next commit, unless another clerk has taken the place."""
        with self._changing:
            if self._clerk is not clerk:
                return False
            if not self._begun:
                self._first = time.perf_counter()
            self._begun.append(job)
            return True


def _finish(jobs: Sequence[Job[Any]]) -> None:
    """Commit what jobs wait for, all journals together, and end and answer them."""
    journals = dict.fromkeys(job.wait.journal for job in jobs if job.wait is not None)
    ends = [end for journal in journals if (end := journal.lead()) is not None]
    for end in ends:
        with suppress(BaseException):  # whoever waits for the journal is told of it, and so are these jobs
            end()
    for job in jobs:
        job.end()
    jobs[0].future.get_loop().call_soon_threadsafe(_tell, jobs)


def _tell(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        job.tell()
