"""Compiled loops are announced when they are compiled; small work takes one thread of the matrix library."""

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import superarm as sa
from superarm import compiled
from superarm.compiled import LARGE, suited_to
from superarm.posteriors.engines.factor import BLOCK
from superarm.posteriors.learning import evidence
from superarm.posteriors.model import breaks


class Loops(ModuleType):
    """A module whose warm-up takes a while: it compiles, or only loads what was compiled before."""

    def __init__(self, compiles):
        super().__init__("superarm.slow_loops")
        misses = {"signature": 1} if compiles else {}
        self.fill = SimpleNamespace(stats=SimpleNamespace(cache_misses=misses, cache_hits={"signature": 1}))

    def warm_up(self):
        time.sleep(0.3)


@pytest.mark.parametrize("compiles", [True, False])
def test_the_notice_comes_once_and_only_when_loops_are_compiled(compiles, monkeypatch, caplog):
    monkeypatch.setattr(compiled, "NOTICE_AFTER", 0.05)
    monkeypatch.setattr(compiled, "NOTICE_AGAIN", 0.05)
    loops = Loops(compiles)
    monkeypatch.setitem(sys.modules, loops.__name__, loops)
    with caplog.at_level(logging.WARNING, logger="superarm"):
        assert compiled.loops(loops.__name__, f"compiling {compiles}") is loops
        assert compiled.loops(loops.__name__, f"compiling {compiles}") is loops
    assert [record.message for record in caplog.records] == ["superarm: compiling True"] * compiles


def test_numba_counts_what_it_compiles():
    from superarm.kernels import loops

    loops.warm_up()
    stats = loops.fill.stats
    assert sum(stats.cache_misses.values()) + sum(stats.cache_hits.values()) > 0


def threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_small_work_takes_one_thread_and_large_work_all():
    with suited_to(LARGE / 2):
        assert threads() == {1}
        with suited_to(0):
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}
    with suited_to(LARGE):
        assert threads() == {2}
    with pytest.raises(ZeroDivisionError), suited_to(0):
        raise ZeroDivisionError
    assert threads() == {2}


@pytest.mark.filterwarnings("ignore::superarm.errors.ModelWarning")
def test_a_policy_learns_with_one_thread(monkeypatch):
    """Several wait for each other: on a busy machine, learning took twenty times as long."""
    found = {}

    def recorded(module, name):
        whole = getattr(module, name)

        def call(*arguments, **named):
            found.setdefault(name, set()).update(threads())
            return whole(*arguments, **named)

        monkeypatch.setattr(module, name, call)

    recorded(evidence, "evaluate")
    recorded(breaks, "solve_triangular")
    world = sa.environments.WrongWorld("drift abrupt", "sum", seed=1)
    sa.simulate(sa.CautiousTCGPUCB(world.prior), world, rounds=34)
    assert found == {"evaluate": {1}, "solve_triangular": {1}}


class Watched:
    """A kernel that notes how many threads there are whenever it is asked."""

    def __init__(self):
        self.inner, self.seen = sa.SquaredExponential(lengthscale=0.1), set()

    def __call__(self, x, y):
        self.seen |= threads()
        return self.inner(x, y)

    def diagonal(self, x):
        return self.inner.diagonal(x)


@pytest.mark.parametrize("kind", [sa.ExactPosterior, sa.SparsePosterior, sa.GaussianProcess])
def test_posteriors_of_few_contexts_take_one_thread(kind):
    x = np.random.default_rng(0).random((60, 1))
    kernel = Watched()
    posterior = kind(kernel, 0.1).condition(x, np.hstack([x, 1 - x]))
    kernel.seen.clear()
    posterior.predict(x)
    posterior.covariance(x, x[:5])
    assert kernel.seen == {1}
    assert threads() == {2}


def test_many_contexts_are_learnt_by_all_threads_and_predicted_by_one():
    """A belief has the same bits whatever is asked for with it, which more threads would not promise."""
    x = np.random.default_rng(0).random((9 * BLOCK, 1))
    kernel, y = Watched(), np.hstack([x, 1 - x])
    posterior = sa.ExactPosterior(kernel, 0.1).condition(x[:-BLOCK], y[:-BLOCK])
    kernel.seen.clear()
    posterior = posterior.condition(x[-BLOCK:], y[-BLOCK:])
    assert kernel.seen == {2}
    kernel.seen.clear()
    posterior.predict(np.random.default_rng(1).random((1000, 1)))
    assert kernel.seen == {1}


def test_no_thread_changes_the_threads_of_others():
    """The first of those inside sets the number, and the last sets it back; a large product waits for its turn."""
    inside, leave, seen = threading.Event(), threading.Event(), []

    def small():
        with suited_to(0):
            inside.set()
            leave.wait(30)
            seen.append(("small", threads()))

    def large():
        with suited_to(LARGE):
            seen.append(("large", threads()))

    first = threading.Thread(target=small)
    first.start()
    assert inside.wait(30)
    with suited_to(0):
        pass
    assert threads() == {1}  # the other one is still inside
    other = threading.Thread(target=large)
    other.start()
    other.join(0.2)
    assert other.is_alive()
    leave.set()
    for thread in (first, other):
        thread.join(30)
    assert seen == [("small", {1}), ("large", {2})]
    assert threads() == {2}


def test_whoever_is_inside_goes_on():
    with suited_to(LARGE):
        with suited_to(0):
            assert threads() == {1}
        assert threads() == {2}
    with suited_to(0), suited_to(LARGE):
        assert threads() == {1}
    assert threads() == {2}


def test_all_loops_are_compiled_at_once():
    source = Path(sa.__file__).parent
    found = [path for path in source.rglob("*.py") if "\ndef warm_up" in path.read_text("utf-8")]
    found.remove(source / "service" / "sessions.py")  # it has no loops of its own
    modules = [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in found]
    modules = [module.removesuffix(".__init__") for module in modules]
    assert len(modules) >= 5
    code = f"""
import sys
from superarm.cli import app
app(["compile"], standalone_mode=False)
print("missing", [module for module in {modules} if module not in sys.modules])
"""
    said = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "ready: all loops are compiled" in said
    assert "missing []" in said
