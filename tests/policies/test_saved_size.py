"""What a policy with an exact posterior takes on the disk: its factors once, as triangles, and little else."""

import numpy as np
import pytest

import superarm as sa
from superarm import storage, wire

FEATURES, EACH = 15, 60


def kernels():
    return sa.Matern52(lengthscale=3.0), sa.Matern52(lengthscale=4.0)


POLICIES = {
    "two factors": (2, lambda: sa.TCGPUCB(sa.GaussianProcess(kernels(), noise_std=0.1), learn=False)),
    "one factor": (1, lambda: sa.TCGPUCB(sa.GaussianProcess(kernels()[0], noise_std=0.1), learn=False)),
    "learnt": (2, sa.CautiousTCGPUCB),
}


def grown(policy, rows, first=1):
    """The policy after some outcomes at contexts that never come again, and what it picks then."""
    rng = np.random.default_rng(first)
    chosen = []
    for t in range(first, first + rows // EACH):
        x = rng.normal(size=(EACH, FEATURES))
        groups = [f"shop {i % 7}" for i in range(EACH)]
        round = sa.Round(t=t, contexts=x, groups=groups, constraint=sa.Mean() >= -1.0, feasible=sa.AtMost(EACH))
        if first > 1:
            chosen.append((policy.select(round).arms.tolist(), policy.select(round).value))
        y = np.column_stack([np.sin(x[:, 0]) + x[:, 1], np.cos(x[:, 2]) + 0.1 * x[:, 3]])
        policy.update(round, np.arange(EACH), y + rng.normal(0, 0.1, y.shape))
    return chosen


@pytest.mark.parametrize("name", POLICIES)
def test_a_saved_policy_is_its_triangles_and_at_most_three_times_the_data(name, tmp_path):
    factors, make = POLICIES[name]
    policy, untouched = make(), make()
    rows = 600
    grown(policy, rows)
    grown(untouched, rows)
    content = wire.policy_to_bytes(policy)
    raw = 8 * rows * (FEATURES + 2)
    assert len(content) <= factors * 8 * rows * (rows + 1) / 2 + 3 * raw
    assert len(content) > factors * 8 * rows * (rows + 1) / 2  # or this test asks for nothing

    # Saving changes nothing, and what was saved goes on with the same bits.
    back = wire.policy_from_bytes(content)
    after = [grown(each, 2 * EACH, first=rows // EACH + 1) for each in (policy, untouched, back)]
    assert after[1] == after[0]
    assert after[2] == after[0]
    assert wire.policy_to_bytes(untouched) == wire.policy_to_bytes(policy)
    assert wire.policy_to_bytes(back) == wire.policy_to_bytes(policy)


def test_an_inverse_that_is_not_saved_comes_back_bit_for_bit():
    """It follows from the rows of the factor, whatever they came with, and is left out where it was."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 2))
    for noise in (0.3, 1e-5):
        posterior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=1.0), noise_std=noise)
        for start in range(0, 300, 23):
            posterior = posterior.condition(x[start : start + 23], y[start : start + 23])
        back = storage.from_bytes(storage.to_bytes(posterior), "here")
        blocks, again = (each.state.engines[0].factor.blocks for each in (posterior, back))
        assert [len(block.inverse) > 0 for block in blocks] == [noise == 0.3] * 2
        for one, other in zip(blocks, again, strict=True):
            assert other.inverse.tobytes() == one.inverse.tobytes()
            assert other.inverse.flags.c_contiguous
            if len(one.inverse):
                assert np.abs(one.inverse @ one.corner - np.eye(len(one.corner))).max() < 1e-12
