"""How a policy looks, the same in every chart and table: its colour, its dashes, its place in the order.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers; where one of them has less than a 3 : 1
contrast with the background, a darker (on white) or lighter (on black) shade of it stands in. Dashes differ as well, so
that colour is never the only cue. Charts name no colour: they take the category range of the configuration, so that a
page can choose between light and dark when it is opened.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from superarm import chart_style
from superarm.experiments import measures
from superarm.experiments.results import base_and_settings, complete, settings_in


@dataclass(frozen=True, kw_only=True)
class Style:
    """A policy's line: its colour on a light and on a dark background, and its dashes (pen down, pen up, ...)."""

    light: str
    dark: str
    dash: tuple[int, ...]
    base: str = ""  # the policy without its settings, or its own name if that says nothing of them


LARGEST = 1e100  # number that is drawn
TURNING = r"[\u202a-\u202e\u2066-\u2069]"  # letters that turn the direction of what follows them

# The order of this table is the order of legends and tables.
_KNOWN = {
    "cautious": Style(light="#6a2fa0", dark="#b995ee", dash=(1, 0)),
    "cautious-fixed": Style(light="#9b59b6", dark="#dcc2ff", dash=(5, 2)),
    "tcgp-ucb": Style(light="#0072b2", dark="#4c9fe0", dash=(14, 2)),
    "stcgp-ucb": Style(light="#2a93cf", dark="#8fd0f5", dash=(8, 3)),
    "tcgp-ucb-batch": Style(light="#00767f", dark="#3cc3cd", dash=(10, 2, 3, 2)),
    "tcgp-ucb-learned": Style(light="#27408b", dark="#94a8ff", dash=(4, 2)),
    "tcgp-ts": Style(light="#b0123b", dark="#ff8095", dash=(6, 2, 1, 2, 1, 2)),
    "acc-ucb": Style(light="#d55e00", dark="#f07a2a", dash=(2, 2)),
    "cc-mab": Style(light="#bf8400", dark="#e69f00", dash=(8, 3, 2, 3)),
    "cucb": Style(light="#c468a0", dark="#d98fb8", dash=(5, 2)),
    "oclok-ucb": Style(light="#009e73", dark="#23b78c", dash=(12, 3)),
    "cgp-ucb": Style(light="#8f8600", dark="#f0e442", dash=(5, 2, 1, 2)),
    "uniform": Style(light="#767676", dark="#9a9a9a", dash=(3, 3)),
    "clairvoyant": Style(light="#3d3d3d", dark="#d8d8d8", dash=(1, 3)),
}
_LAST = ("uniform", "clairvoyant")
_DASHES = ((1, 0), (10, 3), (6, 2, 2, 2), (4, 2), (2, 2), (12, 2, 1, 2), (7, 5), (3, 1), (1, 2), (16, 4))

# Viridis without the end that would vanish: an order that also shows in grey.
_RAMP_LIGHT = ("#440154", "#3b528b", "#21918c", "#3fa35d", "#8f9a1a")
_RAMP_DARK = ("#8a7ad0", "#5b8fd6", "#2bb5ac", "#7ad151", "#fde725")


def checked(frame: pl.DataFrame) -> pl.DataFrame:
    """The results with every column, in the order of legends, runs and rounds; or an error on what is missing.

    Numbers that no chart can show are undefined, and so is what is computed from them. Letters that no XML file may
    hold, or that turn the direction of what follows, are replaced.
    """
    numbers = pl.col(pl.Float64)
    undefined = numbers.abs() >= LARGEST  # true of NaN
    frame = measures.checked(frame).with_columns(
        pl.when(undefined).then(math.nan).otherwise(numbers).name.keep(),
        pl.col("policy", "base")
        .str.replace_all(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{fffe}\x{ffff}]", "\ufffd")
        .str.replace_all(r"[\x{202a}-\x{202e}\x{2066}-\x{2069}]", "\ufffd"),
    )
    places = {policy: number for number, policy in enumerate(ordered(frame))}
    return frame.sort(pl.col("policy").replace_strict(places, return_dtype=pl.Int64), "run", "t")


def ordered(frame: pl.DataFrame) -> list[str]:
    """The distinct policies in the order of every legend: known ones, then by name and settings, baselines last."""
    return list(_parts(frame))


def _parts(frame: pl.DataFrame) -> dict[str, tuple[str, dict[str, Any]]]:
    """Base and settings of each policy, in the order of every legend."""
    named = complete(frame).select("policy", "base", "settings").unique("policy")
    parts = {policy: (base, settings_in(settings)) for policy, base, settings in named.iter_rows()}
    known = [name for name in _KNOWN if name not in _LAST]

    def place(policy: str) -> tuple[Any, ...]:
        base, settings = parts[policy]
        rank = known.index(base) if base in known else len(known)
        # Settings by number; words come after numbers.
        values = [(key, isinstance(value, str), value) for key, value in settings.items()]
        return (_LAST.index(policy) + 1 if policy in _LAST else 0, rank, base, values, policy)

    return {policy: parts[policy] for policy in sorted(parts, key=place)}


def styles(frame: pl.DataFrame) -> dict[str, Style]:
    """The style of each policy of the results, in their order.

    A known policy looks the same beside any others. Its settings are on one ramp of colours if no other policy of
    the study has settings, otherwise on one between that ramp and its own colour. Policies that superarm does not know
    take the known colours in turn, with dashes of their own.

    Examples
    --------
    >>> styles(pl.DataFrame({"policy": ["uniform", "tcgp-ucb"]}))["tcgp-ucb"].light
    '#0072b2'
    """
    parts = _parts(frame)
    plain = _base_styles(dict.fromkeys(base for base, _ in parts.values()))
    variants: dict[str, list[str]] = {}
    taken = {name for name, (base, _) in parts.items() if name == base}
    for name, (base, settings) in parts.items():
        # A second policy of the same base and no settings, under a name of its own, must look different too.
        if settings or (name != base and base in taken):
            variants.setdefault(base, []).append(name)
        else:
            taken.add(base)
    looks = {name: plain[base] for name, (base, _) in parts.items()}
    for name, (base, settings) in parts.items():
        if not _says(name, base, settings):
            looks[name] = replace(looks[name], base=name)
    blend = 1.0 if len(variants) == 1 else 0.4
    for base, names in variants.items():
        own = plain[base]
        others = {style.dash for style in plain.values()}
        dashes = [dash for dash in _DASHES if dash not in others] or list(_DASHES)
        for rank, name in enumerate(names):
            share = rank / max(1, len(names) - 1)
            light = _between((own.light, _between(_RAMP_LIGHT, share)), blend)
            dark = _between((own.dark, _between(_RAMP_DARK, share)), blend)
            looks[name] = replace(looks[name], light=light, dark=dark, dash=dashes[rank % len(dashes)])
    return looks


def _says(name: str, base: str, settings: Mapping[str, Any]) -> bool:
    """Whether the name of a policy is its base with these settings, and not one that a user gave it."""
    said, with_these = base_and_settings(name)
    return said == base and settings_in(with_these) == settings


def _base_styles(bases: Collection[str]) -> dict[str, Style]:
    """The style of each policy without settings."""
    strangers = [base for base in bases if base not in _KNOWN]
    colours = list(_KNOWN.values())[: -len(_LAST)]
    found = {}
    for base in bases:
        own = _KNOWN.get(base)
        if own is None:
            rank = strangers.index(base)
            twin = colours[-1 - rank % len(colours)]  # from the end: the first are the likeliest to be there as well
            own = replace(twin, dash=_DASHES[(rank + 1) % len(_DASHES)])
        found[base] = replace(own, base=base)
    return found


def bases_of(looks: Mapping[str, Style]) -> list[str]:
    """The policies without their settings, where all settings of a policy are to look alike."""
    return list(dict.fromkeys(style.base for style in looks.values()))


def _looks_of_bases(looks: Mapping[str, Style]) -> list[Style]:
    bases = bases_of(looks)
    own = {base: looks[base] for base in bases if base in looks and looks[base].base == base}
    others = _base_styles([base for base in bases if base not in own])
    return [own.get(base) or others[base] for base in bases]


def config(looks: Mapping[str, Style], *, dark: bool = False, page: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of a chart of these policies: the only place where their colours are decided.

    Parameters
    ----------
    looks
        of the policies, in the order of the charts' domains
    dark
        for a dark background
    page
        for an HTML page, which brings its own background
    """
    category = [style.dark if dark else style.light for style in looks.values()]
    ordinal = [style.dark if dark else style.light for style in _looks_of_bases(looks)]
    return chart_style.config(category, ordinal, dark=dark, page=page)


def _between(stops: tuple[str, ...], share: float) -> str:
    """The colour at ``share`` of the way along the stops."""
    place = share * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    ends = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[left : left + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in zip(*ends, strict=True))
