"""What a service keeps beside the journals."""

import superarm as sa
from superarm.sessions.stores.shelf import shelf_at


def uses(place):
    shelf = shelf_at(place)
    assert shelf.sessions() == []
    shelf.write("state", "shop", "paused")
    shelf.write("state", "shop", "archived")
    shelf.write("token", "shop", "x")
    assert shelf.read("state") == {"shop": "archived"}
    shelf.write("token", "shop", None)
    assert shelf.read("token") == {}
    shelf.check()
    with sa.Session.open(place, policy=sa.CUCB(), name="a") as session:
        assert shelf.sessions() == ["a"]
        assert session.verify().ok
    shelf.close()
    again = shelf_at(place)
    assert again.read("state") == {"shop": "archived"}
    again.close()


def test_in_a_file(tmp_path):
    uses(str(tmp_path / "shop.db"))


def test_in_a_database(postgres):
    uses(postgres.database())
