"""The contract of a store, for stores of your own: whether it appends all or nothing, in order, and finds again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from superarm.arguments import keeps
from superarm.checks import require
from superarm.errors import InvalidArgument, NonConforming, safe_repr, type_of
from superarm.sessions.events import Decided, Event, Fact, Observed, Played, Redacted, Withdrawn, erased
from superarm.sessions.stores.store import Behind, Entry, Snapshot, Store

PART = "0" * 64


def check_store(make_store: Callable[[], Store]) -> None:
    """Check that a store keeps the contract of :class:`~superarm.sessions.stores.store.Store`.

    Parameters
    ----------
    make_store
        makes an empty store; it is called a few times

    >>> from superarm.sessions.stores.memory import MemoryStore
    >>> check_store(MemoryStore)
    """
    if not callable(make_store):
        raise InvalidArgument("make_store", "a function that makes an empty store", safe_repr(make_store))
    for check in (_appends_in_order, _refuses_who_is_behind, _finds_again, _keeps_snapshots, _erases, _replaces):
        store = make_store()
        if not keeps(store, Store):
            raise NonConforming(f"make_store made {type_of(store)}, which lacks methods of a store")
        try:
            check(store)
            require(store.faults() == [], f"after all was well the store finds faults: {store.faults()}")
        finally:
            store.close()


def numbered(seq: int, **rest: Any) -> Entry:
    """An entry as any: the decision of its number."""
    decided = Decided(decision=f"d{seq}", t=seq, round=PART, arms=(2, 5), selection=PART)
    return _entry(seq, decided, parts={PART: b"a round"}, **rest)


def _entry(seq: int, fact: Fact, parts: dict[str, bytes] | None = None, **rest: Any) -> Entry:
    return Entry(event=Event(seq=seq, at=0.5, fact=fact, **rest), parts=parts or {})


def _appends_in_order(store: Store) -> None:
    require(store.last() == 0 and list(store.events()) == [], "an empty store has events")
    entries = [numbered(seq) for seq in range(1, 6)]
    store.append(entries[:1])
    with store.turn():
        store.append(entries[1:])
    with store.turn():
        pass  # nothing was to be appended
    require(store.last() == 5, f"after five events the last is {store.last()}")
    for after in (0, 3, 5):
        found, meant = list(store.events(after)), [entry.event for entry in entries[after:]]
        require(found == meant, f"events({after}) are {found}, not the {len(meant)} that were appended")
    require(store.part(PART) == b"a round", "a part is not what was appended")
    require(store.part("1" * 64) is None, "a part that was never appended is there")


def _refuses_who_is_behind(store: Store) -> None:
    store.append([numbered(1)])
    for wrong in (1, 3):
        observed = Observed(decision="d1", round=PART, arms=(2,), values=((0.5, None),), fills=1)
        before = store.standing("d1")
        try:
            store.append([_entry(wrong, observed, key="late"), _entry(wrong + 1, Played(decision="d1"))])
        except Behind:
            pass
        else:
            raise NonConforming(f"an event numbered {wrong} was appended after event 1; append must raise Behind")
        require(store.last() == 1 and len(list(store.events())) == 1, "a refused event was appended")
        require(store.standing("d1") == before and store.cells("d1") == (), "a refused event changed a decision")
        require(store.keyed("late") is None, "the key of a refused event is kept")


def _finds_again(store: Store) -> None:
    first, second = ((0.25, None), (1e-300, -0.5)), ((None, 0.1 + 0.2),)
    store.append([numbered(1, key="one", request="r"), numbered(2), numbered(3)])
    store.append([_entry(4, Observed(decision="d1", round=PART, arms=(5, 2), values=first, fills=3), key="two")])
    store.append([_entry(5, Observed(decision="d1", round=PART, arms=(5,), values=second, fills=1))])
    store.append([_entry(6, Observed(decision="d1", round=PART, arms=(5,), values=second, sample="again"))])
    store.append([_entry(7, Withdrawn(decision="d2"))])
    found = store.keyed("one")
    require(found is not None and (found.seq, found.request) == (1, "r"), f"the key of event 1 finds {found}")
    require(store.keyed("three") is None, "a key that was never given is found")
    states = [standing.state for standing in store.standings()]
    require(states == ["complete", "withdrawn", "open"], f"the decisions stand as {states}")
    out = [standing.id for standing in store.standings(out=True)]
    require(out == ["d3"], f"out are {out}, where only d3 waits for outcomes")
    later = [standing.id for standing in store.standings(after=1)]
    require(later == ["d2", "d3"], f"made after event 1 are {later}, not d2 and d3")
    known = {(cell.arm, cell.outcome, cell.sample): (cell.value, cell.seq) for cell in store.cells("d1")}
    meant = {
        (2, 1, ""): (1e-300, 4),
        (2, 2, ""): (-0.5, 4),
        (5, 1, ""): (0.25, 4),
        (5, 2, ""): (0.1 + 0.2, 5),
        (5, 2, "again"): (0.1 + 0.2, 6),
    }
    require(known == meant, f"the cells of a decision are {known}, not {meant}")
    require(list(known) == sorted(known), "cells come in another order than by arm, outcome and sample")
    require(store.standing("nobody") is None and store.cells("nobody") == (), "an unknown decision is known")


def _keeps_snapshots(store: Store) -> None:
    store.append([numbered(seq) for seq in range(1, 6)])
    for seq, fingerprint in ((1, "x"), (2, "x"), (2, "y"), (4, "x"), (5, "x")):
        store.keep(Snapshot(seq=seq, fingerprint=fingerprint, digest="d", body=bytes(seq)))
    found = [(snapshot.seq, snapshot.fingerprint, len(snapshot.body)) for snapshot in store.snapshots()]
    require(
        found == [(5, "x", 5), (4, "x", 4), (2, "y", 2)], f"snapshots are {found}: the newest two of each come first"
    )


def _erases(store: Store) -> None:
    observed = Observed(decision="d1", round=PART, arms=(2,), values=((0.5, None),), fills=1)
    store.append([numbered(1, key="one"), numbered(2), _entry(3, observed)])
    store.keep(Snapshot(seq=3, fingerprint="x", digest="d", body=b"learnt"))
    facts = {event.seq: erased(event.fact) for event in store.events() if event.decision == "d1"}
    event = Event(seq=4, at=0.5, fact=Redacted(decision="d1"))
    store.append([Entry(event=event, facts=facts, gone=[PART])])
    found = {event.seq: event.fact for event in store.events()}
    require(all(found[seq] == fact for seq, fact in facts.items()), "facts of a redacted decision are still there")
    keyed = store.keyed("one")
    require(keyed is not None and keyed.fact == facts[1], "a key finds what was erased")
    require(found[2] == numbered(2).event.fact, "the facts of another decision were erased")
    require(store.part(PART) is None, "a part that was erased is still there")
    require(store.cells("d1") == () and list(store.snapshots()) == [], "cells or snapshots hold what was erased")
    standing = store.standing("d1")
    require(standing is not None and standing.state == "redacted", f"a redacted decision stands as {standing}")


def _replaces(store: Store) -> None:
    observed = Observed(decision="d1", round=PART, arms=(2,), values=((0.5, None),), fills=1)
    store.append([numbered(1, key="one"), numbered(2), _entry(3, observed, key="two")])
    store.keep(Snapshot(seq=3, fingerprint="x", digest="d", body=b"learnt"))
    decided = Decided(decision="d1", t=1, round=PART, arms=(2,), selection=PART)
    facts: dict[int, Fact] = {1: decided, 3: replace(observed, values=((0.5, 0.25),), fills=2)}
    entry = replace(_entry(4, Played(decision="d2")), facts=facts, gone=[PART], parts={PART: b"less", "2" * 64: b"new"})
    store.append([entry])
    parts = store.part(PART), store.part("2" * 64)
    require(parts == (b"less", b"new"), f"where a part goes and comes with one event, parts are {parts}")
    found = {event.seq: event.fact for event in store.events() if event.seq in facts}
    require(found == facts, "facts that were to take the place of others are not there")
    standing, cells = store.standing("d1"), [cell.value for cell in store.cells("d1")]
    require(
        standing is not None and standing.state == "complete", f"a decision whose facts changed stands as {standing}"
    )
    require(cells == [0.5, 0.25], f"the cells of a decision whose facts changed are {cells}")
    require([each.id for each in store.standings()] == ["d1", "d2"], "decisions changed their order")
    keyed = store.keyed("two")
    require(keyed is not None and keyed.fact == facts[3], "a key finds what was replaced")
    require(len(list(store.snapshots())) == 1, "snapshots went, though nothing was redacted")
    require(store.shrink() in (True, False), "shrink says neither yes nor no")
