"""A figure: panels that belong together, with the words that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from superarm.report import theme
from superarm.report.theme import Style


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Panels that belong together.

    Attributes
    ----------
    name
        of its files
    title, caption
        what it is about, and exactly what is drawn
    alternative
        for readers who cannot see it: its main numbers
    panels
        Altair charts without configuration and without width
    looks
        of all policies, in the order of the legend
    columns, width
        how many panels stand side by side in an exported figure, and how wide each is
    section
        of the page that shows it
    """

    name: str
    title: str
    caption: str
    alternative: str
    panels: tuple[alt.LayerChart, ...]
    looks: Mapping[str, Style]
    columns: int = 2
    width: int = 340
    section: str = "figures"

    def chart(self) -> alt.ConcatChart:
        """The whole figure as one chart, light on white."""
        whole = alt.concat(*(panel.properties(width=self.width) for panel in self.panels), columns=self.columns)
        whole.config = alt.Config.from_dict(theme.config(self.looks))
        return whole
