"""Sessions to look at: shops with a promise each, outcomes that come late or never, and promises that break."""

import time
from unittest import mock

import numpy as np

import superarm as sa

DAY = 86400.0
HOSTILE = "<img src=x onerror=\"document.title='taken'\">"


def shop_session(path, name="shops", rounds=60, *, labels=None, wrong=0.0, end=None, durability="normal"):
    """A session of ``rounds`` decisions, four a day until ``end``; ``wrong`` makes promises break that should not."""
    labels = labels or [f"shop {letter}" for letter in "ABCDEFGHIJ"]
    rng = np.random.default_rng(7)
    taste = rng.uniform(0.2, 1.0, len(labels))
    posterior = sa.ExactPosterior(sa.Matern52(lengthscale=0.6), noise_std=0.1)
    policy = sa.CautiousTCGPUCB(posterior, learn=False, opening=0)
    end = time.time() if end is None else end
    late = []
    with mock.patch("superarm.sessions.running.time.time") as clock:
        clock.return_value = end - rounds * DAY / 4
        session = sa.Session.open(path, policy=policy, name=name, durability=durability)
        for t in range(1, rounds + 1):
            clock.return_value = end - (rounds - t) * DAY / 4
            places = rng.integers(len(labels), size=24)
            contexts = np.column_stack([rng.uniform(size=24), taste[places]])
            round = sa.Round(
                t=t,
                contexts=contexts,
                groups=[labels[place] for place in places],
                arm_ids=[f"{labels[place]}, offer {number}" for number, place in enumerate(places)],
                constraint=sa.Sum() >= 0.25,
                feasible=sa.AtMost(6),
            )
            decision = session.decide(round, key=f"night {t}")
            arms = decision.arms
            values = np.column_stack([contexts[arms, 0], contexts[arms, 1]]) + rng.normal(0.0, 0.1, (len(arms), 2))
            values[:, 1] -= wrong * (rng.uniform(size=len(arms)) < 0.3)
            late.append((decision, values, t))
            if t % 9 == 0 and len(arms):
                session.withdraw(decision.id)
            if t % 7 == 3 and t > rounds - 8:
                continue  # the latest are still out
            while late and late[0][2] <= t - 3:
                _tell(session, *late.pop(0))
        return session


def _tell(session, decision, values, t):
    if t % 9 == 0 or t % 13 == 5 or not len(decision.arms):
        return  # withdrawn, or never heard of again
    if t % 5 == 0:
        values[0, 1] = np.nan
    session.observe(decision.id, decision.arms, values)
    if t % 17 == 2:
        session.correct(decision.id, int(decision.arms[0]), 1, 0.5, by="position", reason="counted twice")
