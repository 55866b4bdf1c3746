import pickle

import pytest

from superarm import errors


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
