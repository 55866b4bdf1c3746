"""The style of every chart of this library: fonts, axes and greys; each chart adds the colours of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# vl-convert brings Liberation Sans, which has the widths of the other two: exported figures need no installed font.
EXPORT_FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
PAGE_FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"


def config(
    category: Sequence[str], ordinal: Sequence[str] = (), *, dark: bool = False, page: bool = False
) -> dict[str, Any]:
    """The Vega-Lite configuration of a chart.

    Parameters
    ----------
    category, ordinal
        the colours of these two ranges
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
            "category": [*category],
            "ordinal": [*ordinal],
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
        "axisX": {"grid": False, "domainColor": soft, "tickColor": soft, "labelFlush": False},
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
