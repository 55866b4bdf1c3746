"""One self-contained page, and the figures as files: what ``superarm report DIR`` writes.

The page needs no network and no server: Vega, Vega-Lite and Vega-Embed stand in it once, as vl-convert bundles them,
and its policy on content forbids to load anything. Equal results give equal bytes (of PDF files: equal drawings);
there is no date in any of them.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from superarm.experiments.claim import Claim
from superarm.experiments.measures import summary
from superarm.experiments.paper import STUDIES
from superarm.report import limits, markup, tables, theme, worlds
from superarm.report.calibration import honesty
from superarm.report.figure import Figure
from superarm.report.figures import figures
from superarm.report.story import story
from superarm.storage import replace_file

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])  # the version that Altair writes
PIXELS = 2.0  # of a PNG for each of the chart
_HOW = "<p>Point at a curve to read every policy at that round. Press policies in the legend to see only those.</p>\n"
_NO_SCRIPT = """<noscript><p class="note">The charts on this page are drawn by JavaScript, which is switched off. The \
same charts are in the folder <code>figures</code> beside this page.</p></noscript>
"""
_CLIP = re.compile(r'((?:id="|url\(#)clip)(\d+)(?=["\)])')


def write_report(
    folder: str | os.PathLike[str],
    frame: pl.DataFrame,
    manifest: Mapping[str, Any],
    claims: Sequence[Claim],
    bounds: pl.DataFrame | None = None,
) -> Path:
    """Write ``report.html`` and ``figures/*.{png,svg,pdf}`` in ``folder``; each file appears whole or not at all.

    ``frame`` has one row per round, ``manifest`` what was run, ``claims`` those of the paper with their verdicts;
    ``bounds`` on the cumulative regret have policy, run, t, quantity ("super-arm regret" or "group regret"), bound.
    """
    folder = Path(folder)
    drawn = (*worlds.figures(frame, manifest), *figures(frame, bounds))
    exported = folder / "figures"
    exported.mkdir(parents=True, exist_ok=True)
    for figure in drawn:
        for suffix, content in export(figure).items():
            replace_file(exported / f"{figure.name}.{suffix}", content)
    path = folder / "report.html"
    replace_file(path, page(frame, manifest, claims, drawn).encode())
    return path


def export(figure: Figure) -> dict[str, bytes]:
    """The figure as the content of a PNG, an SVG and a PDF file, all of the same drawing, light on white.

    Equal figures give equal bytes, except in the PDF: it shows the same, but vl-convert numbers its parts at random.
    """
    # Altair has checked each part already; to check the whole would check every row of the data again.
    svg = vl_convert.vegalite_to_svg(figure.chart().to_dict(validate=False), vl_version=VEGA_LITE)
    # Vega counts clipping paths on from figure to figure; here every figure counts from 0.
    numbers: dict[str, int] = {}
    svg = _CLIP.sub(lambda found: f"{found[1]}{numbers.setdefault(found[2], len(numbers))}", svg)
    return {
        "svg": svg.encode(),
        "png": vl_convert.svg_to_png(svg, scale=PIXELS),
        "pdf": vl_convert.svg_to_pdf(svg),
    }


def page(frame: pl.DataFrame, manifest: Mapping[str, Any], claims: Sequence[Claim], drawn: Sequence[Figure]) -> str:
    """The whole page as HTML."""
    frame = theme.checked(frame)
    looks = theme.styles(frame)
    found = honesty(frame)
    title = str(manifest.get("title") or manifest.get("experiment") or "Results")
    study = STUDIES.get(str(manifest.get("experiment")))
    explanation = study.explanation if study else ""
    believing = {one.policy: looks[one.policy] for one in found}
    charted = markup.legend(believing) if believing else ""
    judged = tables.calibration(found, looks) + charted + _figures(drawn, "calibration")
    charts = {
        f"{f.name}-{n}": _embedded(panel, alone=len(f.panels) == 1) for f in drawn for n, panel in enumerate(f.panels)
    }
    themes = {name: theme.config(looks, dark=name == "dark", page=True) for name in ("light", "dark")}
    table = summary(frame)
    top = "".join(markup.figure(figure) for figure in drawn if figure.name == "tradeoff")
    claimed = markup.part("claims", "Claims of the paper", markup.claims_table(claims))
    claimed = claimed if any(map(markup.is_judged, claims)) else ""
    main = f"""<main>
<section class="top" aria-labelledby="results">
<h2 id="results">Result</h2>
<p class="story">{markup.text(story(frame)).replace(" %", "&nbsp;%")}</p>
{_NO_SCRIPT}{top}{tables.brief(table, looks)}
{markup.overconfident(found)}
</section>
{worlds.section(frame, manifest) or limits.section(frame, manifest) or tables.problems(frame, manifest)}
{markup.part("figures", "Round by round", _HOW + markup.legend(looks) + _figures(drawn, "figures"))}
{markup.part("summary", "All figures by policy", tables.summary(table, looks))}
{markup.part("calibration", "Can the stated probabilities be trusted?", judged)}
{claimed}
{tables.targets(frame, manifest)}
{markup.part("settings", "Settings and versions", markup.settings(manifest))}
</main>"""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data:">
<title>{markup.text(title)} | superarm</title>
<style>
{_packaged("page.css")}</style>
</head>
<body>
<header>
<h1>{markup.name(title)}</h1>
<p class="lead">{markup.text(explanation)}</p>
{markup.facts(manifest)}
{markup.notices(frame, manifest)}
</header>
{main}
<footer>Written by <code>superarm report</code> from <code>results.parquet</code> and <code>manifest.json</code>. \
Equal results give an equal page.</footer>
<script type="application/json" id="charts">{_json(charts)}</script>
<script type="application/json" id="themes">{_json(themes)}</script>
<script>
{_bundle()}
</script>
<script>
{_packaged("page.js")}</script>
</body>
</html>
"""


def _figures(drawn: Sequence[Figure], section: str) -> str:
    """The places of a section's figures, but for the one at the top of the page."""
    return "".join(markup.figure(figure) for figure in drawn if figure.section == section and figure.name != "tradeoff")


def _embedded(panel: Any, *, alone: bool) -> dict[str, Any]:
    """A panel's specification for the page: as wide as its place; ``alone``, it needs no title but its figure's."""
    spec: dict[str, Any] = panel.properties(width="container").to_dict(validate=False)
    for key in ("$schema", "config", "title") if alone else ("$schema", "config"):
        spec.pop(key, None)
    for layer in spec["layer"]:
        for channel in {"color", "strokeDash"} & layer.get("encoding", {}).keys():
            layer["encoding"][channel]["legend"] = None  # the one above serves all charts of its part
    return spec | {"autosize": {"type": "fit-x", "contains": "padding"}}


def _json(value: Any) -> str:
    """JSON that no HTML parser takes for a tag."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@functools.cache
def _bundle() -> str:
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)


def _packaged(name: str) -> str:
    return resources.files("superarm.report").joinpath(name).read_text(encoding="utf-8")
