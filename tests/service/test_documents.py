"""The tutorial of the service is executed, its reference is that of the service, and the deployment holds together."""

import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

import superarm as sa
from superarm.service.app import application
from superarm.service.examples import EXAMPLES
from superarm.service.page.routes import page as the_page
from superarm.service.reference import page
from superarm.service.serving import first_words
from superarm.service.sessions import Sessions
from superarm.sessions.stores.sqlite import SQLiteStore
from tests.service.asks import decide
from tests.service.serves import served
from tests.waits import until

ROOT = Path(__file__).parents[2]
SHOP = "/v1/sessions/shop"


def test_the_reference_is_that_of_the_service():
    assert (ROOT / "docs" / "http.md").read_text("utf-8") == page(), (
        "python -m superarm.service.reference > docs/http.md"
    )


def test_lines_of_the_reference_are_no_longer_than_elsewhere():
    assert max(map(len, page().splitlines())) <= 120


def test_the_examples_of_bodies_are_taken(client):
    assert client.post("/v1/sessions", json={"name": "shop"}).status_code == 201
    decided = client.post(f"{SHOP}/decisions", json=EXAMPLES["RoundSent"], headers={"Idempotency-Key": "k"})
    assert decided.status_code == 201
    recorded = client.post(f"{SHOP}/records", json=EXAMPLES["RecordSent"]).json()
    assert (recorded["new"], recorded["state"]) == (3, "partial")
    place = f"{SHOP}/decisions/{recorded['decision']}/outcomes"
    assert client.post(place, json=EXAMPLES["OutcomesSent"]).json()["known"] == 3
    assert client.put(f"{place}/0/1", json=EXAMPLES["ValueSent"]).json()["new"] == 1
    assert client.put(f"{SHOP}/catalogues/all", json=EXAMPLES["ArmsSent"]).json()["arms"] == 3
    assert client.post("/v1/sessions", json=EXAMPLES["SessionSent"]).status_code == 201
    assert client.patch(SHOP, json=EXAMPLES["SessionChange"]).json()["state"] == "paused"
    assert len(client.post(f"{SHOP}/redactions", json=EXAMPLES["LabelSent"]).json()["decisions"]) == 2


def blocks(document):
    return re.findall(r"^```sh\n(.*?)^```$", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_tutorial_from_the_command_to_the_page(tmp_path):
    words = [sys.executable, "-m", "superarm", "serve", "--store", "shop.db", "--bind", "127.0.0.1:0"]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        address = re.search(r"http://[\d.:]+", server.stdout.readline())[0]
        first = server.stdout.readline().partition("curl")[2]
        run(f"curl --retry 60 --retry-delay 1 --retry-all-errors -sf {address}/readyz", tmp_path)
        assert '"state":"open"' in run(f"curl {first}", tmp_path)
        pages = [ROOT / "docs/first_service.md", ROOT / "docs/service.md"]
        said = [
            run(block.replace("http://127.0.0.1:8000", address), tmp_path) for page in pages for block in blocks(page)
        ]
        assert '"state":"partial"' in said[1]
        assert '"ann"' in said[2] or '"bob"' in said[2]
        assert '"confidence":0.95' in said[3]
        assert said[4].startswith("sa_")
        token = said[4].split()[0]
        status = f"curl -s -o /dev/null -w '%{{http_code}}' {address}/v1/sessions/main"
        until(lambda: run(status, tmp_path) == "401")  # the service reads tokens again every second
        assert '"main"' in run(f"curl -sf {address}/v1/sessions -H 'Authorization: Bearer {token}'", tmp_path)
    finally:
        server.terminate()
        server.stdout.close()
        assert server.wait(30) == 0
    assert token.split("_", 2)[2] not in (tmp_path / "log").read_text()


def run(block, folder):
    command = f'superarm() {{ {sys.executable} -m superarm "$@"; }}\nset -e\n{block}'
    told = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, (block, told.stdout, told.stderr)
    return told.stdout


def test_the_first_words_name_the_page_and_a_command():
    said = first_words("http://127.0.0.1:1", "main", token=True)
    assert "http://127.0.0.1:1/" in said
    assert "$TOKEN" in said


def test_the_deployment_holds_together():
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    service = compose["services"]["service"]
    assert service["command"][:2] == ["serve", "--store"]
    assert set(service["secrets"]) <= set(compose["secrets"])
    assert (ROOT / "deploy" / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    text = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    known = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {line.split()[0] for line in lines} <= known
    assert "USER superarm" in lines
    for line in lines:
        for source in line.split()[1:-1] if line.startswith("COPY") and "--from" not in line else ():
            assert (ROOT / source).exists(), source
    assert not re.search(r"(?i)password|secret|token", text)


def test_a_server_ends_when_it_is_told_to_and_answers_what_it_has_begun(store, monkeypatch):
    answers, at_work, write = [], threading.Event(), SQLiteStore._write

    def slow(kept, batches):
        at_work.set()
        time.sleep(0.5)  # long enough to be told to end in the meantime
        write(kept, batches)

    def asks(address):
        with httpx.Client(base_url=address, timeout=30) as client:
            answers.append(decide(client, "last"))

    held = Sessions(store, durability="normal")
    with served(application(held, more=[the_page()])) as running:
        until(lambda: held.ready)
        monkeypatch.setattr(SQLiteStore, "_write", slow)
        other = threading.Thread(target=asks, args=(running.address,))
        other.start()
        assert at_work.wait(30)
        running.server.should_exit = True
        for each in (running.thread, other):
            each.join(30)
            assert not each.is_alive()
    monkeypatch.undo()
    assert answers[0].status_code == 201
    with sa.Session.open(store) as session:
        assert session.decision(key="last").id == answers[0].json()["id"]
