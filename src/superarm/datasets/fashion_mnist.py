"""Fashion-MNIST: 70,000 pictures of clothes in ten classes, from the files of Debian's package or your own.

``apt install dataset-fashion-mnist`` brings them; nothing is fetched here.
"""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from superarm.arguments import Array, IntArray
from superarm.errors import MissingData, UnexpectedData
from superarm.storage import checked_path

VARIABLE = "SUPERARM_FASHION_MNIST"  # names a folder, where none is given
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # of the package dataset-fashion-mnist
PARTS = ("train", "t10k")
CLASSES = 10
_BYTES = 8  # code of unsigned bytes in the head of an IDX file: two zeros, the code, and how many sizes follow
_LARGEST = 1 << 30  # bytes that a file may hold; the largest of the package has 47 million


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures:
    """Pictures with their classes.

    Attributes
    ----------
    pixels
        (n, height * width) from 0, black, to 1
    labels
        (n,) classes from 0 to 9
    """

    pixels: Array
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)


def read(folder: str | os.PathLike[str] | None = None) -> Pictures:
    """All pictures of a folder with Fashion-MNIST's four files, those to train on first.

    Parameters
    ----------
    folder
        with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte`` and the same of ``t10k``, each as it is or with
        ``.gz``; None: what the variable ``SUPERARM_FASHION_MNIST`` names, else where Debian's package has them
    """
    home = _home(folder)
    found = [(_idx(home, f"{part}-images-idx3-ubyte", 3), _idx(home, f"{part}-labels-idx1-ubyte", 1)) for part in PARTS]
    for part, (images, labels) in zip(PARTS, found, strict=True):
        if len(images) != len(labels) or images.shape[1:] != found[0][0].shape[1:]:
            expected = f"as many labels as images of {part}, all of one size"
            raise UnexpectedData(str(home), expected, f"{len(labels)} labels, images of shape {images.shape}")
        if len(labels) and int(labels.max()) >= CLASSES:
            raise UnexpectedData(str(home), f"classes from 0 to {CLASSES - 1}", f"{int(labels.max())} in {part}")
    pixels = np.concatenate([images.reshape(len(images), -1) for images, _ in found]) / 255.0
    return Pictures(pixels=pixels, labels=np.concatenate([labels for _, labels in found]).astype(np.intp))


def _home(folder: str | os.PathLike[str] | None) -> Path:
    if folder is not None:
        return checked_path("folder", folder)
    named = os.environ.get(VARIABLE)
    home = Path(named) if named else DEBIAN
    if not home.is_dir():
        raise MissingData(
            f"there is no Fashion-MNIST in {home}. On Debian:  apt install dataset-fashion-mnist;  elsewhere let "
            f"{VARIABLE} name the folder with its four files"
        )
    return home


def _idx(home: Path, name: str, dimensions: int) -> np.ndarray:
    """The array of unsigned bytes in an IDX file, compressed or not."""
    path = next((path for path in (home / name, home / f"{name}.gz") if path.is_file()), None)
    if path is None:
        raise UnexpectedData(str(home), f"{name} or {name}.gz", "no such file" if home.is_dir() else "no such folder")
    content = _content(path)
    head = 4 + 4 * dimensions
    if content[:4] != bytes([0, 0, _BYTES, dimensions]) or len(content) < head:
        raise UnexpectedData(str(path), f"an IDX file of bytes with {dimensions} dimensions", content[:4].hex())
    sizes = [int(size) for size in np.frombuffer(content, dtype=">u4", count=dimensions, offset=4)]
    many = 1
    for size in sizes:
        many *= size
    if len(content) != head + many:
        raise UnexpectedData(str(path), f"{many} bytes, as its head says", f"{len(content) - head}")
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(sizes)


def _content(path: Path) -> bytes:
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            content = bytes(file.read(_LARGEST + 1))
    except (OSError, EOFError, zlib.error) as error:  # gzip.BadGzipFile is an OSError
        raise UnexpectedData(str(path), "a file that can be read", str(error)) from None
    if len(content) > _LARGEST:
        raise UnexpectedData(str(path), f"at most {_LARGEST} bytes", "more")
    return content
