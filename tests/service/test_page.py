"""The page as HTML: what it says, that labels stay text, who may see and do what, and that it is told of news."""

import re
import shutil
from html.parser import HTMLParser
from urllib.parse import quote

import numpy as np
import pytest
from litestar.testing import TestClient

import superarm as sa
from superarm.service.app import application
from superarm.service.page import live
from superarm.service.page.markup import Html, join, tag
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission, create, revoke
from tests.service.asks import wait_until_ready
from tests.service.long import costs, long_session
from tests.service.shops import HOSTILE, shop_session
from tests.waits import until

ODD = "odd <i onclick='x'>name"
HOSTILE_LABELS = [HOSTILE, "</script><script>document.title='taken'</script>", "'\"&<b>", "shop D", "shop E"]


class Parsed(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(source)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_data(self, text):
        self.text += text

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]

    def inputs(self, action):
        """The hidden fields of the first form with an action that ends so."""
        found, fields = False, {}
        for name, attributes in self.elements:
            if name == "form":
                if found:
                    break
                found = attributes["action"].endswith(action)
            elif found and name == "input" and "value" in attributes:
                fields[attributes["name"]] = attributes["value"]
        return fields


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file with two sessions, one of them with labels that would like to be more than text."""
    path = tmp_path_factory.mktemp("page") / "shop.db"
    shop_session(path, "shops", 24).close()
    shop_session(path, ODD, 12, labels=HOSTILE_LABELS, wrong=1.5).close()
    return path


def served(path):
    app = application(Sessions(str(path), durability="normal"), more=[page()])
    return TestClient(app, base_url="http://127.0.0.1")


@pytest.fixture
def path(made, tmp_path):
    shutil.copy(made, tmp_path / "shop.db")
    return tmp_path / "shop.db"


@pytest.fixture
def client(path):
    with served(path) as client:
        yield wait_until_ready(client)


def shown(client, address, status=200):
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    return Parsed(answer.text)


def decisions(client, only=""):
    """Addresses of decisions, as the page of the session links them."""
    found = shown(client, f"/sessions/shops?only={only}").elements
    rows = found[[attributes.get("aria-label") for _, attributes in found].index("Table: Decisions") :]
    return [each["href"] for name, each in rows if name == "a" and "/decisions/" in each["href"]]


def test_the_page_opens_with_the_story_then_the_picture_then_tables(client, path):
    with sa.Session.open(path, name="shops") as session:
        promises = session.promises()
    kept, broken = ((promises["kept"] == each).sum() for each in (True, False))
    found = shown(client, "/sessions/shops")
    share = f"{100 * kept / (kept + broken):.1f}\u00a0%".replace("100.0", "100")
    assert f"{share} of {kept + broken} promises were kept: {broken} broke where" in found.text
    order = [name for name, _ in found.elements if name in ("h1", "svg", "table")]
    assert order[0] == "h1"
    assert order.index("svg") < order.index("table")
    for heading in ("Promises over time", "Stated and observed", "Reward per decision", "Groups", "Account of risk"):
        assert heading in found.text
    for heading in ("Waiting for outcomes", "Groups without outcomes", "What the model has adopted", "Decisions"):
        assert heading in found.text


def test_all_sessions_are_on_the_first_page(client):
    found = shown(client, "/")
    assert "2 sessions have made" in found.text
    links = [each["href"] for each in found.all("a") if each["href"].startswith("/sessions/")]
    assert links == ["/sessions/shops", f"/sessions/{quote(ODD)}"]


def test_a_decision_says_why_and_what_came_of_it(client, path):
    broken = decisions(client, "broken")
    assert broken
    found = shown(client, broken[0])
    assert "broke." in found.text
    assert "Stated probability" in found.text
    with sa.Session.open(path, name="shops") as session:
        decision = session.decision(broken[0].rsplit("/", 1)[-1])
    assert decision.kind.value in found.text
    assert all(name in found.text for name in decision.arm_ids)
    assert f"{broken[0]}/explanation" in [each["href"] for each in found.all("a")]
    full = shown(client, f"{broken[0]}/explanation").text
    assert "was decided so" in full
    assert "Price of its promise" in full
    assert all(name in full for name in decision.arm_ids)


def test_no_label_becomes_an_element(client):
    odd = f"/sessions/{quote(ODD)}"
    found = shown(client, odd)
    assert all(label in found.text for label in HOSTILE_LABELS)
    links = [each["href"] for each in found.all("a") if "/decisions/" in each.get("href", "")]
    assert len(links) > 12
    for address in ("/", odd, f"{odd}?group=%3Cimg", *links[-6:], f"{links[-1]}/explanation"):
        found = shown(client, address)
        assert {name for name, _ in found.elements}.isdisjoint({"img", "i", "b", "iframe", "object"})
        assert [attributes.get("src") for attributes in found.all("script")] == ["/page/page.js"]
        keys = [key for _, attributes in found.elements for key in attributes]
        assert not [key for key in keys if key.startswith("on") or key == "style"]


def test_markup_escapes_all_that_is_not_its_own():
    assert tag("p", "<b>", Html("<i>"), ["&", None, 3], title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i>&amp;3</p>'
    assert join("<", tag("br")) == "&lt;<br>"


def test_answers_forbid_all_that_the_page_does_not_need(client):
    for address in ("/", "/sessions/shops", "/login", "/sessions/nobody", "/page/page.js"):
        headers = client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/").headers["cache-control"] == "no-store"
    client.cookies.clear()
    cookie = client.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_files_come_once(client):
    first = client.get("/page/page.css")
    assert first.status_code == 200
    assert first.headers["content-type"].startswith("text/css")
    again = client.get("/page/page.css", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "--good" in client.get("/page/look.css").text  # the look of the report
    assert client.get("/page/..%2fapp.py").status_code == 404
    assert client.get("/page/html.py").status_code == 404


def test_what_is_not_there_is_a_page_that_says_so(client):
    for address in ("/sessions/nobody", "/sessions/shops/decisions/nothing", "/page/none"):
        found = shown(client, address, 404)
        assert "That was not found." in found.text
    for odd in ("start=x", "only=<b>", f"group={'a' * 5000}", "start=-5", "start=99999999999999999999999"):
        assert client.get(f"/sessions/shops?{odd}").status_code in (200, 400), odd


def test_a_decision_is_withdrawn_by_a_form_of_this_page_only(client, path):
    address = decisions(client, "waiting")[-1]
    fields = shown(client, address).inputs("/withdrawal")
    for wrong in ({}, {"csrf": "0" * 64}):
        assert client.post(f"{address}/withdrawal", data=wrong).status_code == 403
    foreign = client.post(f"{address}/withdrawal", data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403
    done = client.post(f"{address}/withdrawal", data=fields, follow_redirects=True)
    assert "The decision is withdrawn." in done.text
    assert "it was withdrawn" in done.text
    assert "Withdraw this decision" not in done.text
    again = client.post(f"{address}/correction", data=fields | {"arm": "0", "outcome": "1", "value": "1"})
    assert again.status_code in (409, 422)


def test_no_call_of_the_page_scans_a_table(client, monkeypatch):
    monkeypatch.setattr(live, "LONGEST", 0.0)
    address = decisions(client, "broken")[0]
    store = client.app.state["sessions"]._held["shops"].session._running.store
    asked = []
    store._reader.set_trace_callback(asked.append)
    here = "/sessions/shops"
    for each in ("/", here, f"{here}?only=broken", f"{here}?only=waiting&start=3", f"{here}?group=shop", address):
        assert client.get(each).status_code == 200
    for each in (f"{here}/live", f"{address}/live"):
        assert client.get(each).status_code == 200
    for each in (address[:-3], f"{address[:-3]}/explanation"):  # the beginning of an id is not looked for
        assert client.get(each).status_code == 404
    store._reader.set_trace_callback(None)
    assert len(asked) > 60
    for query in set(asked):
        plan = [step[-1] for step in store._reader.execute(f"EXPLAIN QUERY PLAN {query}")]
        assert not [step for step in plan if not step.startswith("SEARCH")], (query, plan)
        assert not re.search(r"FROM (decision|event) .*seq > 0\b", query), query  # that would be all of them


def test_an_outcome_is_corrected(client, path):
    address = decisions(client, "broken")[0]
    fields = shown(client, address).inputs("/correction")
    done = client.post(
        f"{address}/correction", data=fields | {"value": "12,5", "reason": "<b>typo"}, follow_redirects=True
    )
    assert "The outcome is corrected." in done.text
    assert "12.5" in done.text
    for value in ("many", "", "nan", "1e999"):
        refused = client.post(f"{address}/correction", data=fields | {"value": value})
        assert refused.status_code == 422, value
        assert "value" in Parsed(refused.text).text
    known = client.post(f"{address}/correction", data=fields | {"value": "12.5"}, follow_redirects=True)
    assert "had this value already" in known.text


@pytest.fixture
def guarded(path):
    """A service with two tokens: one for everything, one that may only read shops."""
    held = Sessions(str(path), durability="normal")
    every = create(held.shelf, ("read", "decide", "observe", "correct")).text
    reader = create(held.shelf, ("read",), sessions="shops").text
    app = application(held, admission=Admission(held.shelf), more=[page()])
    with TestClient(app, base_url="http://127.0.0.1") as client:
        client.tokens = {"all": every, "reader": reader, "shelf": held.shelf}
        yield wait_until_ready(client)


def log_in(client, token):
    fields = shown(client, "/login").inputs("/login")
    said = client.tokens.get(token, token)
    return client.post("/login", data=fields | {"token": said}, follow_redirects=True)


def test_nobody_sees_anything_without_a_token(guarded):
    for address in ("/", "/sessions/shops", "/sessions/shops/decisions/x", "/sessions/nobody"):
        answer = guarded.get(address, follow_redirects=False)
        wanted = "" if address == "/" else f"?place={address}"  # where to go once one is logged in
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login{wanted}")
    for address in ("/live", "/sessions/shops/live"):
        assert guarded.get(address, headers={"Accept": "text/event-stream"}).status_code == 401
    refused = log_in(guarded, "guess")
    assert refused.status_code == 403
    assert "This token is not known" in refused.text
    assert guarded.post("/login", data={"token": guarded.tokens["all"]}).status_code == 403  # no form of this page
    assert "guess" not in refused.text


def test_a_token_shows_its_own_sessions_and_no_more(guarded):
    seen = Parsed(log_in(guarded, "reader").text)
    assert "1 session has made" in seen.text
    assert "odd" not in seen.text
    assert shown(guarded, "/sessions/shops")
    assert guarded.get("/sessions/odd").status_code == 404
    address = decisions(guarded, "waiting")[-1]
    found = shown(guarded, address)
    assert "Withdraw" not in found.text
    assert not found.inputs("/correction")
    csrf = shown(guarded, "/").inputs("/logout")
    for what, more in (("withdrawal", {}), ("correction", {"arm": "0", "outcome": "1", "value": "1"})):
        assert guarded.post(f"{address}/{what}", data=csrf | more).status_code == 403
    guarded.post("/logout", data=csrf)
    assert guarded.get("/", follow_redirects=False).status_code == 303


def test_a_token_that_is_revoked_shows_nothing_any_more(guarded):
    assert log_in(guarded, "reader").status_code == 200
    revoke(guarded.tokens["shelf"], guarded.tokens["reader"].split("_")[1])
    until(lambda: guarded.get("/", follow_redirects=False).status_code != 200)
    assert guarded.get("/", follow_redirects=False).headers["location"] == "/login"


def test_who_may_can_withdraw_after_login(guarded):
    assert "2 sessions" in log_in(guarded, "all").text
    address = decisions(guarded, "waiting")[-1]
    fields = shown(guarded, address).inputs("/withdrawal")
    assert "is withdrawn" in guarded.post(f"{address}/withdrawal", data=fields, follow_redirects=True).text


def test_the_page_is_told_of_news(client, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 0.05)
    monkeypatch.setattr(live, "LONGEST", 0.3)
    seen = re.search(r"live\?seen=(\w+)", client.get("/sessions/shops").text)[1]
    assert "changed" not in client.get(f"/sessions/shops/live?seen={seen}").text
    address = decisions(client, "waiting")[-1]
    one = re.search(r"live\?seen=(\w+)", client.get(address).text)[1]
    assert "changed" not in client.get(f"{address}/live?seen={one}").text
    client.post(f"{address}/withdrawal", data=shown(client, address).inputs("/withdrawal"))
    for news in (f"/sessions/shops/live?seen={seen}", f"{address}/live?seen={one}", "/live?seen=old"):
        told = client.get(news)
        assert told.headers["content-type"].startswith("text/event-stream")
        assert told.text.count("event: changed") == 1


def test_a_proxy_may_serve_the_page_under_a_path(path):
    app = application(Sessions(str(path), durability="normal"), more=[page()])
    with TestClient(app, base_url="http://127.0.0.1", root_path="/bandit") as client:
        wait_until_ready(client)
        found = shown(client, "/sessions/shops")
    own = [each[key] for _, each in found.elements for key in ("href", "src", "action") if key in each]
    assert all(link.startswith(("/bandit/", "#", "data:")) for link in own), own


def test_an_empty_session_says_so(path):
    sa.Session.open(path, name="new", policy=sa.CUCB()).close()
    with served(path) as client:
        found = shown(wait_until_ready(client), "/sessions/new")
        assert "No decision has been made yet." in found.text
        assert "keeps no account of risk" in found.text
        with sa.Session.open(path, name="new") as session:
            session.decide(contexts=np.eye(2), feasible=sa.AtMost(1))
        assert "no promise to a group was touched" in shown(client, "/sessions/new").text


@pytest.mark.slow
def test_a_long_session_costs_what_a_short_one_does(tmp_path):
    found = {}
    for many in (300, 9000):
        long_session(tmp_path / f"{many}.db", many)
        found[many] = costs(tmp_path / f"{many}.db")
    short, long = (sum(each.values()) for each in found.values())
    assert long < 2.0 * short + 0.05
