"""How a policy looks, the same in every chart and table: its colour, its dashes, its place in the order.

Colours are those of Okabe and Ito, which stay apart for colour-blind readers; where one of them has less than a 3 : 1
contrast with the background, a darker (on white) or lighter (on black) shade of it stands in. Dashes differ as well, so
that colour is never the only cue. Charts name no colour: they take the category range of the configuration, so that a
page can choose between light and dark when it is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from superarm.experiments.experiment import SETTING, base_of

# vl-convert brings Liberation Sans, which has the widths of the other two: exported figures need no installed font.
EXPORT_FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
PAGE_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"

_ZETA = re.compile(r"\bzeta=([0-9.]+(?:[eE][-+]?[0-9]+)?)$")


@dataclass(frozen=True, kw_only=True)
class Style:
    """A policy's line: its colour on a light and on a dark background, and its dashes (pen down, pen up, ...)."""

    light: str
    dark: str
    dash: tuple[int, ...]


# The order of this table is the order of legends and tables.
_KNOWN = {
    "cautious": Style(light="#6a2fa0", dark="#b995ee", dash=(1, 0)),
    "cautious-learned": Style(light="#9b59b6", dark="#dcc2ff", dash=(5, 2)),
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
_BASELINES = len(_LAST)
_DASHES = ((1, 0), (10, 3), (6, 2, 2, 2), (4, 2), (2, 2), (12, 2, 1, 2), (7, 5), (3, 1), (1, 2), (16, 4))

# Viridis without the end that would vanish: an order that also shows in grey.
_RAMP_LIGHT = ("#440154", "#3b528b", "#21918c", "#3fa35d", "#8f9a1a")
_RAMP_DARK = ("#8a7ad0", "#5b8fd6", "#2bb5ac", "#7ad151", "#fde725")
# Where a study has several policies with settings, these are shades of the policy's own colour for the first key that
# is set, and of a mixture for the next.
_TINGES = (None, "#0a8f5b", "#c2185b")
_BLACK, _WHITE = "#000000", "#ffffff"
_CARD_DARK = "#1c1f24"  # behind charts of a dark page
_CONTRAST = 3.1  # with the background, at least


def zeta_of(policy: str) -> float | None:
    """The trade-off parameter that a policy's name states ("tcgp-ucb zeta=0.25"), or None."""
    found = _ZETA.search(policy)
    return None if found is None else float(found[1])


def stated_settings(policy: str) -> dict[str, str]:
    """The settings that a policy's name states.

    Examples
    --------
    >>> stated_settings("tcgp-ucb zeta=0.25 beta_scale=0.5")
    {'zeta': '0.25', 'beta_scale': '0.5'}
    """
    return dict(SETTING.findall(policy))


def ordered(policies: Iterable[str]) -> list[str]:
    """The distinct policies in the order of every legend: known ones, then by name and settings, baselines last."""
    known = [name for name in _KNOWN if name not in _LAST]

    def place(policy: str) -> tuple[int, int, str, list[tuple[str, float, str]], str]:
        base = base_of(policy)
        rank = known.index(base) if base in known else len(known)
        settings = [(key, _number(value), value) for key, value in stated_settings(policy).items()]
        return (_LAST.index(policy) + 1 if policy in _LAST else 0, rank, base, settings, policy)

    return sorted(set(policies), key=place)


def styles(policies: Iterable[str]) -> dict[str, Style]:
    """The style of each policy, in their order.

    A known policy looks the same whoever else is there. Its settings are shades: of one ramp if no other
    policy of the study has settings, otherwise of the policy's own colour. Policies that superarm does not know take
    the known colours in turn, with dashes of their own.

    Examples
    --------
    >>> styles(["uniform", "tcgp-ucb"])["tcgp-ucb"].light
    '#0072b2'
    """
    names = ordered(policies)
    bases = _base_styles(names)
    # One family of shades for each policy and keys that are set.
    families: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in names:
        if stated_settings(name):
            families.setdefault((base_of(name), tuple(stated_settings(name))), []).append(name)
    answer = {name: bases[base_of(name)] for name in names}
    met: dict[str, int] = {}
    for (base, _), members in families.items():
        place = met.setdefault(base, 0)
        met[base] += 1
        for rank, name in enumerate(members):
            if len(families) == 1:
                share = rank / max(1, len(members) - 1)
                light, dark = _between(_RAMP_LIGHT, share), _between(_RAMP_DARK, share)
            else:
                share = (rank + 0.4) / len(members)  # not half: that is the policy without settings
                tinge = _TINGES[place % len(_TINGES)]
                light = _between(_shades(bases[base].light, tinge, back=_WHITE), share)
                dark = _between(_shades(bases[base].dark, tinge, back=_CARD_DARK), share)
            others = [dash for dash in _DASHES if dash != bases[base].dash]
            answer[name] = Style(light=light, dark=dark, dash=others[(rank + 3 * place) % len(others)])
    return answer


def _shades(colour: str, tinge: str | None, *, back: str) -> tuple[str, str, str]:
    """From far away from the background, through the colour, to as near to the background as contrast allows."""
    if tinge is not None:
        colour = _between((colour, tinge), 0.45)
    far = _WHITE if _luminance(back) < 0.5 else _BLACK
    while contrast(colour, back) < _CONTRAST:
        colour = _between((colour, far), 0.1)
    near = max(
        (step / 20 for step in range(20) if contrast(_between((colour, back), step / 20), back) >= _CONTRAST),
        default=0.0,
    )
    return (_between((colour, far), 0.6), colour, _between((colour, back), near))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines.

    Examples
    --------
    >>> contrast("#ffffff", "#000000")
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def base_styles(looks: Iterable[str]) -> dict[str, Style]:
    """The style of each policy without its settings, where all settings of a policy are to look alike."""
    return _base_styles(ordered(looks))


def _base_styles(names: list[str]) -> dict[str, Style]:
    bases = list(dict.fromkeys(base_of(name) for name in names))
    strangers = [base for base in bases if base not in _KNOWN]
    colours = list(_KNOWN.values())[:-_BASELINES]
    answer = {}
    for base in bases:
        if base in _KNOWN:
            answer[base] = _KNOWN[base]
        else:
            rank = strangers.index(base)
            twin = colours[-1 - rank % len(colours)]  # from the end: the first are the likeliest to be there as well
            answer[base] = Style(light=twin.light, dark=twin.dark, dash=_DASHES[(rank + 1) % len(_DASHES)])
    return answer


def config(looks: Mapping[str, Style], *, dark: bool = False, page: bool = False) -> dict[str, Any]:
    """The Vega-Lite configuration of a chart of these policies: the only place where colours are decided.

    Parameters
    ----------
    looks
        of the policies, in the order of the charts' domains
    dark
        for a dark background
    page
        for an HTML page, which brings its own background
    """
    text, soft, line = ("#e6e6e3", "#b4b6ba", "#363a41") if dark else ("#1f2328", "#57606a", "#e4e4e0")
    font = PAGE_FONT if page else EXPORT_FONT
    return {
        "background": "transparent" if page else "#ffffff",
        "font": font,
        "padding": 4 if page else 12,
        "range": {
            "category": [style.dark if dark else style.light for style in looks.values()],
            "ordinal": [style.dark if dark else style.light for style in base_styles(looks).values()],
        },
        "view": {"stroke": None},
        "axis": {
            "labelColor": soft,
            "titleColor": soft,
            "titleFontWeight": "normal",
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titlePadding": 8,
            "gridColor": line,
            "domainColor": line,
            "tickColor": line,
            "labelPadding": 5,
        },
        "axisX": {"grid": False, "domainColor": soft, "tickColor": soft},
        "axisY": {"domain": False, "ticks": False},
        "title": {"color": text, "fontSize": 13, "fontWeight": 600, "anchor": "start", "frame": "group", "offset": 12},
        "legend": {
            "labelColor": text,
            "titleColor": text,
            "labelFontSize": 11,
            "labelLimit": 220,
            "symbolSize": 400,
            "symbolStrokeWidth": 2,
            "orient": "bottom",
            "columnPadding": 18,
        },
        "rule": {"color": soft},
        "style": {"accent": {"color": "#4c9fe0" if dark else "#0072b2"}, "front": {"color": soft}},
        "text": {"color": soft, "fontSize": 11},
        "concat": {"spacing": 28},
    }


def _number(value: str) -> float:
    """The value of a setting for sorting; words come after numbers."""
    try:
        return float(value)
    except ValueError:
        return float("inf")


def _between(stops: tuple[str, ...], share: float) -> str:
    """The colour at ``share`` of the way along the stops."""
    place = share * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    ends = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[left : left + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in zip(*ends, strict=True))
