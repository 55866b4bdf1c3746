"""Arrow streams, lines of JSON and catalogues mean the same as columns of JSON."""

import json
from datetime import date

import numpy as np
import polars as pl
import pytest

from superarm import wire
from superarm.service.asked import ARROW, LINES
from superarm.service.translation import MOST_NUMBERS, check_size
from tests.service.asks import MAIN, PROBLEM, ROUND, decide, observe

FRAME = pl.DataFrame({**ROUND["contexts"], "group": ["ann", "ann", "bob", "bob"]})
BESIDE = {name: ROUND[name] for name in ("promises", "feasible")}


def decide_by_arrow(client, key, frame=FRAME, beside=None, content=None):
    headers = {
        "Idempotency-Key": key,
        "Content-Type": ARROW,
        "Superarm-Round": json.dumps(BESIDE if beside is None else beside),
    }
    sent = wire.frame_to_arrow(frame) if content is None else content
    return client.post(f"{MAIN}/decisions", content=sent, headers=headers)


def test_a_round_as_arrow_is_the_round_as_json(client):
    made = decide(client, "k").json()
    again = decide_by_arrow(client, "k")
    assert (again.status_code, again.json()["id"]) == (200, made["id"])  # the key knows it for the same round


def test_a_round_by_a_catalogue_is_the_round_as_json(client):
    arms = {"contexts": ROUND["contexts"], "groups": ROUND["groups"]}
    more = {"contexts": {name: [9.0, *column] for name, column in arms["contexts"].items()}}
    more["groups"] = {"labels": ["eve", "ann", "bob"], "codes": [0, 1, 1, 2, 2]}
    made = decide(client, "k").json()
    for sent, rows in ((arms, None), (more, [1, 2, 3, 4])):
        named = client.put(f"{MAIN}/catalogues/shop", json=sent).json()["catalogue"]
        again = decide(client, "k", BESIDE | {"catalogue": named} | ({} if rows is None else {"rows": rows}))
        assert (again.status_code, again.json()["id"]) == (200, made["id"]), again.json()
    content = wire.frame_to_arrow(FRAME)
    named = client.put(f"{MAIN}/catalogues/other", content=content, headers={"Content-Type": ARROW}).json()
    assert decide(client, "k", BESIDE | {"catalogue": named["catalogue"]}).json()["id"] == made["id"]


def test_text_is_a_category_however_it_comes(client):
    colours = ["red", "blue", "red", "green"]
    sent = ROUND | {"contexts": ROUND["contexts"] | {"colour": colours}}
    made = decide(client, "k", sent).json()
    frame = FRAME.with_columns(colour=pl.Series(colours, dtype=pl.Enum(["red", "green", "blue"])))
    assert decide_by_arrow(client, "k", frame).json()["id"] == made["id"]
    data = wire.round_to_dict(wire.round_from_dict({"t": 1, **sent}))
    assert decide(client, "k", sent | {"contexts": data["contexts"]}).json()["id"] == made["id"]
    parted = {"labels": ["red", "green", "blue"], "codes": [0, 2, 0, 1]}
    assert decide(client, "k", sent | {"contexts": sent["contexts"] | {"colour": parted}}).json()["id"] == made["id"]
    named = client.put(f"{MAIN}/catalogues/shop", json={"contexts": sent["contexts"], "groups": ROUND["groups"]}).json()
    assert decide(client, "k", BESIDE | {"catalogue": named["catalogue"]}).json()["id"] == made["id"]
    some = decide(client, "other", BESIDE | {"catalogue": named["catalogue"], "rows": [1, 2]})
    assert some.status_code == 201, some.json()
    observe(client, made)
    missing = {name: column for name, column in sent["contexts"].items() if name != "colour"}
    refused = decide(client, "third", ROUND | {"contexts": missing})
    assert (refused.status_code, "none called 'colour'" in refused.text) == (422, True)
    for wrong in ([1.0, "a", 2.0, 3.0], ["a", None, "b", "c"], {"labels": [1], "codes": [0, 0, 0, 0]}):
        told = decide(client, "fourth", ROUND | {"contexts": {"colour": wrong}})
        assert (told.status_code, told.headers["content-type"]) == (422, PROBLEM), told.text


def test_a_catalogue_that_is_not_there_or_another_by_now(client):
    arms = {"contexts": ROUND["contexts"]}
    named = client.put(f"{MAIN}/catalogues/shop", json=arms).json()["catalogue"]
    assert decide(client, "a", BESIDE | {"catalogue": "nobody@0"}).status_code == 404
    assert decide(client, "a", BESIDE | {"catalogue": named, "rows": [4]}).json()["argument"] == "rows"
    assert decide(client, "a", ROUND | {"catalogue": named}).json()["argument"] == "catalogue"
    client.put(f"{MAIN}/catalogues/shop", json={"contexts": [[1.0]]})
    client.app.state.sessions.catalogues._decoded.clear()
    assert decide(client, "a", BESIDE | {"catalogue": named}).status_code == 409
    assert client.put(f"{MAIN}/catalogues/a b", json=arms).json()["argument"] == "catalogue"


def lines(made, value=0.5, **more):
    return [{"decision": made["id"], "arm": arm, "outcome_1": value, "outcome_2": 0.25} | more for arm in made["arms"]]


def test_a_days_file_as_lines_and_as_arrow(client):
    one, two = (decide(client, key).json() for key in "ab")
    rows = lines(one) + lines(two)
    content = "\n".join(map(json.dumps, rows))
    told = client.post(f"{MAIN}/outcomes", content=content, headers={"Content-Type": LINES})
    assert [receipt["state"] for receipt in told.json()["receipts"]] == ["complete", "complete"]
    arrow = wire.frame_to_arrow(pl.DataFrame(rows))
    again = client.post(f"{MAIN}/outcomes", content=arrow, headers={"Content-Type": ARROW}).json()["receipts"]
    assert [(receipt["new"], receipt["known"]) for receipt in again] == [(0, 2 * len(one["arms"]))] * 2


def test_a_file_with_one_wrong_row_is_refused_as_a_whole(client):
    one, two = (decide(client, key).json() for key in "ab")
    observe(client, two)
    content = "\n".join(map(json.dumps, lines(one) + lines(two, value=0.7)))
    assert client.post(f"{MAIN}/outcomes", content=content, headers={"Content-Type": LINES}).status_code == 409
    assert client.get(f"{MAIN}/decisions/{one['id']}").json()["state"] == "open"


@pytest.mark.parametrize("content", ["{", '{"decision": 1}', '{"decision": "x", "arm": [1]}', "[]", "\xff"])
def test_lines_that_are_none(client, content):
    told = client.post(f"{MAIN}/outcomes", content=content.encode("latin-1"), headers={"Content-Type": LINES})
    assert told.status_code in (400, 422)
    assert told.headers["content-type"] == PROBLEM


def test_arrow_that_is_none(client):
    whole = wire.frame_to_arrow(FRAME)
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 6)):
            broken[place] = rng.integers(256)
        cut = bytes(broken[: rng.integers(len(whole))]) if rng.random() < 0.3 else bytes(broken)
        told = decide_by_arrow(client, f"k{rng.integers(10**9)}", content=cut)
        assert told.status_code in (201, 400, 413, 422), told.text
    assert decide_by_arrow(client, "b", beside={}).json()["argument"] == "body"
    times = FRAME.with_columns(pl.lit(date(2026, 1, 1)).alias("price"))  # neither numbers nor text
    assert decide_by_arrow(client, "c", times).json()["argument"] == "frame"
    assert decide_by_arrow(client, "d", FRAME.with_columns(group=None)).json()["argument"] == "group"


def test_too_many_numbers_are_refused(client):
    with pytest.raises(Exception, match="at most 5000000"):
        check_size(MOST_NUMBERS + 1)
    many = pl.DataFrame({f"x{i}": np.zeros(700_000, dtype=np.float32) for i in range(8)})
    assert decide_by_arrow(client, "k", many, beside={"feasible": {"at_most": 1}}).status_code == 413


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_numbers_at_the_ends_are_taken_or_refused_and_the_session_goes_on(client, value):
    huge = ROUND | {"contexts": [[value, 0.0, 1.0, 2.0]]}
    assert decide(client, "a", huge).status_code in (201, 422)
    made = decide(client, "b", ROUND).json()
    arms = made["arms"]
    body = {"arms": arms, "outcomes": [[value] * len(arms), [None] * len(arms)]}
    told = client.post(f"{MAIN}/decisions/{made['id']}/outcomes", json=body)
    assert told.status_code in (200, 422)
    assert decide(client, "c", ROUND).status_code == 201
