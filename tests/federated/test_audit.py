"""The audit: beside two referees, where nothing leaks, where everything does, and how it depends on the records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from superarm.errors import InvalidArgument
from superarm.federated.audit import calibrated_scores, membership_advantage, null_check
from superarm.federated.clients import SoftmaxClient
from superarm.federated.requests import Request
from superarm.federated.softmax import losses, trained, untrained
from tests.federated.digits import digits

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=12)  # few values: many ties


def enumerated(members, others):
    """2 AUC - 1 pair by pair."""
    return float(np.mean([np.sign(one - other) for one in members for other in others]))


@given(SCORES, SCORES)
def test_equals_enumeration_and_sklearn(members, others):
    found = membership_advantage(members, others)
    assert found == pytest.approx(enumerated(members, others), abs=1e-12)
    labels = [1] * len(members) + [0] * len(others)
    assert found == pytest.approx(2.0 * roc_auc_score(labels, members + others) - 1.0, abs=1e-12)


@given(SCORES, SCORES)
def test_changing_sides_changes_the_sign(members, others):
    assert membership_advantage(members, others) == pytest.approx(-membership_advantage(others, members), abs=1e-12)


def client(pool, held_out, rng):
    shuffled = digits()[rng.permutation(len(digits()))]
    return SoftmaxClient(client_id="c", limit=0.5, pool=shuffled[:pool], held_out=shuffled[pool : pool + held_out])


def warm(rng):
    """A model that has learnt from some records of nobody in question."""
    some = digits()[rng.permutation(len(digits()))[:300]]
    return trained(untrained(64, 10), some, 60)


@pytest.mark.parametrize("k", [3, 6, 12, 30, 60])
def test_records_that_nobody_trained_on_read_zero(k):
    """Training on 30 records moves the model; k others, members in name only, do not stand out."""
    rng = np.random.default_rng(k)
    found = []
    for _ in range(40):
        shuffled = digits()[rng.permutation(len(digits()))[: 90 + k]]
        used, shams, others = shuffled[:30], shuffled[30 : 30 + k], shuffled[30 + k :]
        before = untrained(64, 10)
        after = trained(before, used, 10)
        scores = [calibrated_scores(losses(before, part), losses(after, part)) for part in (shams, others)]
        found.append(membership_advantage(*scores))
    check = null_check(found)
    assert check.passed, check
    assert check.standard_error < 0.08


def test_a_pool_of_another_kind_fails_the_null_check():
    """Members in name only that are all ones, beside others that are not: what differs is the kind, not training."""
    rng = np.random.default_rng(0)
    model, later = untrained(64, 10), warm(rng)
    ones, rest = (digits()[np.flatnonzero(mask)] for mask in (digits().labels == 1, digits().labels != 1))
    found = []
    for _ in range(20):
        parts = ones[rng.permutation(len(ones))[:20]], rest[rng.permutation(len(rest))[:60]]
        scores = [calibrated_scores(losses(model, part), losses(later, part)) for part in parts]
        found.append(membership_advantage(*scores))
    assert not null_check(found).passed


def leakage(k, pool, repeats, steps=30, seed=0, start=None):
    """Mean and error over clients."""
    rng = np.random.default_rng((seed, k, pool))
    model = untrained(64, 10) if start is None else start
    request = Request(client_id="c", num_records=k, local_steps=steps)
    found = [client(pool, 60, rng).answer(request, model, repeat).leakage for repeat in range(repeats)]
    return float(np.mean(found)), float(np.std(found, ddof=1)) / repeats**0.5


def test_a_model_that_memorises_stands_out():
    mean, error = leakage(3, 60, 30, steps=200)
    assert mean - 3 * error > 0.9


@pytest.mark.parametrize("is_warm", [False, True])
def test_leakage_of_a_record_falls_with_the_number_of_records(is_warm):
    start = warm(np.random.default_rng(5)) if is_warm else None
    few, few_error = leakage(6, 60, 25, start=start)
    many, many_error = leakage(60, 60, 25, start=start)
    assert few - many > 4 * np.hypot(few_error, many_error)


def test_it_is_the_number_and_not_the_fraction():
    half, half_error = leakage(30, 60, 40)
    tenth, tenth_error = leakage(30, 300, 40)
    assert abs(half - tenth) < 3 * np.hypot(half_error, tenth_error)
    assert np.hypot(half_error, tenth_error) < 0.03


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: membership_advantage([], [1.0]), "member_scores"),
        (lambda: membership_advantage([1.0], [np.nan]), "nonmember_scores"),
        (lambda: membership_advantage([[1.0]], [1.0]), "member_scores"),
        (lambda: calibrated_scores([1.0, 2.0], [1.0]), "losses_after"),
        (lambda: null_check([0.1]), "advantages"),
    ],
)
def test_refused(call, argument):
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.argument == argument
