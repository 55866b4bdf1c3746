"""What every policy of the library refuses, and that nothing has changed afterwards."""

import inspect
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest

import superarm as sa
from superarm.errors import InvalidArgument, NotStorable, UnreadableFile
from superarm.storage import storable
from tests.members import policies
from tests.policies.rounds import PRIOR, play

EVERY = [*policies(), sa.Clairvoyant(sa.environments.Federated())]
NAMES = [type(policy).__name__ for policy in EVERY]


@pytest.mark.parametrize("policy", EVERY, ids=NAMES)
@pytest.mark.parametrize("round", [None, "round", np.zeros((3, 1))])
def test_what_is_no_round_is_refused(policy, round):
    methods = [policy.select, lambda round: policy.update(round, [], np.empty((0, 2)))]
    methods += [policy.indices] if hasattr(policy, "indices") else []
    for method in methods:
        with pytest.raises(InvalidArgument, match="round: expected a superarm"):
            method(round)


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.TCGPTS, sa.CautiousTCGPUCB, sa.OCLOKUCB, sa.ACCUCB, sa.CUCB, sa.CCMAB])
@pytest.mark.parametrize("oracle", [sa.Automatic, sa.MILP, "exact", 3])
def test_an_oracle_is_an_object_that_can_be_called(make, oracle):
    prior = [sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05)]
    settings = {"horizon": 10} if make in (sa.ACCUCB, sa.CCMAB) else {}
    with pytest.raises(InvalidArgument, match="oracle: expected a callable"):
        make(*([] if make in (sa.ACCUCB, sa.CCMAB, sa.CUCB) else prior), oracle=oracle, **settings)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sa.TCGPUCB(PRIOR),
        lambda: sa.TCGPUCB(
            sa.SparsePosterior(sa.Matern52(lengthscale=0.3), noise_std=0.05, inducing=sa.RandomSubset(8))
        ),
        lambda: sa.TCGPUCB(
            sa.SparsePosterior(sa.SquaredExponential(lengthscale=0.3), noise_std=0.05), zeta=0.9, seed=3
        ),
        lambda: sa.OCLOKUCB(PRIOR, oracle=sa.MILP()),
    ],
)
def test_save_load_and_continue_equals_never_stopped(make, tmp_path):
    policy = make()
    play(policy, 6)
    policy.save(tmp_path / "policy")
    loaded = sa.load(tmp_path / "policy")
    assert play(policy, 6, seed=1, first=7) == play(loaded, 6, seed=1, first=7)
    x = np.linspace(0, 1, 50)[:, None]
    ours, theirs = policy.posterior.predict(x), loaded.posterior.predict(x)
    assert ours.mean.tobytes() == theirs.mean.tobytes()
    assert ours.std.tobytes() == theirs.std.tobytes()


def test_a_damaged_file_is_refused(tmp_path):
    policy = sa.TCGPUCB(PRIOR)
    play(policy, 3)
    path = tmp_path / "policy"
    policy.save(path)
    whole = path.read_bytes()
    for size in [0, 1, 100, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableFile, match="policy"):
            sa.load(path)
    path.write_text("something else")
    with pytest.raises(UnreadableFile, match="not a superarm file"):
        sa.load(path)
    with pytest.raises(FileNotFoundError):
        sa.load(tmp_path / "nowhere")


def test_a_saved_value_that_is_no_policy_is_refused(tmp_path):
    sa.storage.write(PRIOR, tmp_path / "posterior")
    with pytest.raises(UnreadableFile, match="holds an ExactPosterior, not a policy"):
        sa.load(tmp_path / "posterior")


def test_what_cannot_be_saved_says_so_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "policy"
    sa.TCGPUCB(PRIOR).save(path)
    before = path.read_bytes()
    with pytest.raises(NotStorable, match=r"value\.oracle: a .*function"):
        sa.TCGPUCB(PRIOR, oracle=lambda index, round, good: None).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["policy"]


@pytest.mark.parametrize("default", [{}, {"width": 2.0}])
def test_a_policy_whose_parameters_are_no_fields_is_loaded_too(default, tmp_path):
    class Widened(sa.TCGPUCB):
        def __init__(self, posterior, *, width):
            super().__init__(posterior, beta_scale=width**2)

    Widened.__init__.__kwdefaults__ = default
    Widened.__module__ = "superarm.policies.widened"  # files of the library's own classes are checked
    storable(dataclass(eq=False, init=False)(Widened))
    policy = Widened(PRIOR, width=3.0)
    policy.save(tmp_path / "policy")
    assert sa.load(tmp_path / "policy").learner.beta_scale == policy.learner.beta_scale == 9.0


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: type(policy).__name__)
def test_every_setting_of_a_policy_is_a_field_that_a_file_is_checked_for(policy):
    learner = getattr(policy, "learner", None)
    known = {*vars(policy), *(() if learner is None else vars(learner)), "learn", "outcomes"}
    assert set(inspect.signature(type(policy)).parameters) <= known


def fresh_round(t):
    rng = np.random.default_rng(t)
    return sa.Round(
        t=t,
        contexts=rng.uniform(size=(8, 1)),
        groups=np.arange(8) % 2,
        constraint=sa.Sum() <= 3.0,
        feasible=sa.AtMost(3),
    )


@pytest.mark.parametrize("policy", EVERY[:-1], ids=NAMES[:-1])
def test_outcomes_too_large_to_compute_with_are_refused_and_change_nothing(policy, tmp_path):
    policy.save(tmp_path / "before")
    policy = sa.load(tmp_path / "before")
    for number in (1e308, -1e308, 1e71, np.inf):
        for column in (0, 1):
            outcomes = np.full((2, 2), 0.5)
            outcomes[1, column] = number
            with pytest.raises(InvalidArgument, match="outcomes: expected numbers from"):
                policy.update(fresh_round(1), [0, 1], outcomes)
    policy.save(tmp_path / "after")
    before, after = (zipfile.ZipFile(tmp_path / name) for name in ("before", "after"))
    assert [before.read(name) for name in before.namelist()] == [after.read(name) for name in after.namelist()]
    policy.update(fresh_round(1), [0, 1], [[1e70, -1e70], [np.nan, 1e70]])
    assert np.isfinite(policy.select(fresh_round(2)).value)


@pytest.mark.parametrize("make", [sa.TCGPUCB, sa.OCLOKUCB, sa.CGPUCB, sa.CautiousTCGPUCB])
@pytest.mark.parametrize("width", [1e308, 1e101, np.inf, np.nan, -1.0])
def test_bounds_are_no_wider_than_numbers_allow(make, width):
    argument = "reward_width" if make is sa.CautiousTCGPUCB else "beta_scale"
    with pytest.raises(InvalidArgument, match=f"{argument}: expected"):
        make(PRIOR, **{argument: width})
    widest = make(PRIOR, **{argument: 1e100})
    assert np.isfinite(widest.select(fresh_round(1)).value)
