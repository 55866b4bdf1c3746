"""How policies look: the same everywhere, apart from each other, and readable."""

import polars as pl
import pytest

from superarm.report import theme
from tests.report.samples import MANY, POLICIES, ZETAS


def styles(names):
    return theme.styles(pl.DataFrame({"policy": names}))


def ordered(names):
    return theme.ordered(pl.DataFrame({"policy": names}))


def test_a_policy_looks_the_same_whoever_else_is_there():
    everybody = styles(POLICIES)
    for policy in POLICIES:
        assert styles([policy, "stranger"])[policy] == everybody[policy]


@pytest.mark.parametrize("policies", [POLICIES, ["cautious", *ZETAS, "clairvoyant"], ["mine", "yours", "uniform"]])
def test_no_two_policies_look_alike(policies):
    looks = styles(policies).values()
    for part in ("light", "dark", "dash"):
        assert len({getattr(style, part) for style in looks}) == len(policies), part


def test_settings_are_shades_of_their_policys_colour():
    looks = styles(MANY)
    assert len(set(looks.values())) == len(MANY)
    for part in ("light", "dark"):
        assert len({getattr(style, part) for style in looks.values()}) == len(MANY)
    assert looks["cautious"] == styles(["cautious"])["cautious"]
    assert theme.bases_of(looks) == [name for name in ordered(MANY) if "=" not in name]
    cautious = [style.dash for name, style in looks.items() if name.startswith("cautious")]
    assert len(set(cautious)) == len(cautious)


def test_settings_are_ordered_by_number_after_the_policy_without_them():
    names = ["a x=10", "a x=9", "a x=fast", "a", "tcgp-ucb zeta=0.5", "tcgp-ucb"]
    assert ordered(names) == ["tcgp-ucb", "tcgp-ucb zeta=0.5", "a", "a x=9", "a x=10", "a x=fast"]


def test_colours_stand_out_from_the_background():
    for policies in (POLICIES, ZETAS, MANY, [f"stranger x={i}" for i in range(8)] + [f"other y={i}" for i in range(8)]):
        for style in styles(policies).values():
            for back in ("#ffffff", "#fcfcfb"):
                assert contrast(style.light, back) >= 3
            for back in ("#16181c", "#1c1f24"):
                assert contrast(style.dark, back) >= 3


def contrast(one, other):
    """The contrast ratio of the Web Content Accessibility Guidelines."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
