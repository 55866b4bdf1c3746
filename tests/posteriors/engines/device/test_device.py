"""A posterior on a card gives the answers of the CPU; its blocked code runs here on NumPy."""

import sys

import numpy as np
import pytest

import superarm as sa
from superarm import storage
from superarm.errors import InvalidArgument
from superarm.posteriors import (
    Coregionalised,
    ExactPosterior,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
    SquaredExponential,
)
from superarm.posteriors.engines import factor as host
from superarm.posteriors.engines.device import devices, factor
from superarm.posteriors.engines.device.cuda import CudaArrays
from superarm.posteriors.engines.factor import Factor
from tests.posteriors.dense import DenseGP, data, grown, independent

SE = SquaredExponential(lengthscale=(0.6, 0.8))
C = data(1, 23, 2)[0]


class Own:
    """A kernel that no device knows."""

    def __call__(self, x, y):
        return np.exp(-np.abs(x[:, None] - y[None]).sum(axis=2))

    def diagonal(self, x):
        return np.ones(len(x))


class Louder(Matern52):
    """One that is not what its parent is."""

    def __call__(self, x, y):
        return 4.0 * super().__call__(x, y)

    def diagonal(self, x):
        return 4.0 * super().diagonal(x)


PRIORS = {
    "one kernel": (SE, 0.1),
    "two kernels": ((Matern12(lengthscale=0.7) * Linear() + Matern32(), RationalQuadratic(alpha=0.7)), (0.1, 0.2)),
    "coregionalised": (Coregionalised(Matern52(lengthscale=0.5), [[1.0, 0.3], [0.3, 2.0]]), 0.1),
    "own kernel": (Own(), 0.1),
    "a subclass": (Louder(), 0.1),
}


def pair(kernel, noise, **rest):
    return ExactPosterior(kernel, noise, **rest), ExactPosterior(kernel, noise, device="cuda", **rest)


def assert_close(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one.predict(C).mean, other.predict(C).mean, atol=tolerance)
    np.testing.assert_allclose(one.predict(C).std, other.predict(C).std, atol=tolerance)
    np.testing.assert_allclose(one.covariance(C, C[:7]), other.covariance(C, C[:7]), atol=tolerance)
    np.testing.assert_allclose(one.covariance(C), other.covariance(C), atol=tolerance)
    np.testing.assert_allclose(one.log_marginal_likelihood(), other.log_marginal_likelihood(), rtol=1e-9)


def assert_same(one, other):
    np.testing.assert_array_equal(one.predict(C).mean, other.predict(C).mean)
    np.testing.assert_array_equal(one.predict(C).std, other.predict(C).std)
    assert one.log_marginal_likelihood() == other.log_marginal_likelihood()


@pytest.mark.parametrize("sizes", [(97,), (1,) * 20, (7, 40, 3), (16, 32, 1)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", PRIORS)
def test_the_answers_are_those_of_the_cpu(card, kind, missing, sizes):
    x, y = data(0, 90, 2, repeats=0.2, missing=missing)
    cpu, cuda = (grown(prior, x, y, sizes) for prior in pair(*PRIORS[kind], mean=(0.5, -1.0)))
    assert_close(cuda, cpu)
    assert (cuda.device, cpu.device) == ("cuda", "cpu")
    assert (cuda.jitter, cuda.distinct, cuda.observations) == (cpu.jitter, cpu.distinct, cpu.observations)


def test_the_answers_are_those_of_dense_algebra(card):
    x, y = data(3, 70, 2)
    cuda = grown(ExactPosterior(SE, 0.1, device="cuda"), x, y, (13, 20))
    mean, std = DenseGP(independent(SE, SE), (0.1, 0.1), x, y).predict(C)
    np.testing.assert_allclose(cuda.predict(C).mean, mean, atol=1e-9)
    np.testing.assert_allclose(cuda.predict(C).std, std, atol=1e-9)


def test_blocks_hold_the_lower_half_alone(card):
    x, y = data(0, 90, 2)
    blocks = ExactPosterior(SE, 0.1, device="cuda").condition(x, y).state.engines[0].factor.blocks
    assert [block.rows.shape for block in blocks] == [(16, 16 * (i + 1)) for i in range(6)]
    assert [len(block.points) for block in blocks] == [16] * 5 + [10]


def test_the_least_jitter_is_that_of_the_cpu(card):
    x, y = data(4, 40, 2)
    cpu, cuda = (prior.condition(x, y) for prior in pair(SquaredExponential(lengthscale=5.0), 1e-9))
    assert cuda.jitter == cpu.jitter > 0.0


@pytest.mark.parametrize("worst", [0.0, 40.0, np.inf])
def test_corners_are_inverted_where_that_costs_few_digits_and_solved_elsewhere(card, worst, monkeypatch):
    monkeypatch.setattr(host, "WORST_CONDITION", worst)
    x, y = data(9, 64, 2)
    cpu, cuda = (grown(prior, x, y, (30, 9)) for prior in pair(SE, 0.1))
    for block in cuda.state.engines[0].factor.blocks:
        norms = [np.linalg.norm(matrix, np.inf) for matrix in (block.corner, np.linalg.inv(block.corner))]
        assert (block.inverse is not None) == (np.prod(norms) <= worst)
    assert_close(cuda, cpu)


def test_a_covariance_that_is_none_is_refused(card):
    class Wrong(Own):
        def __call__(self, x, y):
            return -super().__call__(x, y) * 1e6

    with pytest.raises(InvalidArgument, match="positive semidefinite"):
        ExactPosterior(Wrong(), 0.1, device="cuda").condition(*data(0, 5, 2))


def test_two_continuations_leave_each_other_alone(card):
    x, y = data(5, 60, 2)
    before = ExactPosterior(SE, 0.1, device="cuda").condition(x[:40], y[:40])
    seen = before.predict(C).mean
    first = before.condition(x[40:], y[40:])
    kept = first.predict(C).mean
    before.condition(-x[40:], y[40:])
    np.testing.assert_array_equal(first.predict(C).mean, kept)
    np.testing.assert_array_equal(before.predict(C).mean, seen)


@pytest.mark.parametrize("n", [0, 5, 16, 53, 96])
def test_moving_changes_no_number_of_the_factor(card, n):
    x, y = data(6, 120, 2)
    cpu = grown(ExactPosterior(SE, 0.1), x[:n], y[:n], (20, 3)) if n else ExactPosterior(SE, 0.1)
    there = cpu.on("cuda")
    assert there.device == "cuda"
    assert_same(there.on("cpu"), cpu)
    assert_close(there.condition(x[n:], y[n:]), cpu.condition(x[n:], y[n:]))
    cuda = grown(ExactPosterior(SE, 0.1, device="cuda"), x[:n], y[:n], (20, 3)) if n else there
    assert_same(cuda.on("cpu").on("cuda"), cuda)
    assert_same(cuda.on("cpu").on("cuda").condition(x[n:], y[n:]), cuda.condition(x[n:], y[n:]))
    assert cpu.on("cpu").state.engines[0] is cpu.state.engines[0]


@pytest.mark.parametrize("kind", ["one kernel", "two kernels", "coregionalised"])
def test_a_file_of_a_card_is_loaded_on_the_card_and_without_one_on_the_cpu(card, kind, tmp_path, monkeypatch):
    x, y = data(7, 90, 2, repeats=0.2)
    cuda = grown(ExactPosterior(*PRIORS[kind], device="cuda"), x[:70], y[:70], (31, 8))
    storage.write(cuda, tmp_path / "cuda")
    loaded = storage.read(tmp_path / "cuda")
    assert loaded.device == "cuda"
    assert repr(loaded) == repr(cuda)
    assert_same(loaded, cuda)
    assert_same(loaded.condition(x[70:], y[70:]), cuda.condition(x[70:], y[70:]))
    storage.write(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "cuda").read_bytes()

    monkeypatch.setattr(factor, "arrays_of", no_card)
    here = storage.read(tmp_path / "cuda")
    assert here.device == "cpu"
    assert all(type(engine.factor) is Factor for engine in here.state.engines)
    assert_close(here, grown(ExactPosterior(*PRIORS[kind]), x[:70], y[:70], (31, 8)))
    assert_close(here.condition(x[70:], y[70:]), grown(ExactPosterior(*PRIORS[kind]), x, y, (31, 8)))


def test_a_file_of_the_cpu_goes_to_a_card(card, tmp_path):
    x, y = data(7, 90, 2)
    cpu = ExactPosterior(SE, 0.1).condition(x, y)
    storage.write(cpu, tmp_path / "cpu")
    assert_close(storage.read(tmp_path / "cpu").on("cuda"), cpu)


def test_a_file_with_a_device_that_cannot_be_is_refused(card, tmp_path):
    saved = ExactPosterior(SE, 0.1, device="cuda").state.engines[0].factor._as_saved()
    object.__setattr__(saved, "device", "tpu")
    storage.write(saved, tmp_path / "wrong")
    with pytest.raises(sa.errors.UnreadableFile, match="tpu"):
        storage.read(tmp_path / "wrong")


def test_learning_and_one_output_alone_stay_on_the_card(card):
    x, y = data(8, 60, 2)
    cpu, cuda = (prior.condition(x, y) for prior in pair(SquaredExponential(lengthscale=3.0), 0.3))
    cpu, cuda = (posterior.learned(sa.Learning(starts=2, at_most=40)) for posterior in (cpu, cuda))
    assert cuda.device == "cuda"
    assert cuda.kernel == cpu.kernel
    y[:, 1] = np.nan
    assert_close(cuda.condition(-x, y), cpu.condition(-x, y))


def test_the_suite_of_posteriors_holds(card):
    sa.check_posterior(ExactPosterior(SquaredExponential(), 0.1, device="cuda"), dimension=3)


def test_a_policy_with_a_card_plays_as_one_without(card):
    problem = sa.environments.RandomProblem(4)
    policies = [sa.TCGPUCB(prior, learn=False) for prior in pair(problem.kernel, problem.noise_std)]
    traces = [sa.simulate(policy, problem, rounds=4) for policy in policies]
    assert traces[0]["arms"].to_list() == traces[1]["arms"].to_list()
    assert policies[1].posterior.device == "cuda"


def test_a_policy_that_adapts_stays_on_the_card(card):
    problem = sa.environments.RandomProblem(4)
    policy = sa.TCGPUCB(ExactPosterior(problem.kernel, problem.noise_std, device="cuda"))
    sa.simulate(policy, problem, rounds=3)
    assert policy.posterior.device == "cuda"
    assert policy.posterior.kernel != problem.kernel


def no_card(device):
    raise InvalidArgument("device", "a card", "none")


def test_without_cupy_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(InvalidArgument, match=r"device: expected .*NVIDIA card, got no CuPy .*pip install '\.\[gpu\]'"):
        CudaArrays()


def test_without_a_card_the_message_says_so(monkeypatch):
    class Cupy:
        @staticmethod
        def zeros(n):
            raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    monkeypatch.setitem(sys.modules, "cupy", Cupy)
    monkeypatch.setitem(sys.modules, "cupyx", Cupy)
    with pytest.raises(InvalidArgument, match=r"device: expected .*got CuPy that cannot use a card .*NoDevice"):
        CudaArrays()


@pytest.mark.parametrize("device", ["gpu", "CUDA", "", None, 0, True, ["cuda"]])
def test_other_devices_are_refused(device):
    with pytest.raises(InvalidArgument, match='device: expected "cpu" or "cuda"'):
        ExactPosterior(SE, 0.1, device=device)
    with pytest.raises(InvalidArgument, match='device: expected "cpu" or "cuda"'):
        ExactPosterior(SE, 0.1).on(device)


def test_there_is_no_catalogue_on_a_card(card):
    with pytest.raises(InvalidArgument, match="catalogue: expected None"):
        ExactPosterior(SE, 0.1, catalogue=C, device="cuda")
    with pytest.raises(InvalidArgument, match="other devices have no catalogue"):
        ExactPosterior(SE, 0.1, catalogue=C).on("cuda")


def test_nothing_of_a_card_is_looked_for_on_the_cpu(monkeypatch):
    monkeypatch.setattr(devices, "arrays_of", no_card)
    x, y = data(0, 10, 2)
    ExactPosterior(SE, 0.1).condition(x, y).on("cpu").predict(C)
