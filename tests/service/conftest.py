# pytest parses these modules when they are first imported. CPython 3.11 fails when two threads parse at once (its issue
# 106905), so they are imported before a server has a thread.
import anyio._backends._asyncio  # noqa: F401
import pytest
import schemathesis.specs.openapi.schemas  # noqa: F401
from litestar.testing import TestClient

import superarm as sa
from superarm.service.app import application
from superarm.service.sessions import Sessions
from tests.service.asks import wait_until_ready
from tests.service.serves import served


@pytest.fixture
def store(tmp_path):
    """A file with one session, main."""
    sa.Session.open(tmp_path / "shop.db", policy=sa.TCGPUCB(), durability="normal").close()
    return str(tmp_path / "shop.db")


@pytest.fixture
def client(store):
    with TestClient(application(Sessions(store, durability="normal")), base_url="http://127.0.0.1") as client:
        yield wait_until_ready(client)


@pytest.fixture
def port(store):
    """Of a server of that file."""
    with served(application(Sessions(store, durability="normal"))) as running:
        yield int(running.address.rpartition(":")[2])
