"""A Cholesky factor that lies on a device, in block rows: only its lower half is kept.

L L^T = K + N as in :mod:`superarm.posteriors.engines.factor`, in block rows of BLOCK rows, each a matrix of its own
that ends with its corner L_ii: 4 n^2 + 4 n BLOCK bytes for n rows. What is whitened lies by rows, too. W = V^T, of
which part i begins as k(C, X_i), becomes in place ::

    W_i = (k(C, X_i) - W_<i L_i,<i^T) L_ii^-T

one large product and one with the triangle L_ii^-1 for each block row; where L_ii is too ill-conditioned for its
inverse, the triangle is solved. New rows of the factor are such rows, W_i at the new
points, followed by the root of their Schur complement: they come into being where they stay, and nothing as large as
the factor is ever held beside it. Points, values and answers are small and stay on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from superarm.arguments import Array
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines import factor as host
from superarm.posteriors.engines.device.arrays import Arrays, Matrix
from superarm.posteriors.engines.device.covariances import covariances
from superarm.posteriors.engines.device.devices import DEVICES, arrays_of
from superarm.posteriors.engines.factor import Factor, FactorBlock, with_least_jitter
from superarm.storage import storable

# Rows of a full block row, a multiple of the host's: large products, and triangles that are a small share of the work.
BLOCK = 2048
# Bytes of W at once: candidates come in as many parts as this takes.
WORKSPACE = 2**32


@dataclass(frozen=True, kw_only=True, eq=False)
class DeviceBlock:
    """Rows lo.. of the factor; never changed once it is part of one."""

    points: Array  # (b, P) the points of these rows, on the host
    lo: int
    rows: Matrix  # (BLOCK, lo + BLOCK), of which the first b rows and lo + b columns are L_i
    inverse: Matrix | None  # (b, b) -L_ii^-1: a product takes half the time of a solve; None: to be solved

    @staticmethod
    def of(arrays: Arrays, points: Array, lo: int, rows: Matrix) -> DeviceBlock:
        """The block of these rows, with the inverse of its corner where that costs few digits."""
        inverse = _inverse(arrays, rows[: len(points), lo : lo + len(points)])
        return DeviceBlock(points=points, lo=lo, rows=rows, inverse=inverse)

    @property
    def hi(self) -> int:
        """The row after the last."""
        return self.lo + len(self.points)

    @property
    def left(self) -> Matrix:
        """(b, lo) L_i,<i."""
        return self.rows[: len(self.points), : self.lo]

    @property
    def corner(self) -> Matrix:
        """(b, b) L_ii."""
        return self.rows[: len(self.points), self.lo : self.hi]


@dataclass(frozen=True, kw_only=True, eq=False)
class DeviceFactor:
    """Cholesky factor L of K + N at n rows on a device, with the values whitened by it; immutable."""

    device: str
    blocks: tuple[DeviceBlock, ...]
    z: Array  # (n, q) z = L^-1 y, on the host
    jitter: float  # largest variance ever added to a diagonal

    @staticmethod
    def empty(device: str, columns: int, jitter: float = 0.0) -> DeviceFactor:
        """No rows yet, for q columns of values."""
        return DeviceFactor(device=device, blocks=(), z=np.empty((0, columns)), jitter=jitter)

    @staticmethod
    def of(factor: Factor, device: str) -> DeviceFactor:
        """The same factor, brought to a device."""
        arrays, blocks = arrays_of(device), []
        each = BLOCK // host.BLOCK
        for first in range(0, len(factor.blocks), each):
            some = factor.blocks[first : first + each]
            lo = some[0].left.shape[1]
            rows = _blank(arrays, lo)
            for block in some:
                left = block.left.shape[1]
                mine = rows[left - lo : left - lo + len(block)]
                mine[:, :left] = arrays.put(block.left)
                mine[:, left : left + len(block)] = arrays.put(block.corner)
            blocks.append(DeviceBlock.of(arrays, np.concatenate([block.points for block in some]), lo, rows))
        return DeviceFactor(device=device, blocks=tuple(blocks), z=factor.z, jitter=factor.jitter)

    def on_host(self) -> Factor:
        """The same factor, brought to the host."""
        blocks = []
        for block in self.blocks:
            rows = self._arrays.get(block.rows[: len(block.points), : block.hi])
            for start in range(0, len(rows), host.BLOCK):
                mine, at = rows[start : start + host.BLOCK], block.lo + start
                corner = mine[:, at : at + len(mine)].copy()
                points = block.points[start : start + host.BLOCK].copy()
                blocks.append(FactorBlock.of(points, mine[:, :at].copy(), corner))
        return Factor(blocks=tuple(blocks), z=self.z, jitter=self.jitter)

    def _as_saved(self) -> OnDevice:
        return OnDevice(device=self.device, factor=self.on_host())

    def __len__(self) -> int:
        return len(self.z)

    @property
    def _arrays(self) -> Arrays:
        return arrays_of(self.device)

    @property
    def room(self) -> int:
        """Rows that complete the last block; those of a whole one when it is full."""
        return BLOCK - len(self) % BLOCK

    def emptied(self, jitter: float = 0.0) -> DeviceFactor:
        """No rows, for as many columns of values."""
        return DeviceFactor.empty(self.device, self.z.shape[1], jitter)

    def solve(self, kernel: Kernel, x: Array) -> Array:
        """V = L^-1 k(X, x) for x ``(m, P)``, ``(n, m)``, on the host."""
        return np.ascontiguousarray(self._arrays.get(self._whitened(kernel, x)).T)

    def project(self, kernel: Kernel, x: Array) -> tuple[Array, Array]:
        """z^T V ``(m, q)`` and the sums of squares of the columns of V ``(m,)``, for x ``(m, P)``."""
        mean, explained = np.zeros((len(x), self.z.shape[1])), np.zeros(len(x))
        if len(self) == 0:
            return mean, explained
        at_once = max(1, WORKSPACE // (8 * self._capacity))
        z = self._arrays.put(self.z.T)
        for start in range(0, len(x), at_once):
            part = x[start : start + at_once]
            w = self._workspace(len(part))
            squares = 0.0
            for mine in self._parts(kernel, part, w):
                squares += (mine * mine).sum(axis=1)
            sums = self._arrays.put(np.zeros((len(z), len(part))))
            self._arrays.subtract_product(sums, z, w)
            mean[start : start + at_once] = -self._arrays.get(sums).T
            explained[start : start + at_once] = self._arrays.get(squares)
        return mean, explained

    def covariance(self, kernel: Kernel, x: Array, y: Array) -> Array:
        """k(x, y) - V^T V' for x ``(m, P)`` and y ``(k, P)``, ``(m, k)``."""
        if len(x) == 0 or len(y) == 0:
            return np.empty((len(x), len(y)))
        out = self._arrays.empty(len(x), len(y))
        covariances(self._arrays, kernel, x, y, out)
        if len(self):
            w = self._whitened(kernel, x)
            self._arrays.subtract_product(out, w, w if y is x else self._whitened(kernel, y))
        return self._arrays.get(out)

    def weights(self) -> Array:
        """(K + N)^-1 y = L^-T z, ``(n, q)``."""
        return self.on_host().weights()

    def half_log_determinant(self) -> float:
        """Half of log |K + N|, the sum of the logarithms of the diagonal of L."""
        diagonals = [self._arrays.get(block.corner.diagonal()) for block in self.blocks]
        return float(sum(np.log(diagonal).sum() for diagonal in diagonals))

    def append(self, kernel: Kernel, points: Array, noise: Array, y: Array) -> DeviceFactor:
        """The factor with rows for at most ``room`` points ``(K, P)``, their noises ``(K,)`` and values ``(K, q)``."""
        arrays, n = self._arrays, len(self)
        filled = n % BLOCK
        lo = n - filled
        rows = _blank(arrays, lo)
        before, blocks = points[:0], self.blocks
        if filled:
            # A copy, because other rows may be appended to this factor too.
            before, blocks = blocks[-1].points, blocks[:-1]
            rows[:filled, :n] = self.blocks[-1].rows[:filled, :n]
        new = rows[filled : filled + len(points)]
        left, corner = new[:, :n], new[:, n : n + len(points)]
        for _ in self._parts(kernel, points, left):
            pass
        covariances(arrays, kernel, points, points, corner)
        z = arrays.put(y.T)
        if n:
            # S = K_new + N_new - V^T V = L_new L_new^T, and z_new = L_new^-1 (y - V^T z).
            arrays.subtract_product(corner, left, left)
            arrays.subtract_product(z, arrays.put(self.z.T), left)
        root, jitter = with_least_jitter(noise, kernel.diagonal(points), lambda added: arrays.root(corner, added))
        corner[:] = root
        arrays.solve(z, corner)
        block = DeviceBlock.of(arrays, np.concatenate([before, points]), lo, rows)
        return replace(
            self,
            blocks=(*blocks, block),
            z=np.concatenate([self.z, arrays.get(z).T]),
            jitter=max(self.jitter, jitter),
        )

    @property
    def _capacity(self) -> int:
        """Rows of the factor when its last block is full: work of this size can use the same memory round by round."""
        return len(self.blocks) * BLOCK

    def _workspace(self, m: int) -> Matrix:
        """Room for W at m points, ``(m, n)``."""
        return self._arrays.empty(m, self._capacity)[:, : len(self)]

    def _whitened(self, kernel: Kernel, x: Array) -> Matrix:
        """W = V^T at x ``(m, P)``, ``(m, n)``, on the device."""
        w = self._workspace(len(x))
        for _ in self._parts(kernel, x, w):
            pass
        return w

    def _parts(self, kernel: Kernel, x: Array, w: Matrix) -> Iterator[Matrix]:
        """Fill w ``(m, n)`` with W, block by block; yields the columns just done."""
        for block in self.blocks if len(x) else ():
            part = w[:, block.lo : block.hi]
            covariances(self._arrays, kernel, x, block.points, part)
            if block.lo:
                self._arrays.subtract_product(part, w[:, : block.lo], block.left)
            if block.inverse is None:
                self._arrays.solve(part, block.corner)
            else:
                solved = self._arrays.empty(*part.shape)
                solved[:] = 0.0
                self._arrays.subtract_product(solved, part, block.inverse)
                part[:] = solved
            yield part


def _blank(arrays: Arrays, lo: int) -> Matrix:
    """Room for the rows of a block, with a corner of zeros."""
    rows = arrays.empty(BLOCK, lo + BLOCK)
    rows[:, lo:] = 0.0
    return rows


def _inverse(arrays: Arrays, corner: Matrix) -> Matrix | None:
    """-L_ii^-1, or None where it would cost too many digits."""
    b = len(corner)
    identity, inverse = arrays.empty(b, b), arrays.empty(b, b)
    identity[:] = 0.0
    identity.reshape(-1)[:: b + 1] = -1.0
    arrays.solve(identity, corner)
    inverse[:] = identity.T
    condition = float(abs(corner).sum(axis=1).max()) * float(abs(inverse).sum(axis=1).max())
    return inverse if condition <= host.WORST_CONDITION else None  # nor if it is NaN


@storable
@dataclass(frozen=True, kw_only=True, eq=False)
class OnDevice:
    """A factor of a device as a file holds it: that of the host, and where it was."""

    device: str
    factor: Factor

    def _check_fields(self) -> None:
        """A device that there can be."""
        if self.device not in DEVICES[1:]:
            raise ValueError(f"a factor on a device {self.device!r}")

    def _as_loaded(self) -> Factor | DeviceFactor:
        """Where it was, if that is there; else on the host."""
        try:
            arrays_of(self.device)
        except InvalidArgument:
            return self.factor
        return DeviceFactor.of(self.factor, self.device)
