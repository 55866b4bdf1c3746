"""Sessions on frames: the journal keeps names and text, and replays them bit for bit."""

import time

import numpy as np
import polars as pl
import pytest

import superarm as sa
from superarm.sessions.session import Session
from superarm.sessions.stores.memory import MemoryStore
from superarm.wire.policies import policy_to_bytes

ORDERS = (("price", "age", "colour"), ("colour", "price", "age"))
KERNEL = sa.Matern52(columns=["price"], lengthscale=0.5) + sa.Categories(columns=["colour"])


def a_round(t, arms=6):
    rng = np.random.default_rng(t)
    table = pl.DataFrame(
        {
            "price": rng.uniform(size=arms),
            "age": rng.uniform(size=arms),
            "colour": rng.choice(["red", "green", "\N{SNOWMAN}"], size=arms),
            "shop": [f"shop {place % 3}" for place in range(arms)],
        }
    )
    given = {"constraint": sa.Sum() >= 0.2, "feasible": sa.AtMost(3)}
    return sa.Round.from_frame(table, contexts=list(ORDERS[t % 2]), group="shop", t=t, **given)


def play(session, rounds):
    for t in rounds:
        decision = session.decide(a_round(t))
        values = np.random.default_rng((t, 1)).normal(size=(len(decision.arms), 2))
        session.observe(decision.id, decision.arms, values)


@pytest.mark.parametrize(
    "make",
    [sa.CautiousTCGPUCB, lambda: sa.TCGPUCB(sa.ExactPosterior(KERNEL, noise_std=0.1))],
    ids=["no prior", "named"],
)
@pytest.mark.filterwarnings("ignore:hyperparameters were learnt")
def test_a_journal_of_frames_replays_every_bit(tmp_path, make):
    session = Session.open(tmp_path / "s.db", policy=make(), durability="normal")
    play(session, range(1, 7))
    before = policy_to_bytes(session.policy)
    session._running.store.close()
    session = Session.open(tmp_path / "s.db", policy=make(), durability="normal")
    assert policy_to_bytes(session.policy) == before
    assert session.verify().ok
    digests = [session._running.parts.round(a_round(t).digest()).digest() for t in (1, 2)]
    assert digests == [a_round(t).digest() for t in (1, 2)]
    session.close()


def test_slim_rounds_keep_names_and_teach_the_same(monkeypatch):
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    session = Session.open(MemoryStore(), policy=sa.CautiousTCGPUCB())
    for t in range(1, 13):
        now[0] += 86400.0
        decision = session.decide(a_round(t, arms=30))
        session.observe(decision.id, decision.arms, np.random.default_rng((t, 1)).normal(size=(len(decision.arms), 2)))
    before = policy_to_bytes(session.policy)
    assert session.compact(86400.0).slim >= 3
    verified = session.verify()
    assert verified.ok, str(verified)
    assert policy_to_bytes(session.policy) == before


def test_text_of_columns_is_erased_as_labels_are():
    session = Session.open(MemoryStore(), policy=sa.TCGPUCB(sa.ExactPosterior(KERNEL, noise_std=0.1), learn=False))
    play(session, range(1, 7))
    there = [t for t in range(1, 7) if "red" in a_round(t).columns.labels[a_round(t).columns.names.index("colour")]]
    assert 0 < len(there) < 6
    assert len(session.redact(label="red").decisions) == len(there)
    assert session.verify().ok
