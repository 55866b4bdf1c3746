"""Sharded rounds in a session: picked rows and the catalogue's digest are in the journal, and all is replayed."""

import shutil

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NotKept
from superarm.sessions.parts import KeptParts
from superarm.slim import Excerpt


@pytest.mark.parametrize("policy", [sa.TCGPUCB, sa.CautiousTCGPUCB])
def test_a_session_goes_on_without_the_catalogue(tmp_path, policy):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": rng.uniform(size=400), "shop": rng.integers(8, size=400), "sku": [f"sku {i}" for i in range(400)]}
    )
    arms = sa.Catalogue.write(frame, tmp_path / "arms", contexts=["x"], group="shop", id="sku", shards=3)
    told = {"arms": arms, "constraint": sa.Sum() <= 1.5, "feasible": sa.AtMost(6, per_group=2)}
    prior = sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.3), noise_std=0.1)
    alone = policy(prior)
    session = sa.Session.open(tmp_path / "shop.db", policy=policy(prior))
    for t in range(1, 5):
        round = sa.ShardedRound(t=t, **told)
        decision = sa.decide(session, round, key=f"day {t}")
        assert sa.decide(session, round, key=f"day {t}").id == decision.id
        if policy is sa.TCGPUCB:  # the cautious one minds which decisions are out, and a session tells it
            picked = sa.select(alone, round)
            assert tuple(picked.ids) == decision.arm_ids
            sa.update(alone, picked, rng_outcomes(t, picked.ids))
        session.observe(decision.id, list(decision.arm_ids), rng_outcomes(t, decision.arm_ids))
        kept = KeptParts(session._running.store).round(session._running.store.standing(decision.id).round)
        assert isinstance(kept, Excerpt)
        assert kept.catalogue == arms.digest
        assert kept.whole.arms == 400
        assert arms.rows(kept.rows[decision.arms])["sku"].to_list() == list(decision.arm_ids)
    with pytest.raises(InvalidArgument, match="more than every t"):
        sa.decide(session, sa.ShardedRound(t=4, **told))
    assert sa.decide(session, sa.ShardedRound(t=1, **told), counted=True).t == 5
    with pytest.raises(NotKept):
        session.explain(decision.id)
    belief = session.policy.posterior.predict(session.policy.learner.view(kept)[1])
    session.snapshot()
    session.close()
    shutil.rmtree(tmp_path / "arms")
    with sa.Session.open(tmp_path / "shop.db") as again:
        assert (again.verify().exact, again.verify().faults) == (True, ())
        found = again.policy.posterior.predict(again.policy.learner.view(kept)[1])
        np.testing.assert_array_equal(found.mean, belief.mean)
        assert again.policy.learner.largest_round == 400
        again.compact(0.0)
        assert (again.verify().exact, again.verify().faults) == (True, ())


def rng_outcomes(t, ids):
    rng = np.random.default_rng(t)
    noise = rng.normal(size=(400, 2))
    numbers = [int(sku.split()[1]) for sku in ids]
    return np.column_stack([np.sin(numbers), 0.5 + 0.2 * np.cos(numbers)]) + 0.1 * noise[numbers]
