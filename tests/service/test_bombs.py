"""What is sent to harm the service: a body without end, arrays that become much more, odd headers, keys and labels."""

import http.client
import json
import resource

import polars as pl
import pytest

from superarm.service.asked import ARROW
from tests.service.asks import MAIN, ROUND, decide

MOST = 250 * 2**20  # bytes that the process may grow by


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
def test_a_body_of_a_gigabyte_in_chunks_is_refused_and_held_nowhere(port):
    before, chunk, sent = peak(), b" " * 2**20, 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("POST", f"{MAIN}/decisions")
    for name, value in (
        ("Content-Type", "application/json"),
        ("Idempotency-Key", "k"),
        ("Transfer-Encoding", "chunked"),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    try:
        for _ in range(1024):
            connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            sent += len(chunk)
        connection.send(b"0\r\n\r\n")
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it hung up
    connection.close()
    assert peak() - before < MOST
    other = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    other.request("GET", "/healthz")
    assert other.getresponse().status == 200
    other.close()


def test_an_array_that_becomes_much_more_is_refused(client):
    frame = pl.DataFrame({"x": pl.zeros(20_000_000, eager=True)})
    small = frame.write_ipc_stream(None, compression="zstd").getvalue()
    assert len(small) < 2**20
    before = peak()
    headers = {
        "Content-Type": ARROW,
        "Idempotency-Key": "k",
        "Superarm-Round": json.dumps({"feasible": {"at_most": 1}}),
    }
    told = client.post(f"{MAIN}/decisions", content=small, headers=headers)
    assert told.status_code == 400
    assert peak() - before < 2**26  # before anything was unpacked


def test_a_body_that_says_it_is_compressed_is_refused_before_it_is_read(client):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Idempotency-Key": "k"}
    assert client.post(f"{MAIN}/decisions", content=b"\x1f\x8b" + bytes(100), headers=headers).status_code == 415


@pytest.mark.parametrize("key", ["a" * 201, "", "\u00e9" * 300])
def test_keys_that_are_none(client, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key.encode("utf-8")}
    assert client.post(f"{MAIN}/decisions", json=ROUND, headers=headers).status_code == 422


def test_no_header_can_be_smuggled_into_an_answer(client):
    told = client.get("/v1/sessions/a%0d%0aX-Evil:%201")
    assert told.status_code == 404
    assert "x-evil" not in told.headers
    made = decide(client, "k").json()
    named = client.get(f"{MAIN}/decisions/{made['id']}%0d%0aX-Evil:1")
    assert "x-evil" not in named.headers


def test_labels_are_text_whatever_they_look_like(client):
    labels = ["<script>alert(1)</script>", "'; DROP TABLE event; --", "\u202e", "a\u0000b"]
    round = ROUND | {"groups": labels}
    told = decide(client, "k", round)
    assert told.status_code in (201, 422)
    if told.status_code == 201:
        assert {each["label"] for each in told.json()["selection"]["groups"]} <= set(labels)
    assert client.get(MAIN).status_code == 200
