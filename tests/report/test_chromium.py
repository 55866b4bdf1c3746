"""The page in a real browser, from the file system and without a network."""

import pytest

from superarm.report.page import write_report
from tests.report import chromium
from tests.report.samples import POLICIES, bounds, claims, manifest, results

NEEDS = "needs Chromium: install it (Debian: apt-get install chromium), or name it in $CHROMIUM"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if chromium.executable() is None:
        pytest.skip(NEEDS)
    folder = tmp_path_factory.mktemp("page")
    frame = results(POLICIES)
    path = write_report(folder, frame, manifest(frame), claims(), bounds(frame))
    with chromium.browser(tmp_path_factory.mktemp("profile")) as tab:
        tab.look(width=1280)
        tab.open(path)
        assert charts(tab) == 1  # what is folded is drawn when it is opened
        tab.value("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        tab.until("document.querySelectorAll('.panel svg.marks').length === document.querySelectorAll('.panel').length")
        yield tab
        assert tab.complaints == []
        assert set(tab.requests) == {path.as_uri()}


def charts(tab):
    return tab.value("document.querySelectorAll('.panel svg.marks').length")


def test_every_chart_is_drawn(tab):
    places = tab.value("document.querySelectorAll('.panel').length")
    assert charts(tab) == places == 27
    lines = tab.value("document.querySelectorAll('#regret-0 .mark-line path').length")
    bands = tab.value("document.querySelectorAll('#regret-0 .mark-area path').length")
    assert (lines, bands) == (len(POLICIES), len(POLICIES))


def test_pointing_at_a_chart_lists_every_policy(tab):
    place = tab.value(
        "(() => { const e = document.querySelector('#regret-1'); e.scrollIntoView({block: 'center'});"
        " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    tab.move(place[0] - 30, place[1])
    tab.move(*place)
    tab.until("document.querySelector('#vg-tooltip-element.visible')")
    words = tab.value("document.querySelector('#vg-tooltip-element').innerText")
    assert "round" in words
    for policy in POLICIES:
        assert policy in words
    assert tab.value("document.querySelectorAll('#regret-1 .mark-symbol path').length") == len(POLICIES)
    tab.move(1, 1)
    tab.until("!document.querySelector('#vg-tooltip-element.visible')")


def test_the_legend_isolates_a_policy_in_all_charts(tab):
    shown = (
        "[...document.querySelectorAll('#regret-0 .mark-line path')]"
        ".filter(p => Number(p.getAttribute('opacity') ?? 1) > 0.5).length"
    )
    assert tab.value(shown) == len(POLICIES)
    tab.value("document.querySelector('.legend button[data-policy=acc-ucb]').click()")
    assert tab.value(shown) == 1
    assert tab.value(shown.replace("regret-0", "learning-1")) == 1
    assert tab.value("document.querySelector('[data-policy=acc-ucb]').getAttribute('aria-pressed')") == "true"
    tab.value("document.querySelector('.legend .all').click()")
    assert tab.value(shown) == len(POLICIES)


def test_the_legends_of_all_parts_agree(tab):
    pressed = "[...document.querySelectorAll('[data-policy=cautious]')].map(b => b.getAttribute('aria-pressed'))"
    tab.value("document.querySelector('#calibration').closest('details').querySelector('.legend button').click()")
    assert tab.value(pressed) == ["true", "true"]
    tab.value("document.querySelectorAll('.legend .all')[1].click()")
    assert tab.value(pressed) == ["false", "false"]
    assert tab.value("[...document.querySelectorAll('.legend .all')].every(b => b.hidden)")


@pytest.mark.parametrize("media", ["", "print"])
def test_legends_are_seen_on_a_phone_and_on_paper(tab, media):
    tab.look(width=390)
    tab.call("Emulation.setEmulatedMedia", media=media)
    seen = "[...document.querySelectorAll('.legend, .summary .swatch')].every(e => e.getBoundingClientRect().width > 0)"
    assert tab.value(seen)
    place = tab.value("getComputedStyle(document.querySelector('.legend')).position")
    assert place == ("static" if media else "sticky")
    tab.call("Emulation.setEmulatedMedia", media="")


def test_pointing_at_a_policy_in_the_explorer_tells_all_its_figures(tab):
    tab.look(width=1280)
    place = tab.value(
        "(() => { document.querySelector('#tradeoff-0').scrollIntoView({block: 'center'});"
        " const dots = [...document.querySelectorAll('#tradeoff-0 .mark-symbol path')];"
        " const b = dots[dots.length - 1].getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    tab.move(place[0] - 3, place[1])
    tab.move(*place)
    tab.until("document.querySelector('#vg-tooltip-element.visible')")
    words = tab.value("document.querySelector('#vg-tooltip-element').innerText")
    for part in (
        "cautious",
        "reward, pooled",
        "group regret",
        "promises kept",
        "broken per run",
        "predicted per run",
    ):
        assert part in words
    tab.move(1, 1)
    tab.until("!document.querySelector('#vg-tooltip-element.visible')")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [True, False])
def test_it_fits_the_screen_and_follows_the_readers_scheme(tab, width, dark):
    tab.look(width=width, dark=dark)
    tab.until(f"document.documentElement.dataset.drawn === '{'dark' if dark else 'light'}'")
    tab.until("document.documentElement.scrollWidth <= innerWidth")
    tab.until("[...document.querySelectorAll('.panel')].every(p => p.scrollWidth <= p.clientWidth + 1)")
    if width == 1280:
        tab.until("[...document.querySelectorAll('.scroll')].every(s => s.scrollWidth <= s.clientWidth)")
    assert charts(tab) == 27
    text = tab.value("getComputedStyle(document.querySelector('#regret-0 .role-title text')).fill")
    assert text == ("rgb(230, 230, 227)" if dark else "rgb(31, 35, 40)")
