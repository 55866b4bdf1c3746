import pytest
from litestar.testing import TestClient

import superarm as sa
from superarm.service.app import application
from superarm.service.sessions import Sessions
from tests.service.asks import wait_until_ready


@pytest.fixture
def store(tmp_path):
    """A file with one session, main."""
    sa.Session.open(tmp_path / "shop.db", policy=sa.TCGPUCB(), durability="normal").close()
    return str(tmp_path / "shop.db")


@pytest.fixture
def client(store):
    with TestClient(application(Sessions(store, durability="normal")), base_url="http://127.0.0.1") as client:
        yield wait_until_ready(client)
