"""The labels that came and were tried, beside a dictionary."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from superarm.errors import UnreadableFile
from superarm.policies.cautious import known_labels
from superarm.policies.cautious.known_labels import ENOUGH, KnownLabels
from superarm.storage import read, write
from superarm.storage.hashes import label_hashes

LABELS = st.sampled_from(["a", "b", 1, 1.0, True, 2.5, (1, "a"), None, datetime.date(2026, 1, 1), frozenset("a")])


@given(st.lists(st.lists(st.tuples(LABELS, st.booleans()), max_size=5, unique_by=lambda pair: pair[0]), max_size=12))
def test_known_labels_are_a_dictionary(rounds):
    known, tried = KnownLabels(), {}
    for pairs in rounds:
        labels, marks = [label for label, _ in pairs], np.array([mark for _, mark in pairs], dtype=np.bool_)
        before = known
        assert known.came(label_hashes(tuple(labels))).tolist() == [label in tried for label in labels]
        assert known.untried(label_hashes(tuple(labels))).tolist() == [not tried.get(label, False) for label in labels]
        known = known.with_labels(label_hashes(tuple(labels)), ENOUGH * marks)
        assert len(before) == len(tried)
        for label, mark in pairs:
            tried[label] = tried.get(label, False) or mark
        assert len(known) == len(tried)
        assert known.untried(label_hashes(tuple(tried))).tolist() == [not mark for mark in tried.values()]


def test_labels_beyond_the_most_that_are_remembered_never_count_as_untried(monkeypatch):
    monkeypatch.setattr(known_labels, "MOST", 3)
    known = (
        KnownLabels()
        .with_labels(label_hashes(("a", "b")), np.array([9, 0]))
        .with_labels(label_hashes(("c", "d")), np.zeros(2, dtype=np.intp))
    )
    assert len(known) == 3
    assert known.untried(label_hashes(("a", "b", "x"))).tolist() == [False, True, False]


def test_known_labels_are_kept(tmp_path):
    known = KnownLabels().with_labels(label_hashes(("a", "b", 7)), np.array([9, 0, 9]))
    write(known, tmp_path / "labels")
    loaded = read(tmp_path / "labels")
    assert loaded.keys.tobytes() == known.keys.tobytes()
    assert loaded.tried.tolist() == known.tried.tolist()


def test_labels_out_of_order_are_refused(tmp_path):
    write(KnownLabels(keys=np.array([2, 1], dtype=np.uint64), outcomes=np.zeros(2, dtype=np.intp)), tmp_path / "labels")
    with pytest.raises(UnreadableFile):
        read(tmp_path / "labels")
