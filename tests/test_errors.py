import pickle

import pytest

import superarm as sa
from superarm import arguments, errors


def test_a_wrong_argument_is_named_with_what_was_expected_and_what_came():
    error = errors.InvalidArgument("k", "a whole number >= 0", -1)
    assert str(error) == "k: expected a whole number >= 0, got -1"
    assert (error.argument, error.expected, error.came) == ("k", "a whole number >= 0", -1)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.InvalidArgument, ValueError),
        (errors.NotStorable, TypeError),
        (errors.NonConforming, AssertionError),
        (errors.UnsolvableRound, Exception),
        (errors.UnreadableFile, Exception),
        (errors.ForeignResults, Exception),
        (errors.WorkerLost, Exception),
        (errors.MissingData, Exception),
        (errors.DownloadFailed, Exception),
        (errors.UnexpectedData, ValueError),
    ],
)
def test_every_error_has_one_root_and_its_builtin_kin(kind, builtin):
    assert issubclass(kind, errors.SuperarmError)
    assert issubclass(kind, builtin)


def test_a_wrong_argument_survives_the_way_between_processes():
    error = pickle.loads(pickle.dumps(errors.InvalidArgument("k", "a number", "text")))
    assert str(error) == "k: expected a number, got text"


HUGE = 10**5000  # Python refuses to write its digits


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: arguments.whole_number("k", HUGE, most=5),
        lambda: arguments.positive("noise", HUGE),
        lambda: arguments.as_floats("x", [HUGE], "numbers"),
        lambda: arguments.checked_seed(-HUGE),
        lambda: sa.AtMost(-HUGE),
        lambda: sa.Round(t=1, contexts=[[HUGE]], feasible=sa.AtMost(1)),
        lambda: sa.Round(t=1, contexts=[[0.1]], feasible=sa.AtMost(1)).check_arms([HUGE]),
        lambda: sa.Round(t=1, contexts=[[0.1]], groups=["a"], constraint={HUGE: sa.Sum() >= 1}, feasible=sa.AtMost(1)),
        lambda: sa.Round(t=1, contexts=[[0.1]], constraint=sa.Sum() >= HUGE, feasible=sa.AtMost(1)),
        lambda: sa.posteriors.SquaredExponential(lengthscale=HUGE),
        lambda: sa.posteriors.ExactPosterior(sa.posteriors.SquaredExponential(), HUGE),
    ],
)
def test_a_number_too_long_to_write_is_refused_by_name(wrong):
    with pytest.raises(errors.InvalidArgument) as error:
        wrong()
    assert len(str(error.value)) < 300


def test_a_wrong_argument_that_cannot_be_written_has_a_text():
    assert (
        str(errors.InvalidArgument("k", "a number", HUGE)) == "k: expected a number, got a whole number of 16610 bits"
    )


def test_a_warning_points_at_the_call_from_outside_the_package():
    def through(depth):
        """Calls of methods of the package, some in each other, before the warning comes."""
        names = {"__name__": "superarm.somewhere.deep", "warn": errors.warn}
        exec("def inner(depth):\n    return inner(depth - 1) if depth else warn('the noise is 3')", names)
        return names["inner"](depth)

    for depth in (0, 3):
        with pytest.warns(errors.ModelWarning, match="the noise is 3") as caught:
            through(depth)
        assert [caught[0].filename, caught[0].lineno] == [__file__, through.__code__.co_firstlineno + 4]
