"""What a new user does: start the service, make a decision by the line that it prints, and see it on the page."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from tests.report.chromium import executable

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(executable() is None, reason="no Chromium is installed"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl is installed"),
]


@pytest.fixture
def printed(tmp_path):
    """What a service prints that was just started, line by line."""
    command = [sys.executable, "-m", "superarm", "serve", "--store", str(tmp_path / "new.db"), "--bind", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = [process.stdout.readline(), process.stdout.readline()]
    yield lines
    process.send_signal(signal.SIGTERM)
    process.stdout.close()
    assert process.wait(30) in (0, -signal.SIGTERM)


def curl(*command):
    done = subprocess.run(
        ["curl", "-sf", "--retry", "30", "--retry-delay", "1", *command], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_a_decision_by_curl_is_seen_on_the_page(printed):
    address = re.search(r"http://\S+", printed[0])[0]
    words = shlex.split(re.search(r"curl .*", printed[1])[0])
    curl(f"{address}readyz")
    decision = curl(*words[1:])
    assert curl(*words[1:])["id"] == decision["id"]  # the same key: the same decision
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(address)
        tab.get_by_role("link", name="main").click()
        story = tab.locator("#lead")
        playwright.expect(story).to_contain_text("1 decision")
        playwright.expect(story).to_contain_text("waits for outcomes")
        arms = decision["arms"]
        body = json.dumps({"arms": arms, "outcomes": [[0.5] * len(arms), [0.4] * len(arms)]})
        outcomes = f"{address}v1/sessions/main/decisions/{decision['id']}/outcomes"
        curl(outcomes, "-H", "Content-Type: application/json", "-d", body)
        playwright.expect(story).to_contain_text(re.compile("(was|were) kept"), timeout=15_000)
        playwright.expect(story).not_to_contain_text("waits for outcomes")
        browser.close()
