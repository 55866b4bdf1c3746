"""Who may do what: every route, every scope, own and foreign sessions."""

import io
import json
import logging

import pytest
from litestar.testing import TestClient
from typer.testing import CliRunner

import superarm as sa
from superarm.cli import app as command
from superarm.errors import InvalidArgument
from superarm.service import logs, start, tokens
from superarm.service.app import ROUTES, application
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.service.tokens import SCOPES, Admission
from superarm.sessions.stores.shelf import shelf_at
from tests.service.asks import MAIN, ROUND, decide, wait_until_ready
from tests.waits import until

# By handler: what it needs, how it is asked, and what it answers to whoever may.
CALLS = {
    "list_sessions": (None, "GET", "/v1/sessions", None),
    "create_session": ("admin", "POST", "/v1/sessions", {"name": "main"}),
    "show_session": ("read", "GET", "/v1/sessions/{s}", None),
    "change_session": ("admin", "PATCH", "/v1/sessions/{s}", {"paused": False}),
    "archive_session": ("admin", "DELETE", "/v1/sessions/{s}", None),
    "decide": ("decide", "POST", "/v1/sessions/{s}/decisions", ROUND),
    "list_decisions": ("read", "GET", "/v1/sessions/{s}/decisions", None),
    "list_pending": ("read", "GET", "/v1/sessions/{s}/pending", None),
    "show_decision": ("read", "GET", "/v1/sessions/{s}/decisions/nobody", None),
    "explain": ("read", "GET", "/v1/sessions/{s}/decisions/nobody/explanation", None),
    "observe": ("observe", "POST", "/v1/sessions/{s}/decisions/nobody/outcomes", {"arms": [], "outcomes": [[], []]}),
    "observe_many": ("observe", "POST", "/v1/sessions/{s}/outcomes", None),
    "send_catalogue": ("decide", "PUT", "/v1/sessions/{s}/catalogues/c", {"contexts": [[1.0]]}),
    "correct": ("correct", "PUT", "/v1/sessions/{s}/decisions/nobody/outcomes/0/1", {"value": 1.0}),
    "played": ("observe", "POST", "/v1/sessions/{s}/decisions/nobody/played", None),
    "withdraw": ("observe", "POST", "/v1/sessions/{s}/decisions/nobody/withdrawal", None),
    "record": ("observe", "POST", "/v1/sessions/{s}/records", {"round": ROUND, "arms": [], "outcomes": [[], []]}),
    "rebase": ("correct", "POST", "/v1/sessions/{s}/rebase", None),
    "redact": ("admin", "POST", "/v1/sessions/{s}/decisions/nobody/redaction", None),
    "erase_catalogue": ("admin", "DELETE", "/v1/sessions/{s}/catalogues/nobody", None),
    "redact_label": ("admin", "POST", "/v1/sessions/{s}/redactions", {"label": "nobody"}),
    "promises": ("read", "GET", "/v1/sessions/{s}/promises", None),
    "calibration": ("read", "GET", "/v1/sessions/{s}/calibration", None),
    "outcomes": ("read", "GET", "/v1/sessions/{s}/outcomes", None),
    "ledger": ("read", "GET", "/v1/sessions/{s}/ledger", None),
    "events": ("read", "GET", "/v1/sessions/{s}/events", None),
    "metrics": ("metrics", "GET", "/metrics", None),
}
OPEN = {"healthz", "readyz", "openapi"}


@pytest.fixture
def guarded(store):
    """A service with a session main and a session other, and a token for each scope of main."""
    sa.Session.open(store, name="other", policy=sa.TCGPUCB(), durability="normal").close()
    shelf = shelf_at(store)
    made = {scope: tokens.create(shelf, (scope,), sessions="main").text for scope in SCOPES}
    held = Sessions(store, durability="normal")
    app = application(held, admission=Admission(held.shelf))
    with TestClient(app, base_url="https://superarm.example.org") as client:
        yield wait_until_ready(client), made, shelf
    shelf.close()


def ask(client, call, token=None, session="main"):
    _, method, path, body = call
    headers = {"Idempotency-Key": "k"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    more = {} if body is None else {"json": body}
    return client.request(method, path.format(s=session), headers=headers, **more)


def test_every_route_is_in_the_matrix():
    assert {route.fn.__name__ for route in ROUTES} == set(CALLS) | OPEN


def test_every_route_with_every_scope_in_own_and_foreign_sessions(guarded):
    client, made, _ = guarded
    order = sorted(CALLS, key=lambda name: name == "archive_session")  # after it nothing can be changed
    for name in order:
        call = CALLS[name]
        needed, _, path, _ = call
        assert ask(client, call).status_code == 401, name
        for scope in SCOPES:
            told = ask(client, call, made[scope])
            if needed in (None, scope):
                assert told.status_code not in (401, 403), (name, scope)
            else:
                assert told.status_code == 403, (name, scope)
            if "{s}" in path:
                foreign, nobody = (ask(client, call, made[scope], session) for session in ("other", "nobody"))
                assert foreign.status_code == nobody.status_code == 404, (name, scope)
                assert foreign.text.replace("other", "nobody") == nobody.text, (name, scope)
    assert ask(client, CALLS["create_session"], made["admin"]).status_code == 409
    body = {"name": "other"}
    told = client.post("/v1/sessions", json=body, headers={"Authorization": f"Bearer {made['admin']}"})
    assert told.status_code == 403


def test_a_list_shows_only_what_may_be_read(guarded):
    client, made, _ = guarded
    shown = {scope: ask(client, CALLS["list_sessions"], made[scope]).json()["sessions"] for scope in SCOPES}
    assert [each["name"] for each in shown.pop("read")] == ["main"]
    assert not any(shown.values())


def test_open_routes_need_none(guarded):
    client = guarded[0]
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert client.get(path).status_code == 200


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "x", lambda t: t.replace("sa_", "sb_"), lambda t: ""]
)
def test_a_token_that_is_not_right_is_none(guarded, change):
    client, made, _ = guarded
    told = ask(client, CALLS["show_session"], change(made["read"]))
    assert (told.status_code, told.headers["www-authenticate"]) == (401, 'Bearer realm="superarm"')


def test_tokens_end_and_are_revoked(tmp_path):
    shelf = shelf_at(tmp_path / "shop.db")
    short, long = (tokens.create(shelf, ("read",), days=days) for days in (0.05 / 86400, None))
    admission = Admission(shelf)
    until(lambda: admission.admitted(short.text) is None)
    assert admission.admitted(long.text).scopes == ("read",)
    tokens.revoke(shelf, long.token.id)
    admission.refresh()
    assert admission.admitted(long.text) is None
    assert (admission.needed, admission.possible) == (True, False)
    kept = json.dumps(shelf.read("token"))
    assert long.text.split("_", 2)[2] not in kept
    shelf.close()


def test_a_running_service_hears_of_tokens(store, monkeypatch):
    monkeypatch.setattr("superarm.service.app.FRESH", 0.05)
    held = Sessions(store, durability="normal")
    with TestClient(application(held), base_url="http://127.0.0.1") as client:
        assert client.get(MAIN).status_code == 200
        made = tokens.create(held.shelf, ("read",))
        until(lambda: client.get(MAIN).status_code == 401)
        assert client.get(MAIN, headers={"Authorization": f"Bearer {made.text}"}).status_code == 200


def test_beyond_this_machine_only_with_tokens(store):
    with pytest.raises(InvalidArgument, match="token create"):
        start.serve(start.Settings(store=store, bind="0.0.0.0:0"), said=print)


def test_commands(store):
    def run(*words):
        told = CliRunner().invoke(command, ["token", *words, "--store", store])
        assert told.exit_code == 0, told.output
        return told.output

    text = run("create", "--scopes", "read,decide", "--sessions", "shop-*", "--days", "7").strip()
    assert text.startswith("sa_")
    id = text.split("_")[1]
    assert id in run("list")
    assert text.split("_", 2)[2] not in run("list")
    run("revoke", id)
    assert "revoked" in run("list")
    wrong = CliRunner().invoke(command, ["token", "create", "--scopes", "everything", "--store", store])
    assert wrong.exit_code == 1


def test_what_another_site_causes_is_refused(client):
    assert client.get(MAIN, headers={"Host": "evil.example.org"}).status_code == 421
    assert client.get(MAIN, headers={"Host": "localhost:8000"}).status_code == 200
    assert decide(client, "k", **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_every_answer_has_security_headers_and_an_id(client):
    for path in ("/healthz", MAIN, "/nowhere", "/v1/sessions/nobody"):
        headers = client.get(path, headers={"X-Request-Id": "mine-1"}).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["x-request-id"] == "mine-1"
    odd = client.get("/healthz", headers={"X-Request-Id": "a b\tc"}).headers["x-request-id"]
    assert odd != "a b\tc"


def test_logs_are_lines_of_json_without_secrets(guarded):
    client, made, _ = guarded
    stream = io.StringIO()
    before = {name: list(logging.getLogger(name).handlers) for name in ("superarm", "uvicorn", "litestar")}
    logs.configure(stream=stream)
    try:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        headers = {"Authorization": f"Bearer {made['decide']}", "X-Request-Id": "r1", "traceparent": trace}
        told = decide(client, "k", **headers).json()
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, True
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    line = next(line for line in lines if line["logger"] == "superarm.access")
    assert (line["request"], line["decision"], line["status"], line["trace"]) == ("r1", told["id"], 201, trace)
    assert line["token"] in made["decide"]
    assert made["decide"].split("_", 2)[2] not in stream.getvalue()
    feed = client.get(f"{MAIN}/events", headers={"Authorization": f"Bearer {made['read']}"}).text
    assert json.loads(feed.splitlines()[1])["fact"]["trace"] == trace


def test_metrics_count_and_name_no_group(client):
    decide(client, "k")
    decide(client, "k")
    told = client.get("/metrics").text
    assert 'superarm_decisions_total{kind="NONE",session="main"} 1.0' in told
    assert 'superarm_decisions_replayed_total{session="main"} 1.0' in told
    assert 'superarm_pending{session="main"} 1.0' in told
    assert "ann" not in told


def test_too_many_requests_are_told_to_wait(store):
    held = Sessions(store, durability="normal")
    with TestClient(application(held, rate=3), base_url="http://127.0.0.1") as client:
        found = [client.get(MAIN) for _ in range(12)]
    assert {told.status_code for told in found} == {200, 429}
    assert {told.headers["retry-after"] for told in found if told.status_code == 429} == {"1"}


def test_the_page_has_the_same_limit(store):
    held = Sessions(store, durability="normal")
    with TestClient(application(held, rate=3, more=[page()]), base_url="http://127.0.0.1") as client:
        found = [client.get("/login").status_code for _ in range(12)]
    assert set(found) == {200, 429}


def test_metrics_tell_the_balance_and_what_became_of_promises(client):
    client.post("/v1/sessions", json={"name": "careful"})
    headers = {"Idempotency-Key": "k"}
    told = client.post("/v1/sessions/careful/decisions", json=ROUND | {"safe": [True] * 4}, headers=headers).json()
    assert told["arms"]
    outcomes = {"arms": told["arms"], "outcomes": [[0.5] * len(told["arms"]), [0.5] * len(told["arms"])]}
    client.post(f"/v1/sessions/careful/decisions/{told['id']}/outcomes", json=outcomes)
    found = client.get("/metrics").text
    groups = sum(group["threshold"] is not None for group in told["selection"]["groups"])
    assert groups
    assert f'superarm_promises{{session="careful",state="kept"}} {float(groups)}' in found
    assert 'superarm_promises{session="careful",state="broken"} 0.0' in found
    assert 'superarm_balance{session="careful"}' in found
    assert 'superarm_balance{session="main"}' not in found  # its policy keeps no account
    assert 'superarm_events_uncounted{session="careful"} 0.0' in found


def test_a_full_queue_is_told_to_come_again(store):
    held = Sessions(store, queue=1, durability="normal")
    with TestClient(application(held), base_url="http://127.0.0.1") as client:
        wait_until_ready(client)
        client.get(MAIN)
        inside = held._held["main"]
        inside.inside = 1
        told = decide(client, "k")
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
        inside.inside = 0
        assert decide(client, "k").status_code == 201
