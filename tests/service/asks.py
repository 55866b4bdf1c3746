"""What the tests ask of a service."""

from tests.waits import until

ROUND = {
    "contexts": {"price": [0.1, 0.4, 0.9, 0.2], "age": [1.0, 2.0, 0.5, 0.25]},
    "groups": {"labels": ["ann", "bob"], "codes": [0, 0, 1, 1]},
    "promises": [{"reward": "sum", "sense": ">=", "thresholds": 0.1}],
    "feasible": {"at_most": 2},
}
MAIN = "/v1/sessions/main"
PROBLEM = "application/problem+json"


def wait_until_ready(client):
    until(lambda: client.get("/readyz").status_code == 200)
    return client


def decide(client, key, round=ROUND, session=MAIN, **headers):
    return client.post(f"{session}/decisions", json=round, headers={"Idempotency-Key": key, **headers})


def observe(client, decision, session=MAIN, **more):
    """Outcomes of all arms of a decision."""
    arms = decision["arms"]
    body = {"arms": arms, "outcomes": [[0.5] * len(arms), [0.2] * len(arms)], **more}
    return client.post(f"{session}/decisions/{decision['id']}/outcomes", json=body)
