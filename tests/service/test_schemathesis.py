"""The service against its own document: whatever the document allows, and a bit more, is answered within it.

Hooks give most requests a session that exists, decisions that were made, and rounds whose lengths agree: of rounds made
at random hardly one is whole.
"""

import json
import os
import random
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import superarm as sa
from superarm.service.app import application
from superarm.service.sessions import Sessions
from tests.service.serves import served

CASES = int(os.environ.get("SUPERARM_CASES", "40"))  # of each of some 25 operations
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
dice = random.Random(0)
made: list[dict] = []
statuses = Counter()


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def as_it_is(context, value):
    """Lines and streams are bytes already; some lines are made whole."""
    if made and dice.random() < 0.5:
        one = dice.choice(made)
        rows = [{"decision": one["id"], "arm": arm, "outcome_1": dice.choice([0.5, None])} for arm in one["arms"]]
        return "\n".join(map(json.dumps, rows)).encode()
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    store = str(tmp_path_factory.mktemp("api") / "shop.db")
    sa.Session.open(store, policy=sa.CUCB(), durability="normal").close()
    with served(application(Sessions(store, durability="normal"), rate=10**6)) as running:
        yield schemathesis.openapi.from_url(f"{running.address}/openapi.json")


def a_round():
    """A round that is whole."""
    arms = dice.randint(0, 12)
    groups = [dice.choice(["ann", "bob", "eve"]) for _ in range(arms)]
    return {
        "contexts": [[dice.uniform(-1, 1) for _ in range(arms)] for _ in range(2)],
        "groups": groups if dice.random() < 0.7 else None,
        "promises": [{"reward": dice.choice(["sum", "mean", "max"]), "sense": ">=", "thresholds": dice.uniform(-1, 1)}],
        "feasible": {dice.choice(["at_most", "exactly"]): dice.randint(0, 4)},
    }


def better(case):
    """The case with names that are there and bodies that are whole, mostly."""
    path, method = case.path, case.method.upper()
    if case.path_parameters:
        if "name" in case.path_parameters and dice.random() < 0.9:
            case.path_parameters["name"] = "main"
        if "id" in case.path_parameters and made and dice.random() < 0.8:
            case.path_parameters["id"] = dice.choice(made)["id"]
        if "outcome" in case.path_parameters and dice.random() < 0.8:
            case.path_parameters["outcome"] = dice.choice([1, 2])
    if (path, method) == ("/v1/sessions/{name}/decisions", "POST") and dice.random() < 0.7:
        case.body, case.media_type = a_round(), "application/json"
        case.headers["Content-Type"] = "application/json"
        case.headers["Idempotency-Key"] = str(dice.randint(0, 10**9))
    if "Superarm-Deadline-Ms" in (case.headers or {}):
        case.headers["Superarm-Deadline-Ms"] = "60000"  # whoever waits for less is rightly told that nobody is free
    if path.endswith("/{id}/outcomes") and made and dice.random() < 0.7:
        one = dice.choice(made)
        case.path_parameters |= {"name": "main", "id": one["id"]}
        values = [[dice.choice([0.5, None, 0.25]) for _ in one["arms"]] for _ in range(2)]
        case.body = {"arms": one["arms"], "outcomes": values}
    return case


@pytest.mark.slow
def test_every_answer_is_within_the_document(api):
    asked, faults = set(), []
    for found in api.get_all_operations():
        operation = found.ok()
        if operation.path.startswith("/v1/document"):
            continue
        try:
            asker(operation)()
        except BaseException as error:  # all operations, before any is blamed
            faults.append(f"{operation.label}: {error}")
        asked.add(operation.path)
    assert not faults, "\n\n".join(faults)
    assert len(asked) >= 18
    assert sum(statuses.values()) >= 20 * CASES, statuses
    assert len(made) >= CASES // 4, statuses  # decisions came of it


def asker(operation):
    @settings(
        max_examples=CASES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy())
    def asks(case):
        ask(case)

    return asks


def ask(case):
    case = better(case)
    if (case.path, case.method.upper()) == ("/v1/sessions/{name}", "DELETE"):
        case.path_parameters["name"] = "nobody"  # or nothing could be changed any more
    if (case.path, case.method.upper()) == ("/v1/sessions/{name}", "PATCH"):
        case.body = {"paused": False}
    answer = case.call()
    statuses[answer.status_code] += 1
    case.validate_response(answer, checks=CHECKS)
    if case.path == "/v1/sessions/{name}/decisions" and answer.status_code == 201:
        made.append(answer.json())
