"""Throw one value at one argument, and say what came of it that should not."""

import itertools
import math
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

import superarm as sa
from tests.nasty.calls import CONTEXTS, PAIRS, Call, a_round
from tests.nasty.values import KINDS, REFUSED, Failure

SECONDS = 30.0  # that a throw may take, also where it compiles a loop on a busy machine
MEMORY = 2 << 30  # bytes that all throws of a call may take above what is taken before


class TooLong(BaseException):
    """A throw took longer than it may; no handler of the code under test catches this."""


@contextmanager
def limits() -> Iterator[None]:
    """Let nothing take all memory: it fails by MemoryError, which is no error of superarm's."""
    if not sys.platform.startswith("linux"):
        yield
        return
    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def _time() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def thrown(call: Call, argument: str, value: Any) -> bool:
    """Whether the table lets this value be thrown at this argument: it may bound how large a number is."""
    most = call.most.get(argument)
    if most is None:
        return True
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    return not (isinstance(value, Real) and not (isinstance(value, float) and math.isnan(value)) and value > most[0])


def fault(call: Call, argument: str, kind: str, name: str, make: Callable[[], Any]) -> str | None:
    """What is wrong with how the callable meets the value: None where it refuses as superarm does, or works."""
    function, arguments = call.make()
    value = make()
    if (argument, name) in call.lookalikes or not thrown(call, argument, value):
        return None
    arguments[argument] = value
    try:
        with warnings.catch_warnings(), _time():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="hyperparameters were learnt")
            used(function(**arguments))
    except (sa.errors.SuperarmError, OSError, Failure):
        return None
    except TooLong:
        return f"took more than {SECONDS:g} s"
    except TypeError as error:
        # A function with other parameters than it is called with is the caller's own.
        if callable(value) and "callables" in call.takes.get(argument, ()):
            return None
        return f"TypeError: {str(error)[:200]}"
    except BaseException as error:  # no other is allowed, whatever it is
        return f"{type(error).__name__}: {str(error)[:200]}"
    if kind in REFUSED and kind not in call.takes.get(argument, ()):
        return "was taken"
    return None


def used(result: Any) -> None:
    """Use what a call gave as a caller would: what is taken must also work."""
    repr(result)
    if isinstance(result, (pl.DataFrame, type)):
        return
    if isinstance(result, Iterator):
        list(itertools.islice(result, 2))
    elif isinstance(result, sa.environments.Environment):
        for round in itertools.islice(result.rounds(np.random.default_rng(0)), 2):
            result.outcomes(round, np.random.default_rng(0))
    elif isinstance(result, sa.Learners):
        batch = result.select(["ann"], [[0]], feasible=sa.AtMost(1))
        result.update(batch, np.zeros((1, 1, 2)))
        result.close()
    elif hasattr(result, "select") and hasattr(result, "update"):
        if not isinstance(result, sa.Clairvoyant):
            selection = result.select(a_round())
            if isinstance(selection, sa.Selection):  # an oracle of one's own may return anything
                result.update(a_round(), selection.arms, PAIRS[: len(selection.arms)])
    elif hasattr(result, "predict") and hasattr(result, "condition"):
        result.condition(CONTEXTS, PAIRS).predict(CONTEXTS)
    elif callable(result) and hasattr(result, "diagonal"):
        result(CONTEXTS, CONTEXTS), result.diagonal(CONTEXTS)
    elif isinstance(result, (sa.Independent, sa.Coregionalised)):
        used(sa.ExactPosterior(result, 0.1))
    elif isinstance(result, (sa.AtMost, sa.Exactly, sa.WholeGroups)):
        used(a_round(feasible=result))
    elif isinstance(result, sa.Constraint):
        used(a_round(constraint=result))
    elif isinstance(result, sa.TransformedSum):
        used(a_round(reward=result))
    elif hasattr(result, "monotone"):
        used(a_round(constraint=result >= 0.2))
    elif isinstance(result, (sa.RandomSubset, sa.GreedyVariance)):
        used(sa.SparsePosterior(sa.Matern52(), 0.1, inducing=result))
    elif isinstance(result, sa.Learning):
        sa.ExactPosterior(sa.Matern52(), 0.1).condition(CONTEXTS, PAIRS).learned(result)
    elif isinstance(result, sa.Round):
        arms = sa.CUCB().select(result).arms
        sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(), 0.1)).select(result)
        sa.Outcomes.of(result, arms, np.zeros((len(arms), 2)))


def values() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Every nasty value: its kind, its name and how it is made."""
    for kind, made in KINDS.items():
        for name, make in made.items():
            yield kind, name, make
