"""Every call of the service, on a session with a few decisions."""

import base64
import json

import numpy as np
import pytest

import superarm as sa
from superarm import wire
from superarm.wire.frames import frame_from_arrow
from tests.service.asks import MAIN, PROBLEM, ROUND, decide, observe


def test_a_decision_is_made_once_however_often_it_is_asked_for(client):
    first = decide(client, "monday")
    assert first.status_code == 201
    made = first.json()
    assert first.headers["location"] == f"{MAIN}/decisions/{made['id']}"
    again = decide(client, "monday")
    assert (again.status_code, again.headers["idempotency-replayed"]) == (200, "true")
    assert again.json() == made | {"replayed": True}
    other = decide(client, "monday", ROUND | {"feasible": {"at_most": 1}})
    assert (other.status_code, other.json()["type"]) == (422, "urn:superarm:used-key")


def test_the_service_decides_as_the_session_does(client, tmp_path):
    with sa.Session.open(tmp_path / "own.db", policy=sa.TCGPUCB(), durability="normal") as session:
        for t in range(1, 4):
            own = session.decide(wire.round_from_dict(ROUND | {"t": 1}), counted=True, key=str(t))
            made = decide(client, str(t)).json()
            assert made["selection"] | {"seconds": 0} == wire.selection_to_dict(own.selection) | {"seconds": 0}
            session.observe(own.id, own.arms, [[0.5, 0.2]] * len(own.arms))
            assert observe(client, made).json() == {
                "decision": made["id"],
                "new": 2 * len(own.arms),
                "known": 0,
                "state": "complete",
            }


def test_thresholds_by_label_are_those_of_the_groups(client):
    thresholds = {"bob": 0.9, "ann": 0.1}
    promise = {"reward": "sum", "sense": "<=", "thresholds": thresholds}
    given = ROUND | {"groups": ["bob", "ann", "bob", "ann"], "promises": [promise]}
    made = decide(client, "k", given).json()
    found = {each["label"]: each["threshold"] for each in made["selection"]["groups"]}
    assert found == {label: thresholds[label] for label in found}
    assert found


def test_one_list_for_each_arm_is_told_from_one_for_each_feature(client):
    given = ROUND | {"contexts": [[0.1, 1.0], [0.4, 2.0], [0.9, 0.5]], "groups": ["ann", "ann", "bob"]}
    refused = decide(client, "k", given).json()
    assert refused["expected"] == "one list for each feature, which has a value for each arm"
    assert refused["came"] == "3 lists of 2, with 3 groups"


def test_settings_and_policies_that_do_not_exist_are_named(client):
    wrong = {"policy": {"policy": "CautiousTCGPUCB", "confidance": 0.9}}
    refused = client.post("/v1/sessions", json={"name": "other", **wrong}).json()
    assert refused["came"] == "'confidance'; did you mean 'confidence'?"
    refused = client.post("/v1/sessions", json={"name": "other", "policy": "cautious"}).json()
    assert 'an object such as {"policy": "CautiousTCGPUCB"}' in refused["expected"]


def test_a_key_is_needed(client):
    refused = client.post(f"{MAIN}/decisions", json=ROUND)
    assert (refused.status_code, refused.json()["argument"]) == (422, "Idempotency-Key")


def test_outcomes_in_parts_again_and_otherwise(client):
    made = decide(client, "k").json()
    place, arms = f"{MAIN}/decisions/{made['id']}/outcomes", made["arms"]
    part = {"arms": arms[:1], "outcomes": [[0.5], [None]]}
    assert client.post(place, json=part).json()["state"] == "partial"
    assert client.post(place, json=part).json()["known"] == 1
    wrong = client.post(place, json=part | {"outcomes": [[0.6], [None]]})
    assert (wrong.status_code, wrong.headers["content-type"]) == (409, PROBLEM)
    corrected = client.put(f"{place}/{arms[0]}/1", json={"value": 0.6, "reason": "refund"})
    assert corrected.json()["new"] == 1
    assert client.post(f"{MAIN}/rebase").json() == {"corrections": 1, "decisions": []}
    assert client.get(MAIN).json()["notes"] == []


def test_played_and_withdrawn(client):
    one, two = (decide(client, key).json()["id"] for key in "ab")
    assert client.post(f"{MAIN}/decisions/{one}/played").json() == {"decision": one, "state": "open"}
    assert client.post(f"{MAIN}/decisions/{one}/withdrawal").status_code == 409
    assert client.post(f"{MAIN}/decisions/{two}/withdrawal").json()["state"] == "withdrawn"
    assert decide(client, "b").status_code == 409


def test_pages_of_decisions_and_what_is_pending(client):
    made = [decide(client, str(t)).json() for t in range(4)]
    observe(client, made[1])
    first = client.get(f"{MAIN}/decisions", params={"limit": 3}).json()
    rest = client.get(f"{MAIN}/decisions", params={"after": first["next"]}).json()
    found = [row["decision"] for row in first["decisions"] + rest["decisions"]]
    assert found == [each["id"] for each in made]
    assert rest["next"] is None
    assert len(client.get(f"{MAIN}/pending").json()["decisions"]) == 3
    complete = client.get(f"{MAIN}/decisions", params={"state": "complete"}).json()["decisions"]
    assert [row["decision"] for row in complete] == [made[1]["id"]]
    assert client.get(f"{MAIN}/decisions", params={"state": "good"}).json()["argument"] == "state"


def test_one_decision_by_id_key_and_round(client):
    made = decide(client, "k").json()
    for name in (made["id"], "key:k", "t:1"):
        assert client.get(f"{MAIN}/decisions/{name}").json() == made | {"replayed": True}
    assert client.get(f"{MAIN}/decisions/nobody").status_code == 404
    assert "round 1" in client.get(f"{MAIN}/decisions/key:k/explanation").json()["text"]


def test_tables_as_json_and_arrow_and_only_when_they_changed(client):
    observe(client, decide(client, "k").json())
    for name in ("promises", "calibration", "outcomes"):
        told = client.get(f"{MAIN}/{name}")
        arrow = client.get(f"{MAIN}/{name}", headers={"Accept": "application/vnd.apache.arrow.stream"})
        assert frame_from_arrow(arrow.content).to_dict(as_series=False) == told.json()["columns"]
        assert client.get(f"{MAIN}/{name}", headers={"If-None-Match": told.headers["etag"]}).status_code == 304
    observe(client, decide(client, "l").json())
    assert client.get(f"{MAIN}/{name}", headers={"If-None-Match": told.headers["etag"]}).status_code == 200


def test_what_follows_from_events_is_sent_only_when_there_are_new_ones(client):
    decide(client, "k")
    for name in ("ledger", "pending", "events"):
        told = client.get(f"{MAIN}/{name}")
        again = client.get(f"{MAIN}/{name}", headers={"If-None-Match": told.headers["etag"]})
        assert (told.status_code, again.status_code, again.content) == (200, 304, b"")
    assert told.headers["content-type"].startswith("application/x-ndjson")
    decide(client, "l")
    assert len(client.get(f"{MAIN}/pending", headers={"If-None-Match": told.headers["etag"]}).json()["decisions"]) == 2


def test_another_policy_learns_what_is_known_and_decides(client):
    observe(client, decide(client, "k").json())
    changed = client.patch(MAIN, json={"policy": {"policy": "CUCB"}})
    assert (changed.json()["policy"]["policy"], changed.json()["state"]) == ("CUCB", "running")
    assert decide(client, "l").status_code == 201
    both = client.patch(MAIN, json={"policy": {"policy": "TCGPUCB"}, "paused": True}).json()
    assert (both["policy"]["policy"], both["state"]) == ("TCGPUCB", "paused")
    assert client.patch(MAIN, json={"policy": {"policy": "nothing"}, "paused": False}).status_code == 422
    assert client.get(MAIN).json()["state"] == "paused"  # all of it, or nothing
    assert client.patch(MAIN, json={}).json()["argument"] == "body"


def test_the_feed_tells_all_that_happened(client):
    observe(client, decide(client, "k").json())
    lines = [json.loads(line) for line in client.get(f"{MAIN}/events").text.splitlines()]
    assert [line["kind"] for line in lines] == ["created", "decided", "observed"]
    later = client.get(f"{MAIN}/events", params={"after": 2}).text.splitlines()
    assert [json.loads(line)["seq"] for line in later] == [3]


def test_the_ledger_of_a_cautious_session(client):
    assert client.post("/v1/sessions", json={"name": "careful"}).status_code == 201
    decide(client, "k", session="/v1/sessions/careful")
    assert client.get("/v1/sessions/careful/ledger").json()["out"] == 1
    assert client.get(f"{MAIN}/ledger").json()["balance"] is None


def test_new_sessions_with_settings_or_a_saved_policy(client, tmp_path):
    posterior = {"class": "ExactPosterior", "kernel": {"class": "Matern52", "lengthscale": 0.5}, "noise_std": 0.1}
    sent = {"name": "a", "policy": {"policy": "TCGPUCB", "posterior": posterior, "learn": False}, "deadline": 60} | {
        "rebase_after": 5,
        "keep_rounds": 9,
    }
    made = client.post("/v1/sessions", json=sent)
    assert (made.status_code, made.headers["location"]) == (201, "/v1/sessions/a")
    assert {"deadline": 60, "rebase_after": 5, "keep_rounds": 9}.items() <= made.json()["settings"].items()
    assert made.json()["policy"]["posterior"]["class"] == "ExactPosterior"
    assert client.post("/v1/sessions", json=sent).status_code == 409
    saved = base64.b64encode(wire.policy_to_bytes(sa.CUCB())).decode()
    assert client.post("/v1/sessions", json={"name": "b", "policy": saved}).json()["policy"]["policy"] == "CUCB"
    names = [each["name"] for each in client.get("/v1/sessions").json()["sessions"]]
    assert names == ["main", "a", "b"]
    for wrong in ({"policy": "eval"}, {"policy": "TCGPUCB", "zeta": 7}, {"policy": "CUCB", "nothing": 1}, "AAAA"):
        assert client.post("/v1/sessions", json={"name": "c", "policy": wrong}).status_code == 422
    assert client.post("/v1/sessions", json={"name": "../c"}).json()["argument"] == "name"


def test_paused_and_archived(client):
    made = decide(client, "a").json()
    assert client.patch(MAIN, json={"paused": True}).json()["state"] == "paused"
    assert decide(client, "b").status_code == 409
    assert observe(client, made).status_code == 200
    assert client.patch(MAIN, json={"paused": False}).json()["state"] == "running"
    assert decide(client, "b").status_code == 201
    assert client.delete(MAIN).json()["state"] == "archived"
    assert decide(client, "c").status_code == 409
    assert client.get(f"{MAIN}/decisions").status_code == 200
    assert client.patch(MAIN, json={"paused": False}).status_code == 409


def test_records(client):
    sent = {"round": ROUND, "arms": [0, 2], "outcomes": [[0.5, 0.25], [1.0, None]]}
    told = client.post(f"{MAIN}/records", json=sent)
    assert (told.status_code, told.json()["new"], told.json()["state"]) == (201, 3, "partial")
    sent = {"arms": [2], "outcomes": [[None], [0.75]]}
    place = f"{MAIN}/decisions/{told.json()['decision']}/outcomes"
    assert client.post(place, json=sent).json()["state"] == "complete"


@pytest.mark.parametrize(
    ("body", "status", "argument"),
    [
        ("{", 400, None),
        ('{"reward": ' + "[" * 100_000, 400, None),
        ("[]", 422, "body"),
        ("{}", 422, "body"),
        ('{"feasible": {"at_most": 2}}', 422, "contexts"),
        ('{"feasible": {"at_most": "two"}, "contexts": []}', 422, "feasible.at_most"),
        ('{"feasible": {}, "contexts": [[1.0]]}', 422, "feasible"),
        ('{"feasible": {"at_most": 1}, "contexts": [[1e999]]}', 422, "contexts[0][0]"),
        ('{"feasible": {"at_most": 1}, "contexts": [[1.0], [1.0, 2.0]]}', 422, "contexts"),
        ('{"feasible": {"at_most": 1}, "contexts": [[1.0]], "surprise": 1}', 422, "body"),
    ],
)
def test_bodies_that_are_none(client, body, status, argument):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    told = client.post(f"{MAIN}/decisions", content=body, headers=headers)
    problem = told.json()
    assert (told.status_code, problem.get("argument"), told.headers["content-type"]) == (status, argument, PROBLEM)
    assert problem["status"] == status
    assert client.get(MAIN).json()["seq"] == 1


def test_other_refusals_are_problems_too(client):
    assert client.get("/v1/sessions/nobody").json()["type"] == "urn:superarm:unknown-session"
    assert client.get("/nowhere").headers["content-type"] == PROBLEM
    assert client.put("/v1/sessions").status_code == 405
    plain = client.post(f"{MAIN}/decisions", content="{}", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    late = decide(client, "k", **{"Superarm-Deadline-Ms": "soon"})
    assert late.json()["argument"] == "Superarm-Deadline-Ms"
    assert client.get(f"{MAIN}/decisions", params={"limit": 0}).status_code in (400, 422)


def test_a_body_or_a_round_that_is_too_large_is_refused(client):
    chunks = (b" " * 2**20 for _ in range(40))
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    assert client.post(f"{MAIN}/decisions", content=chunks, headers=headers).status_code == 413


def test_outcomes_outside_of_the_range_are_refused(client):
    client.post("/v1/sessions", json={"name": "a", "policy": {"policy": "CUCB"}, "outcome_range": [0, 1]})
    made = decide(client, "k", session="/v1/sessions/a").json()
    body = {"arms": made["arms"], "outcomes": [[7.0] * len(made["arms"]), [None] * len(made["arms"])]}
    told = client.post(f"/v1/sessions/a/decisions/{made['id']}/outcomes", json=body)
    assert (told.status_code, told.json()["argument"], told.json()["came"]) == (422, "outcomes", "7.0")


def test_the_document_names_every_route_and_body(client):
    told = client.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    decisions = told["paths"]["/v1/sessions/{name}/decisions"]["post"]
    body = decisions["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert body.rpartition("/")[2] in told["components"]["schemas"]
    assert {"200", "201", "409", "422", "503"} <= set(decisions["responses"])
    assert "Idempotency-Key" in [each["name"] for each in decisions["parameters"]]


def test_numbers_keep_their_bits(client):
    value = 0.1 + 0.2
    made = decide(client, "k").json()
    arms = made["arms"]
    body = {"arms": arms, "outcomes": [[value] * len(arms), [np.nextafter(1.0, 2.0)] * len(arms)]}
    client.post(f"{MAIN}/decisions/{made['id']}/outcomes", json=body)
    told = client.get(f"{MAIN}/outcomes").json()["columns"]["value"]
    assert set(told) == {value, float(np.nextafter(1.0, 2.0))}


def test_a_name_with_a_slash_is_refused_as_it_has_no_address(client):
    told = client.post("/v1/sessions", json={"name": "shops/ann"})
    assert (told.status_code, told.json()["argument"]) == (422, "name")
    assert [each["name"] for each in client.get("/v1/sessions").json()["sessions"]] == ["main"]


def test_a_decision_is_erased_and_all_decisions_about_somebody(client):
    first, second = (decide(client, key).json()["id"] for key in "ab")
    told = client.post(f"{MAIN}/decisions/{first}/redaction").json()
    assert (told["decisions"], told["finished"]) == ([first], True)
    assert client.get(f"{MAIN}/decisions/{first}").status_code == 410
    assert client.post(f"{MAIN}/decisions/{first}/redaction").json()["decisions"] == []  # again: nothing more
    told = client.post(f"{MAIN}/redactions", json={"label": "ann"}).json()
    assert told["decisions"] == [second]
    refused = client.post(f"{MAIN}/redactions", json={"label": "ann"})
    assert (refused.status_code, refused.json()["argument"]) == (422, "label")
    assert client.post(f"{MAIN}/redactions", json={"label": {"tuple": "x"}}).status_code == 422


FIELDS = "contexts, groups, promises, reward, arm_ids, safe, catalogue, rows, t, version"


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (
            '{"feasable": {"at_most": 2}}',
            f"body: expected no other fields than feasible, {FIELDS}, got 'feasable'; did you mean 'feasible'?",
        ),
        (
            '{"feasible": {"atmost": 2}}',
            "feasible: expected no other fields than at_most, exactly, per_group, whole_groups, got 'atmost'; "
            "did you mean 'at_most'?",
        ),
        (
            '{"promises": [{"colour": 2}]}',
            "promises[0]: expected no other fields than reward, sense, thresholds, groups, got 'colour'",
        ),
        ('{"contexts": [[1.0]]}', "body: expected the field feasible, got none"),
        (
            '{"feasible": {"at_most": 1}, "contexts": {"price": [10, "x"]}}',
            "contexts: expected only numbers or only text in a column, got 'x' among numbers in column 'price'",
        ),
    ],
)
def test_a_wrong_body_is_told_which_field_or_value_is_wrong(client, content, detail):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    answer = client.post(f"{MAIN}/decisions", content=content, headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
