"""64 well-mixed bits of every label, to draw lots by: a function of the label alone, the same in every process.

A label is spelled as bytes and a byte at place j counts c_j times, with c_j odd and as good as random:
h = sum of c_j (byte_j + 1) modulo 2^64, then mixed. All labels are hashed at once, without a loop over them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from superarm.errors import InvalidArgument, has_repr, safe_repr
from superarm.storage.labels import plain, stable_bytes

Words = npt.NDArray[np.uint64]

# First bytes of a spelling, which UTF-8 text never contains.
KEPT, TUPLE, SET, WHOLE, LARGE, NUMBER, OTHER = (bytes([byte]) for byte in range(255, 248, -1))
LONGEST = 1024  # bits of a whole number that is spelled whole: all floats have fewer
STEP = np.uint64(0x9E3779B97F4A7C15)  # of the SplitMix64 generator


def label_hashes(labels: Sequence[Hashable] | npt.NDArray[Any]) -> Words:
    """(n,) 64 bits of each label, which do not depend on the other labels; equal labels have the same.

    A label that is neither text, number, bytes nor date, nor a tuple or frozenset of these, is told by its type and
    ``repr``, and by its type alone where the ``repr`` is only its place in memory.

    >>> [hash] = label_hashes(["shop"])
    >>> label_hashes([1, "shop"])[1] == hash, label_hashes([1])[0] == label_hashes([1.0])[0]
    (np.True_, np.True_)
    """
    if isinstance(labels, np.ndarray):
        if labels.dtype.kind == "i":
            return _of_numbers(labels.astype(np.int64))
        labels = labels.tolist()
    kinds = set(map(type, labels))
    if kinds == {int}:
        try:
            return _of_numbers(np.array(labels, dtype=np.int64))
        except OverflowError:
            pass
    spelled = [_text(label) for label in labels] if kinds == {str} else [_spelled(label) for label in labels]
    return _mixed_bytes(np.frombuffer(b"".join(spelled), dtype=np.uint8), np.array([*map(len, spelled)], dtype=np.intp))


def keys_of(hashes: Words) -> npt.NDArray[np.float64]:
    """Numbers for labels, by their hashes: 52 bits, which are whole numbers."""
    each: npt.NDArray[np.float64] = (hashes >> np.uint64(12)).astype(np.float64)
    return each


def mixed(words: Words) -> Words:
    """The last step of SplitMix64, which mixes all bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _of_numbers(numbers: npt.NDArray[np.int64]) -> Words:
    spelled = np.empty((len(numbers), 9), dtype=np.uint8)
    spelled[:, 0] = WHOLE[0]
    spelled[:, 1:] = numbers.astype("<i8")[:, None].view(np.uint8)
    return _mixed_bytes(spelled.reshape(-1), np.full(len(numbers), 9, dtype=np.intp))


def _mixed_bytes(data: npt.NDArray[np.uint8], lengths: npt.NDArray[np.intp]) -> Words:
    """The hash of each spelling; spellings lie one after the other."""
    ends = lengths.cumsum()
    place = np.arange(len(data)) - np.repeat(ends - lengths, lengths)
    weights = mixed(STEP * np.arange(1, int(lengths.max(initial=0)) + 1, dtype=np.uint64)) | np.uint64(1)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(weights[place] * (data + np.uint64(1)))])
    return mixed((sums[ends] - sums[ends - lengths]) ^ STEP)


def _text(label: Any) -> bytes:
    return str.encode(label, "utf-8", "surrogatepass")


def _spelled(label: Any) -> bytes:
    """Bytes of a label, the same for equal ones."""
    label = plain(label)
    if isinstance(label, str):
        return _text(label)
    if isinstance(label, Number):
        return _number(label)
    if isinstance(label, (tuple, frozenset)):
        parts = [_spelled(part) for part in label]
        lengthened = [len(part).to_bytes(8, "little") + part for part in parts]
        return TUPLE + b"".join(lengthened) if isinstance(label, tuple) else SET + b"".join(sorted(lengthened))
    try:
        return KEPT + stable_bytes(label)
    except InvalidArgument:
        return OTHER + _text(f"{type(label).__qualname__} {safe_repr(label) if has_repr(label) else ''}")


def _number(label: Any) -> bytes:
    """Whole numbers by their value, whatever their type; for others Python's hash is one for equal numbers.

    So it is for whole numbers beyond all floats: Decimal("1e999999999") is short, and its digits are not.
    """
    if isinstance(label, complex) and not label.imag:
        label = label.real
    try:
        if not (isinstance(label, Decimal) and label.adjusted() > LONGEST) and (whole := int(label)) == label:
            if -(2**63) <= whole < 2**63:
                return WHOLE + whole.to_bytes(8, "little", signed=True)
            if whole.bit_length() <= LONGEST:
                return LARGE + whole.to_bytes(whole.bit_length() // 8 + 1, "little", signed=True)
    except (TypeError, ValueError, OverflowError):  # complex or infinite
        pass
    return NUMBER + hash(label).to_bytes(8, "little", signed=True)
