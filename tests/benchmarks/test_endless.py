"""A model that moves and has effects is measured part by part, and what grows is named."""

from dataclasses import replace

from benchmarks.endless import Part, grown, run


def test_parts_are_measured():
    told = []
    policy, found = run(outcomes=240, parts=3, say=told.append)
    assert told == [part.line for part in found]
    assert [part.seen >= least for part, least in zip(found, (80, 160, 240), strict=True)] == [True] * 3
    assert all(part.update_ms > 0.0 and part.size > 1000 and "outcomes: update" in part.line for part in found)
    assert "every group adds" in str(policy)


def test_what_grows_is_named():
    flat = [Part(seen=n, update_ms=10.0, slow_ms=20.0, select_ms=1.0, size=1000) for n in range(1, 9)]
    assert not grown(flat)
    assert not grown([replace(flat[0], update_ms=1.0), *flat[1:]])  # the posterior fills first
    assert not grown([*flat[:7], replace(flat[7], update_ms=20.0)])  # one part alone rises and falls
    assert grown([*flat[:5], *(replace(part, size=1600) for part in flat[5:])]) == [
        "size 1600 in the end, 1500 allowed"
    ]
