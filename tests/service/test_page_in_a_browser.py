"""The page in a real browser: four sizes, both themes, no violation that axe knows; labels stay text; keys do all."""

import re
import shutil

import httpx
import pytest

import superarm as sa
from superarm.service.app import application
from superarm.service.page.routes import page
from superarm.service.sessions import Sessions
from superarm.service.tokens import Admission, create
from tests.report.chromium import executable
from tests.service.serves import served
from tests.service.shops import HOSTILE, shop_session

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(executable() is None, reason="no Chromium is installed")]
SIZES = ((360, 740), (768, 1024), (1280, 800), (1920, 1080))
LABELS = [HOSTILE, "</td><script>document.title='taken'</script>", "shop C", "shop D", "shop E"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "shop.db"
    shop_session(path, "shops", 40).close()
    shop_session(path, f"odd {HOSTILE}", 24, labels=LABELS, wrong=1.5).close()
    return path


@pytest.fixture
def address(made, tmp_path):
    """Where a server is that asks for a token, and the token."""
    shutil.copy(made, tmp_path / "shop.db")
    held = Sessions(str(tmp_path / "shop.db"), durability="normal")
    token = create(held.shelf, ("read", "observe", "correct")).text
    app = application(held, admission=Admission(held.shelf), more=[page()])
    with served(app) as running:
        yield running.address, token
        running.server.force_exit = True


def test_a_page_that_is_open_does_not_hold_up_the_end(made, tmp_path):
    shutil.copy(made, tmp_path / "shop.db")
    app = application(Sessions(str(tmp_path / "shop.db"), durability="normal"), more=[page()])
    with served(app) as running, httpx.stream("GET", f"{running.address}/live", timeout=30) as told:
        assert "what is new" in next(told.iter_text())
        running.server.should_exit = True
        running.thread.join(8.0)
        assert not running.thread.is_alive()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium, address):
    """A tab that is logged in, and complains about nothing."""
    address, token = address
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, base_url=address)
    tab = context.new_page()
    complaints = []
    tab.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on(
        "request", lambda asked: complaints.append(asked.url) if not asked.url.startswith((address, "data:")) else None
    )
    tab.goto("/")
    tab.get_by_label("Token").fill(token)
    tab.get_by_role("button", name="Log in").click()
    tab.get_by_role("heading", name="Sessions").wait_for()
    yield tab
    assert complaints == []
    context.close()


def a_decision(tab, which):
    tab.goto(f"/sessions/shops?only={which}#decisions")
    rows = tab.get_by_role("region", name="Table: Decisions", exact=True)
    rows.get_by_role("link").first.click()
    tab.get_by_role("heading", name=re.compile("Decision of round")).wait_for()


def violations(tab):
    found = axe.Axe().run(tab).response["violations"]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def test_no_size_or_theme_has_a_violation(tab, chromium):
    a_decision(tab, "broken")
    decision = tab.url
    for address, sizes in (("/sessions/shops", SIZES), ("/", SIZES[:3:2]), (decision, SIZES[:3:2])):
        tab.goto(address)
        for width, height in sizes:
            tab.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                assert violations(tab) == [], (address, width, scheme)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
    tab.get_by_role("button", name="Log out").click()
    tab.get_by_label("Token").wait_for()
    assert violations(tab) == []


def test_labels_stay_text(tab):
    tab.get_by_role("link", name=re.compile("^odd")).click()
    tab.get_by_role("heading", name="Promises over time").wait_for()
    assert tab.get_by_text(LABELS[1], exact=True).count() >= 1
    assert tab.evaluate("document.images.length") == 0
    assert tab.evaluate("document.scripts.length") == 1
    assert tab.title() == f"odd {HOSTILE} | superarm"
    tab.get_by_role("region", name="Table: Decisions", exact=True).get_by_role("link").first.click()
    tab.get_by_role("heading", name="Picked arms").wait_for()
    assert tab.evaluate("document.images.length") == 0
    assert "taken" not in tab.title()


def test_all_can_be_done_by_keys(tab):
    tab.goto("/")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    for _ in range(8):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "shops":
            break
    tab.keyboard.press("Enter")
    tab.get_by_role("heading", name="shops").wait_for()
    for _ in range(20):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    tab.keyboard.press("Enter")
    assert tab.get_by_role("region", name="Table: Promises over time, in numbers").is_visible()


def test_news_come_without_a_reload(tab, tmp_path):
    tab.goto("/sessions/shops")
    tab.evaluate("window.stays = true")
    tab.locator("details", has_text="The same in numbers").first.locator("summary").click()
    before = tab.locator("#lead").inner_text()
    with sa.Session.open(tmp_path / "shop.db", name="shops", durability="normal") as session:
        oldest = session.decision(str(session.pending()["decision"][-1]))
        session.observe(oldest.id, oldest.arms, [[0.5, 2.0]] * len(oldest.arms), by="position")
    playwright.expect(tab.locator("#lead")).not_to_have_text(before, timeout=15_000)
    assert tab.evaluate("window.stays") is True
    assert tab.locator("details[open]").count() == 1  # what was open stays open
    tab.get_by_role("button", name="Pause updates").click()
    assert tab.get_by_role("button", name="Go on with updates").get_attribute("aria-pressed") == "true"


def test_who_may_withdraws_and_corrects(tab):
    a_decision(tab, "waiting")
    tab.get_by_text("Withdraw this decision").first.click()
    tab.get_by_role("button", name="Withdraw this decision").click()
    tab.get_by_text("The decision is withdrawn.").wait_for()
    a_decision(tab, "broken")
    tab.locator("summary", has_text="Correct").first.click()
    tab.get_by_label(re.compile("True value of outcome")).first.fill("0.75")
    tab.get_by_role("button", name="Correct").first.click()
    tab.get_by_text("The outcome is corrected.").wait_for()
