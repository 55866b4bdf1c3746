"""The sparse posterior of Titsias (2009), in closed form and by streaming statistics."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from superarm.arguments import Array, as_floats
from superarm.compiled import suited_to
from superarm.errors import InvalidArgument
from superarm.kernels.kernel import Kernel
from superarm.posteriors.engines.engine import Data, Observations
from superarm.posteriors.engines.inducing import Basis, InducingRule
from superarm.posteriors.engines.products import between, solve_upper_transposed, tiled
from superarm.posteriors.history import loops
from superarm.storage import storable

# Points at once, in whole tiles: the workspace is this many columns of features.
CHUNK = 2000
TOGETHER = 32  # reflections that are applied to a chunk at once; the last bits depend on it
# A residual variance is not known better than to this share of the prior variance.
LEAST_RESIDUAL = 1e-15
# A negative one of this share is more than the rounding of good features.
WRONG = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Marginals:
    """Mean and variance of a low-rank posterior at m points, and where the variance comes from."""

    mean: Array  # (m, q)
    prior: Array  # (m,) k(x, x)
    residual: Array  # (m,) delta
    represented: Array  # (m,) v

    @cached_property
    def variance(self) -> Array:
        """Their sum, v + delta, within [0, k(x, x)]: ``(m,)``."""
        return np.clip(self.represented + self.residual, 0.0, self.prior)


@storable(shapes={"kept": "s P", "basis.points": "r P", "constant": "q", "root": "r+q r+q"})
@dataclass(frozen=True, kw_only=True, eq=False)
class SparseEngine:
    """Sparse posterior of a scalar process by a square-root information filter.

    With features phi (see :mod:`superarm.posteriors.engines.inducing`) and noise variances s2_i,
    B = I + sum_i phi_i phi_i^T / s2_i = R^T R and c = R^-T sum_i phi_i y_i / s2_i. The triangle

        root = [ R c ; 0 rho ],   root^T root = [ I 0 ; 0 0 ] + sum_i [ phi_i ; y_i ] [ phi_i ; y_i ]^T / s2_i

    takes new rows by orthogonal rotations, in O(r^2 K) and without ever forming B.
    """

    kernel: Kernel
    rule: InducingRule
    kept: Array  # (s, P) inducing points
    basis: Basis  # r of them, linearly independent
    root: Array  # (r + q, r + q) upper triangular
    constant: Array  # (q,) the terms of the bound that the root does not hold
    unrepresented: float  # E = sum_i delta_i / s2_i, delta the residual k(x, x) - |phi|^2 at the data
    poorest: float = 0.0  # largest share of the prior variance that such a residual was

    @staticmethod
    def empty(kernel: Kernel, rule: InducingRule, kept: Array, columns: int) -> SparseEngine:
        """No data yet, with inducing points ``(s, P)``, for q columns of values."""
        basis = Basis.of(kernel, kept)
        root = np.diag(np.repeat([1.0, 0.0], [len(basis), columns]))
        constant = np.zeros(columns)
        return SparseEngine(
            kernel=kernel, rule=rule, kept=kept, basis=basis, root=root, constant=constant, unrepresented=0.0
        )

    @property
    def jitter(self) -> float:
        """Always 0.0: dependent inducing points are left out of the basis instead."""
        return 0.0

    @property
    def needs_data(self) -> bool:
        return True  # the inducing points may change

    def condition(self, batch: Observations, data: Data) -> SparseEngine:
        """Rotate the batch into the statistics, or all data when the inducing points change."""
        kept = self.kept.reshape(len(self.kept), batch.points.shape[1])
        expected = f"a rule that chooses a finite array of shape (s, {kept.shape[1]})"
        unexplained = self._unexplained(batch.points)
        chosen = self.rule.choose(self.kernel, kept, batch.points, unexplained, lambda: data().points)
        chosen = as_floats("inducing", chosen, expected)
        if chosen.ndim != 2 or chosen.shape[1] != kept.shape[1] or not np.isfinite(chosen).all():
            raise InvalidArgument("inducing", expected, f"shape {chosen.shape}")
        if np.array_equal(chosen, kept):
            return self.absorb(batch.present())
        chosen = chosen.copy()
        chosen.setflags(write=False)
        fresh = SparseEngine.empty(self.kernel, self.rule, chosen, len(self.constant))
        return fresh.absorb(data().present())

    def _unexplained(self, points: Array) -> Array:
        prior = self.kernel.diagonal(points)
        phi = self.basis.features(self.kernel, points)
        unexplained: Array = _residual(prior, _squares(phi)) / np.where(prior > 0, prior, 1.0)
        return unexplained

    def absorb(self, data: Observations, chunk: int = CHUNK, at_once: int = TOGETHER) -> SparseEngine:
        """The same basis with more data, every count positive; so many points and reflections are taken at once."""
        root, size, r = np.asfortranarray(self.root), len(self.root), len(self.basis)
        noise = data.noise / data.precision
        unrepresented, poorest = self.unrepresented, self.poorest
        columns = np.empty((size, 0))
        for start in range(0, len(noise), chunk):
            part = slice(start, start + chunk)
            points = data.points[part]
            if columns.shape[1] != len(points):  # all chunks but the last are written where the first was
                columns = np.empty((size, len(points)))
            phi = columns[:r]
            self.basis.features_into(self.kernel, points, phi)
            prior = self.kernel.diagonal(points)
            residual = _residual(prior, _squares(phi))
            unrepresented += float((residual / noise[part]).sum())
            poorest = max(poorest, float((residual / np.where(prior > 0, prior, 1.0)).max(initial=0.0)))
            columns[r:] = data.means[part].T
            columns /= np.sqrt(noise[part])
            with suited_to(2 * size**2 * columns.shape[1]):
                # Transposed, they are in the order that LAPACK takes without a copy.
                root = lapack.dtpqrt(0, min(at_once, size), root, columns.T, overwrite_a=1, overwrite_b=1)[0]
        return replace(
            self,
            root=np.ascontiguousarray(root),
            constant=self.constant + data.within() - 0.5 * np.log(2 * np.pi * noise).sum(),
            unrepresented=unrepresented,
            poorest=poorest,
        )

    def extended(self, points: Array) -> SparseEngine:
        """With more inducing points ``(s, P)``, of whose own features the data so far are taken to have none.

        The pivots are chosen again, or only rounding would be left of features outside the old points' reach. Old
        ones are T of the new, T = phi(U') L'^-T, up to a remainder of covariance I - T T^T that is lost; what they do
        not determine keeps its prior, I - T^T T.
        """
        basis, r = Basis.of(self.kernel, np.concatenate([self.basis.points, points])), len(self.basis)
        old = self.basis.features(self.kernel, basis.points)
        turn = solve_triangular(basis.lower, old.T, lower=True, check_finite=False).T
        shares, axes = np.linalg.eigh(np.eye(len(basis)) - turn.T @ turn)
        free = (axes * np.sqrt(np.clip(shares, 0.0, None))).T
        upper, columns = self.root[:r, :r], len(self.constant)
        stack = np.block(
            [
                [upper @ turn, self.root[:r, r:]],
                [free, np.zeros((len(basis), columns))],
                [np.zeros((columns, len(basis))), self.root[r:, r:]],
            ]
        )
        root: Array = np.linalg.qr(stack, mode="r")  # type: ignore[assignment]  # in this mode R alone
        lost = abs(((np.eye(r) - turn @ turn.T) * (upper.T @ upper - np.eye(r))).sum())
        return replace(
            self,
            kept=np.concatenate([self.kept, points]),
            basis=basis,
            root=root,
            unrepresented=(np.sqrt(self.unrepresented) + np.sqrt(float(lost))) ** 2,
        )

    def whitened(self, points: Array) -> tuple[Array, Array, Array]:
        """Features phi ``(r, m)``, w = R^-T phi ``(r, m)``, c ``(r, q)``."""
        r = len(self.basis.points)
        phi = self.basis.features(self.kernel, points)
        w = phi.copy()
        if w.size:
            solve_upper_transposed(self.upper(), w)
        return phi, w, np.ascontiguousarray(self.root[:r, r:])

    def upper(self) -> Array:
        """R ``(r, r)``."""
        r = len(self.basis)
        return np.ascontiguousarray(self.root[:r, :r])

    def predict(self, points: Array, data: Data | None = None) -> tuple[Array, Array]:
        """Mean w^T c and variance k(x, x) - |phi|^2 + |w|^2, within [0, k(x, x)]."""
        marginals = self.marginals(points)
        return marginals.mean, marginals.variance

    def marginals(self, points: Array) -> Marginals:
        """Mean and variance, and the parts of the variance, at points ``(m, P)``.

        What is said of a point depends on that point alone, in every bit.
        """
        parts = [points[start : start + CHUNK] for start in range(0, max(1, len(points)), CHUNK)]
        with suited_to(0):
            each = [self._marginals(part, *self.whitened(tiled(part))) for part in parts]
        return each[0] if len(each) == 1 else together(each)

    def _marginals(self, points: Array, phi: Array, w: Array, c: Array) -> Marginals:
        """At m points, from phi and w there and, behind them, at what fills a tile."""
        m, prior = len(points), self.kernel.diagonal(points)
        mean, spanned, represented = np.zeros((c.shape[1], w.shape[1])), np.zeros(w.shape[1]), np.zeros(w.shape[1])
        loops().add_columns(phi, np.empty((len(phi), 0)), mean[:0], spanned)
        loops().add_columns(w, c, mean, represented)
        residual = _residual(prior, spanned[:m])
        return Marginals(mean=mean.T[:m], prior=prior, residual=residual, represented=represented[:m])

    def unexplained_values(self) -> Array:
        """sqrt(y^T (Q + N)^-1 y) of each column, ``(q,)``."""
        r = len(self.basis.points)
        lengths: Array = np.linalg.norm(self.root[r:, r:], axis=0)
        return lengths

    def covariance(self, points: Array, others: Array, data: Data | None = None) -> Array:
        """k(x, x') - phi^T phi' + w^T w'."""
        return self.joint(points, others)[0]

    def joint(self, points: Array, others: Array) -> tuple[Array, Marginals]:
        """The covariance of points and others, and the marginals of the points and, if not the same, of the others.

        Each covariance depends on its two points alone, in every bit.
        """
        with suited_to(0):
            x = tiled(points)
            phi, w, c = self.whitened(x)
            marginals = [self._marginals(points, phi, w, c)]
            y, other_phi, other_w = x, phi, w
            if others is not points:
                y = tiled(others)
                other_phi, other_w, _ = self.whitened(y)
                marginals.append(self._marginals(others, other_phi, other_w, c))
            k = between(self.kernel, x, y, (-1.0, phi, other_phi), (1.0, w, other_w))
            return k[: len(points), : len(others)], together(marginals)

    def log_marginal_likelihood(self) -> float:
        """Lower bound log N(y; 0, Q + N) - tr((K - Q) / N) / 2, with Q = Phi^T Phi.

        |Q + N| = |N| |B| and y^T (Q + N)^-1 y = |rho|^2.
        """
        r, q = len(self.basis), len(self.constant)
        log_determinant = 2.0 * np.log(np.abs(np.diagonal(self.root)[:r])).sum()
        fit = np.square(self.root[r:, r:]).sum()
        return float(self.constant.sum() - 0.5 * (q * (log_determinant + self.unrepresented) + fit))

    def column(self, j: int) -> SparseEngine:
        r = len(self.basis)
        root = self.root[: r + 1, : r + 1].copy()
        root[:r, r] = self.root[:r, r + j]
        root[r, r] = np.linalg.norm(self.root[r:, r + j])
        return replace(self, root=root, constant=self.constant[j : j + 1].copy())

    def fresh(self, kernel: Kernel) -> SparseEngine:
        return SparseEngine.empty(kernel, self.rule, np.empty((0, 0)), len(self.constant))


def _squares(phi: Array) -> Array:
    """|phi|^2 of every column, ``(m,)``."""
    squares: Array = np.einsum("ij,ij->j", phi, phi)
    return squares


def _residual(prior: Array, spanned: Array) -> Array:
    """Variance that the basis does not represent, delta = k(x, x) - |phi(x)|^2; rounding hides smaller ones."""
    residual: Array = prior - spanned
    wrong = residual < -WRONG * prior  # features that rounding has made too large are worth as little as too small ones
    return np.clip(np.where(wrong, -residual, residual), LEAST_RESIDUAL * prior, prior)


def together(parts: list[Marginals]) -> Marginals:
    """The marginals of several sets of points, one after the other."""
    names = [field.name for field in fields(Marginals)]
    return Marginals(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
