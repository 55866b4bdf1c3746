"""The mistakes of ``make mutants`` can still be made: what they replace is where they look for it."""

from tests.mutants import MUTANTS, ROOT


def test_every_text_stands_in_its_file_once():
    assert [mutant for mutant in MUTANTS if mutant.occurrences(ROOT) != 1] == []
