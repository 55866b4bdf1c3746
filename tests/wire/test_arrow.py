"""Arrow streams that announce more than they hold; in a process of their own, as polars may end it."""

import io
import struct
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from superarm import errors, wire

DAMAGED = """
import superarm as sa
from superarm import errors, wire

for groups in (["a" * 20, "b" * 20], ["a", "b"]):
    round = sa.Round(t=1, contexts=[[0.1], [0.5]], groups=groups, feasible=sa.AtMost(1))
    whole = wire.frame_to_arrow(wire.round_to_frame(round)[0])
    for place in range(len(whole)):
        for byte in (255, 127, whole[place] ^ 1):
            content = bytearray(whole)
            content[place] = byte
            try:
                wire.frame_from_arrow(content)
            except errors.UnreadableFile:
                pass
print("all read or refused")
"""


def test_whichever_byte_is_damaged_the_stream_is_read_or_refused():
    ran = subprocess.run([sys.executable, "-c", DAMAGED], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "all read or refused\n"), ran.stderr[-500:]


FRAMES = {
    "nothing": pl.DataFrame(),
    "no rows": pl.DataFrame({"x": [], "y": []}, schema={"x": pl.Float64, "y": pl.String}),
    "nulls alone": pl.DataFrame({"x": [None] * 5000}),
    "text": pl.DataFrame({"x": ["a", None, "b" * 1000] * 50}),
    "categories": pl.DataFrame({"x": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical)}),
    "lists": pl.DataFrame({"x": [[1, 2, 3], [], None, [4] * 1000], "y": [{"z": 1}] * 4}),
    "lists of nothing": pl.DataFrame({"x": [[None] * 100]}),
    "one value": pl.DataFrame({"x": np.zeros(200_000), "y": np.zeros(200_000, dtype=bool)}),
    "numbers": pl.DataFrame({"x": np.random.default_rng(0).random(1000)}),
}


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("name", FRAMES)
def test_whole_streams_of_any_kind_are_read(name, compression):
    content = io.BytesIO()
    FRAMES[name].write_ipc_stream(content, compression=compression)
    assert wire.frame_from_arrow(content.getvalue()).equals(FRAMES[name])


def test_a_compressed_buffer_that_would_fill_the_memory_is_refused():
    content = io.BytesIO()
    pl.DataFrame({"x": np.zeros(1000)}).write_ipc_stream(content, compression="zstd")
    sizes = struct.pack("<q", 8000)
    assert content.getvalue().count(sizes) == 1
    with pytest.raises(errors.UnreadableFile, match="bytes that would become 1099511627776"):
        wire.frame_from_arrow(content.getvalue().replace(sizes, struct.pack("<q", 2**40)))
