"""What every policy of the library refuses, and that nothing has changed afterwards."""

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument
from tests.members import policies

EVERY = [*policies(), sa.Clairvoyant(sa.environments.Federated())]
NAMES = [type(policy).__name__ for policy in EVERY]


@pytest.mark.parametrize("policy", EVERY, ids=NAMES)
@pytest.mark.parametrize("round", [None, "round", np.zeros((3, 1))])
def test_what_is_no_round_is_refused(policy, round):
    methods = [policy.select, lambda round: policy.update(round, [], np.empty((0, 2)))]
    methods += [policy.indices] if hasattr(policy, "indices") else []
    for method in methods:
        with pytest.raises(InvalidArgument, match="round: expected a superarm"):
            method(round)


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.TCGPTS, sa.CautiousTCGPUCB, sa.OCLOKUCB, sa.ACCUCB, sa.CUCB, sa.CCMAB])
@pytest.mark.parametrize("oracle", [sa.Automatic, sa.MILP, "exact", 3])
def test_an_oracle_is_an_object_that_can_be_called(make, oracle):
    prior = [sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)]
    settings = {"horizon": 10} if make in (sa.ACCUCB, sa.CCMAB) else {}
    with pytest.raises(InvalidArgument, match="oracle: expected a callable"):
        make(*([] if make in (sa.ACCUCB, sa.CCMAB, sa.CUCB) else prior), oracle=oracle, **settings)
