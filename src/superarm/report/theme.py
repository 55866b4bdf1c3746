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
    "tcgp-ucb": Style(light="#0072b2", dark="#4c9fe0", dash=(1, 0)),
    "stcgp-ucb": Style(light="#2a93cf", dark="#8fd0f5", dash=(8, 3)),
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
_DASHES = ((1, 0), (10, 3), (6, 2, 2, 2), (4, 2), (2, 2), (12, 2, 1, 2), (7, 5))

# Viridis without the end that would vanish: an order that also shows in grey.
_RAMP_LIGHT = ("#440154", "#3b528b", "#21918c", "#3fa35d", "#8f9a1a")
_RAMP_DARK = ("#8a7ad0", "#5b8fd6", "#2bb5ac", "#7ad151", "#fde725")


def zeta_of(policy: str) -> float | None:
    """The trade-off parameter that a policy's name states ("tcgp-ucb zeta=0.25"), or None."""
    found = _ZETA.search(policy)
    return None if found is None else float(found[1])


def ordered(policies: Iterable[str]) -> list[str]:
    """The distinct policies in the order of every legend: known ones, then by name and zeta, baselines last."""
    known = [name for name in _KNOWN if name not in _LAST]

    def place(policy: str) -> tuple[int, int, str, float, str]:
        zeta = zeta_of(policy)
        family = policy if zeta is None else _ZETA.sub("", policy).strip()
        rank = known.index(family) if family in known else len(known)
        return (_LAST.index(policy) + 1 if policy in _LAST else 0, rank, family, -1.0 if zeta is None else zeta, policy)

    return sorted(set(policies), key=place)


def styles(policies: Iterable[str]) -> dict[str, Style]:
    """The style of each policy, in their order.

    A known policy looks the same whoever else is there. Values of zeta are shades of one ramp. Policies that superarm
    does not know take the known colours in turn, with dashes of their own.

    Examples
    --------
    >>> styles(["uniform", "tcgp-ucb"])["tcgp-ucb"].light
    '#0072b2'
    """
    names = ordered(policies)
    shaded = sorted({zeta for name in names if (zeta := zeta_of(name)) is not None})
    strangers = [name for name in names if name not in _KNOWN and zeta_of(name) is None]
    colours = list(_KNOWN.values())[:-_BASELINES]
    answer: dict[str, Style] = {}
    for name in names:
        zeta = zeta_of(name)
        if zeta is not None:
            rank = shaded.index(zeta)
            share = rank / max(1, len(shaded) - 1)
            answer[name] = Style(
                light=_between(_RAMP_LIGHT, share), dark=_between(_RAMP_DARK, share), dash=_DASHES[rank % len(_DASHES)]
            )
        elif name in _KNOWN:
            answer[name] = _KNOWN[name]
        else:
            rank = strangers.index(name)
            twin = colours[-1 - rank % len(colours)]  # from the end: the first are the likeliest to be there as well
            answer[name] = Style(light=twin.light, dark=twin.dark, dash=_DASHES[(rank + 1) % len(_DASHES)])
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
        "range": {"category": [style.dark if dark else style.light for style in looks.values()]},
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
        "style": {"accent": {"color": "#4c9fe0" if dark else "#0072b2"}},
        "text": {"color": soft, "fontSize": 11},
        "concat": {"spacing": 28},
    }


def _between(stops: tuple[str, ...], share: float) -> str:
    """The colour at ``share`` of the way along the stops."""
    place = share * (len(stops) - 1)
    left = min(int(place), len(stops) - 2)
    ends = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[left : left + 2]]
    return "#" + "".join(f"{round(a + (b - a) * (place - left)):02x}" for a, b in zip(*ends, strict=True))
