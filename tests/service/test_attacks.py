"""What somebody might try who means harm, or who only means something else than the service takes it for."""

import asyncio
import http.client
import json
import re
import socket
import time
from contextlib import suppress

import pytest
from litestar.testing import TestClient

import superarm as sa
from superarm.service import tokens
from superarm.service.app import application
from superarm.service.page.refusals import is_own
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission
from superarm.sessions.settings import LONGEST
from superarm.sessions.stores.shelf import shelf_at
from tests.service.asks import MAIN, ROUND, decide, observe, wait_until_ready
from tests.waits import until

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def site(store):
    """A service with its page, on this machine alone."""
    app = application(Sessions(store, durability="normal"), more=[page()])
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield wait_until_ready(client)


def test_no_other_page_of_this_machine_can_erase(client):
    made = decide(client, "k").json()
    place = f"{MAIN}/decisions/{made['id']}/redaction"
    for headers in (
        {"Sec-Fetch-Site": "same-site"},  # another port
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://evil.com"},
        {"Origin": "null"},
    ):
        refused = client.post(place, headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (403, "urn:superarm:foreign-site"), headers
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1"}
    assert client.post(place, headers=own).status_code == 200


def test_a_head_is_a_get_without_a_body(site):
    for path in ("/healthz", "/", MAIN):
        told, asked = site.head(path), site.get(path)
        assert (told.status_code, told.content) == (200, b""), path
        assert told.headers["content-type"] == asked.headers["content-type"]
    assert site.head(f"{MAIN}/rebase").status_code == 405


def test_keys_and_ids_with_a_slash_can_be_named(client):
    made = decide(client, "2026/11/16-1", ROUND | {"arm_ids": ["a/b", "c/d", "e/f", "g/h"]}).json()
    place = f"{MAIN}/decisions/key:2026%2F11%2f16-1"
    assert client.get(place).json()["id"] == made["id"]
    arm = made["arm_ids"][0]
    assert client.post(f"{place}/outcomes", json={"arms": [arm], "outcomes": [[0.5], [0.2]]}).status_code == 200
    changed = client.put(f"{place}/outcomes/{arm.replace('/', '%2F')}/1", json={"value": 0.6})
    assert (changed.status_code, changed.json()["new"]) == (200, 1)


def test_keys_are_ascii_and_bodies_are_not_packed(client):
    for key in ("é".encode("latin-1"), b"a\tb", b"x" * 201):
        refused = client.post(f"{MAIN}/decisions", json=ROUND, headers={b"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["argument"]) == (422, "Idempotency-Key")
    assert decide(client, "k", **{"Content-Encoding": "br"}).status_code == 415


def test_a_refusal_says_what_is_expected_of_a_name(client):
    told = client.post("/v1/sessions", json={"name": "../c"}).json()
    assert told["expected"] == "letters, digits and ._~-, beginning with a letter or digit"


def test_columns_that_could_not_be_learnt_together_are_refused_when_they_are_asked_for(client):
    narrow = ROUND | {"contexts": {"price": [0.1, 0.4, 0.9, 0.2]}}
    text = ROUND | {"contexts": ROUND["contexts"] | {"age": ["a", "b", "a", "b"]}}
    other_order = ROUND | {"contexts": dict(reversed(ROUND["contexts"].items()))}
    made = decide(client, "a")
    for wrong in (narrow, text):
        refused = decide(client, "b", wrong)
        assert (refused.status_code, refused.json()["argument"]) == (422, "contexts")
    both = [made.json(), decide(client, "b", other_order).json()]
    assert [observe(client, each).status_code for each in both] == [200, 200]
    assert decide(client, "c", narrow).status_code == 422  # as before, once something is learnt


def test_other_columns_are_taken_where_nothing_waits_and_nothing_is_learnt(client):
    made = decide(client, "a").json()
    client.post(f"{MAIN}/decisions/{made['id']}/withdrawal")
    assert decide(client, "b", ROUND | {"contexts": {"price": [0.1, 0.4, 0.9, 0.2]}}).status_code == 201


def test_an_erasure_takes_catalogues_along(client, store):
    arms = {"contexts": ROUND["contexts"], "groups": ["ann-secret", "ann-secret", "bob", "bob"]}
    kept, other = (client.put(f"{MAIN}/catalogues/{name}", json=arms).json()["catalogue"] for name in ("one", "two"))
    client.put(f"{MAIN}/catalogues/three", json=arms | {"groups": ["bob"] * 4})
    round = {part: ROUND[part] for part in ("promises", "feasible")}
    assert decide(client, "a", round | {"catalogue": kept}).status_code == 201
    told = client.post(f"{MAIN}/redactions", json={"label": "ann-secret"}).json()
    assert (len(told["decisions"]), told["catalogues"], told["finished"]) == (1, ["one", "two"], True)
    for named in (kept, other):
        assert decide(client, "b", round | {"catalogue": named}).status_code == 404
    with open(store, "rb") as file:
        assert b"ann-secret" not in file.read()
    assert client.delete(f"{MAIN}/catalogues/three").status_code == 204
    assert client.delete(f"{MAIN}/catalogues/three").status_code == 404


def test_a_catalogue_that_another_process_erased_is_forgotten(store):
    held = Sessions(store, durability="normal")
    app = application(held)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        wait_until_ready(client)
        named = client.put(f"{MAIN}/catalogues/c", json={"contexts": ROUND["contexts"]}).json()["catalogue"]
        shelf = shelf_at(store)
        shelf.write("catalogue main", "c", None)
        shelf.close()
        held.catalogues.refresh()
        assert decide(client, "a", {"catalogue": named, "feasible": {"at_most": 1}}).status_code == 404


def test_an_archived_session_can_still_be_erased_from(client):
    decide(client, "a")
    client.put(f"{MAIN}/catalogues/c", json={"contexts": ROUND["contexts"]})
    assert client.delete(MAIN).status_code == 200
    assert len(client.post(f"{MAIN}/redactions", json={"label": "ann"}).json()["decisions"]) == 1
    assert client.delete(f"{MAIN}/catalogues/c").status_code == 204


def test_who_is_cut_off_by_the_end_of_the_service_is_told_to_ask_again(store, monkeypatch):
    held = Sessions(store, durability="normal")

    async def cut_off(*_, **__):
        raise asyncio.CancelledError

    with TestClient(application(held), base_url="http://127.0.0.1") as client:
        wait_until_ready(client)
        monkeypatch.setattr(held, "write", cut_off)
        told = decide(client, "a")
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
        assert "repeat the call with the same key" in told.json()["detail"]


def test_a_truth_is_no_one(client):
    decide(client, "a", ROUND | {"groups": [1, 1, 2, 2]})
    assert client.post(f"{MAIN}/redactions", json={"label": True}).status_code == 422
    assert len(client.post(f"{MAIN}/redactions", json={"label": 1}).json()["decisions"]) == 1


def test_metrics_are_of_covered_sessions_alone(store):
    sa.Session.open(store, name="other", policy=sa.TCGPUCB(), durability="normal").close()
    held = Sessions(store, durability="normal")
    made = {of: tokens.create(held.shelf, ("metrics", "decide"), sessions=of).text for of in ("main", "[mo]*")}
    app = application(held, admission=Admission(held.shelf))
    with TestClient(app, base_url="http://shop.example.org") as client:
        wait_until_ready(client)
        shown = {}
        for of, token in made.items():
            bearer = {"Authorization": f"Bearer {token}"}
            for name in ("main", "other"):
                decide(client, of, session=f"/v1/sessions/{name}", **bearer)
            answer = client.get("/metrics", headers=bearer)
            shown[of] = set(re.findall(r'session="(\w+)"', answer.text)), "superarm_requests_total" in answer.text
        assert shown == {"main": ({"main"}, True), "[mo]*": ({"main", "other"}, True)}
        wrong = client.get(MAIN, headers={"Authorization": "Bearer sa_bad"})
        assert (wrong.status_code, wrong.json()["detail"][:22]) == (401, "the token is not known")


def test_a_deadline_beyond_all_dates_and_an_error_are_shown_as_pages(site, monkeypatch):
    far = "/v1/sessions/far"
    sent = {"name": "far", "policy": {"policy": "CUCB"}}
    assert site.post("/v1/sessions", json=sent | {"deadline": 1e300}).status_code == 422
    assert site.post("/v1/sessions", json=sent | {"deadline": LONGEST}).status_code == 201
    id = decide(site, "k", session=far).json()["id"]
    shown = site.get(f"/sessions/far/decisions/{id}")
    assert shown.status_code == 200
    monkeypatch.setattr("superarm.service.page.routes.decision_page", lambda *_: 1 / 0)
    failed = site.get(f"/sessions/far/decisions/{id}")
    assert (failed.status_code, failed.headers["content-type"].partition(";")[0]) == (500, "text/html")
    assert "ZeroDivision" not in failed.text


def test_the_page_says_that_nothing_is_picked_while_outcomes_are_missing(site):
    sent = {"name": "w", "policy": {"policy": "CautiousTCGPUCB", "exploring_out": 1}}
    assert site.post("/v1/sessions", json=sent).status_code == 201
    made = [decide(site, key, session="/v1/sessions/w").json() for key in "abc"]
    assert [each["kind"] for each in made] == ["EXPLORING", "WAITING", "WAITING"]
    assert "The last 2 decisions picked nothing, because outcomes of earlier" in site.get("/sessions/w").text
    shown = site.get(f"/sessions/w/decisions/{made[2]['id']}").text
    assert f'href="/sessions/w/decisions/{made[0]["id"]}">round 1</a>' in shown
    assert "Nothing was picked, so no outcomes are expected" in shown
    assert "it does not wait" in shown


def test_what_is_typed_becomes_no_cookie_where_there_are_no_tokens(site):
    form = site.get("/login").text
    csrf = re.search(r'name="csrf" value="(\w+)"', form)[1]
    answer = site.post("/login", data={"csrf": csrf, "token": "日本"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert site.cookies["superarm_page"].isascii()


def test_whoever_logs_in_comes_where_they_wanted_to_go(store):
    held = Sessions(store, durability="normal")
    token = tokens.create(held.shelf, ("read",)).text
    app = application(held, admission=Admission(held.shelf), more=[page()])
    with TestClient(app, base_url="http://shop.example.org") as client:
        wait_until_ready(client)
        form = client.get("/sessions/main")
        assert form.url.path == "/login"
        fields = dict(re.findall(r'name="(csrf|place)" value="([^"]*)"', form.text))
        assert fields["place"] == "/sessions/main"
        answer = client.post("/login", data=fields | {"token": token}, follow_redirects=False)
        assert answer.headers["location"] == "/sessions/main"
    for foreign in (
        "//evil.com",
        "/\\evil.com",
        "https://evil.com",
        "/sessions//evil",
        "/sessions/a\nb",
        "/v1/sessions",
    ):
        assert not is_own(foreign)


@pytest.mark.slow
def test_a_head_without_end_ends_the_connection(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        sent = 0
        with suppress(OSError):  # at some point it is closed
            for _ in range(400):
                line.sendall(b"a" * 65536)
                sent += 1
                time.sleep(0.002)  # as a slow sender would
        assert sent < 400
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/healthz", headers={f"X-{n}": "a" * 1000 for n in range(30)})
    assert connection.getresponse().status == 200
    connection.close()
    assert time.perf_counter() - begun < 5.0


@pytest.mark.slow
def test_a_large_body_is_no_long_head(port):
    body = json.dumps(ROUND).encode() + b" " * 3_000_000
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for key in "ab":  # on one connection
        connection.request("POST", f"{MAIN}/decisions", body, JSON | {"Idempotency-Key": key})
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 100) == (201, True)
    connection.close()


@pytest.mark.slow
def test_who_goes_away_in_the_middle_of_a_body_is_no_failure_of_the_service(port, caplog):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        head = f"POST {MAIN}/decisions HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: q\r\nContent-Length: 50\r\n"
        line.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        time.sleep(0.2)  # so that the service has begun to read

    def told():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/metrics")
        found = connection.getresponse().read().decode()
        connection.close()
        return found

    until(lambda: 'superarm_requests_total{route="decide",status="400"} 1.0' in told())
    assert 'status="500"' not in told()
    assert "Traceback" not in caplog.text
