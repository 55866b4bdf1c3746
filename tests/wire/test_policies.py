import json
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import superarm as sa
from superarm import errors, storage, wire
from tests.members import policies
from tests.policies.rounds import play

MEMBERS = [policy for policy in policies() if isinstance(policy, sa.policies.policy.StorablePolicy)]


@pytest.mark.parametrize("number", range(len(MEMBERS)))
def test_every_policy_travels_and_its_settings_are_plain_data(number):
    policy, other = MEMBERS[number], [p for p in policies() if isinstance(p, sa.policies.policy.StorablePolicy)][number]
    said = wire.settings(policy)
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    assert said["policy"] == type(policy).__name__
    assert wire.difference(policy, other) is None
    try:
        content = wire.policy_to_bytes(policy)
    except errors.NotStorable:
        return
    back = wire.policy_from_bytes(content)
    assert wire.policy_to_bytes(back) == content
    assert wire.difference(policy, back) is None


def test_policies_differ_where_their_settings_do():
    """Policies of which nothing was asked yet are all settings: these differ where the saved bytes do."""
    for i, one in enumerate(MEMBERS):
        for other in MEMBERS[:i]:
            try:
                same = wire.policy_to_bytes(one) == wire.policy_to_bytes(other)
            except errors.NotStorable:
                continue
            assert (wire.difference(one, other) is None) == same


@pytest.mark.parametrize(
    "make",
    [
        lambda: sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.3), noise_std=0.05)),
        lambda: sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.3), noise_std=0.05), learn=False),
        lambda: sa.TCGPUCB(sa.SparsePosterior(sa.Matern52(lengthscale=0.3), noise_std=0.05)),
        sa.TCGPUCB,
        sa.CUCB,
    ],
    ids=range(5),
)
def test_what_is_learnt_is_no_difference(make):
    fresh, played = make(), make()
    play(played, 2)
    assert wire.difference(fresh, played) is None
    assert wire.policy_to_bytes(fresh) != wire.policy_to_bytes(played)


def test_frames_are_loaded_when_they_are_asked_for():
    code = "import superarm.wire, sys; print([name for name in ('polars', 'numba') if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_policy_that_came_back_continues_bit_for_bit():
    one = sa.TCGPUCB()
    play(one, 3)
    other = wire.policy_from_bytes(wire.policy_to_bytes(one))
    assert play(one, 3, seed=5, first=4) == play(other, 3, seed=5, first=4)
    assert wire.policy_to_bytes(one) == wire.policy_to_bytes(other)


PRIOR = sa.GaussianProcess(sa.Matern52(lengthscale=0.3), noise_std=0.05)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (sa.TCGPUCB(), sa.CautiousTCGPUCB(), "policy: TCGPUCB and CautiousTCGPUCB"),
        (sa.TCGPUCB(zeta=0.3), sa.TCGPUCB(), "zeta: 0.3 and 0.5"),
        (sa.TCGPUCB(seed=1), sa.TCGPUCB(), "seed: 1 and 0"),
        (sa.TCGPUCB(PRIOR), sa.TCGPUCB(PRIOR, learn=False), "learn.class: Learning and nothing"),
        (
            sa.TCGPUCB(PRIOR),
            sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.4), noise_std=0.05)),
            "posterior.kernel.first.lengthscale: 0.3 and 0.4",
        ),
        (sa.TCGPUCB(oracle=sa.Greedy()), sa.TCGPUCB(oracle=sa.MILP()), "oracle.class: Greedy and MILP"),
        (
            sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(), 0.1, catalogue=np.eye(2))),
            sa.TCGPUCB(sa.ExactPosterior(sa.Matern52(), 0.1, catalogue=2 * np.eye(2))),
            "posterior.catalogue.digest: ",
        ),
    ],
    ids=range(7),
)
def test_a_difference_is_named(one, other, words):
    assert wire.difference(one, other).startswith(words)
    assert wire.difference(one, one) is None


def test_what_is_no_policy_is_refused():
    with pytest.raises(errors.InvalidArgument, match="policy: expected a policy"):
        wire.settings(3)
    with pytest.raises(errors.InvalidArgument, match="policy: expected bytes"):
        wire.policy_from_bytes("text")
    with pytest.raises(errors.UnreadableFile, match="policy: damaged"):
        wire.policy_from_bytes(b"other bytes")
    from superarm import storage

    with pytest.raises(errors.UnreadableFile, match="policy: holds a Sum, not a policy"):
        wire.policy_from_bytes(storage.to_bytes(sa.Sum()))


def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_does():
    array = np.arange(10_000.0)
    content = storage.to_bytes((array,) * 10_000)  # of 800 MB, each after the first by a word
    assert len(content) < 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(errors.UnreadableFile, match="times as much as the file is large"):
            wire.policy_from_bytes(content)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(content)
    finally:
        tracemalloc.stop()
