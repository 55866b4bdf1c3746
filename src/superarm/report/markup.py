"""The parts of the page as HTML; whatever comes from a file is escaped."""

# ruff: noqa: RUF001  # true signs: dashes, ×, α

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from superarm.experiments.claim import TOO_SMALL, UNKNOWN, Claim
from superarm.experiments.experiment import DataKind
from superarm.report.calibration import WHAT_TO_DO, Honesty, warnings
from superarm.report.figure import Figure
from superarm.report.theme import TURNING, Style

# word of the verdict: its icon and its class in the style sheet
VERDICTS = {
    "holds": ("✓", "holds"),
    "holds with a remark": ("≈", "remark"),
    "does not hold": ("✗", "fails"),
    "met": ("✓", "holds"),
    "not met": ("✗", "fails"),
    "shown": ("≈", "remark"),
    "not shown": ("–", "unmeasured"),
    "not judged": ("–", "unmeasured"),
    "not measured": ("–", "unmeasured"),
}


def text(value: object) -> str:
    """The value, escaped, without signs that turn the direction of what follows."""
    return html.escape(re.sub(TURNING, "\ufffd", str(value)))


def name(policy: str) -> str:
    """The name of a policy, whose direction of writing leaves that of the text around it alone."""
    return f"<bdi>{text(policy)}</bdi>"


def facts(manifest: Mapping[str, Any]) -> str:
    """The line under the title: how much was run, and on what."""
    said = [
        f"{manifest[key]} {key.removesuffix('s') if manifest[key] == 1 else key}"
        for key in ("runs", "rounds")
        if manifest.get(key) is not None
    ]
    said += [f"seed {manifest['seed']}"] if manifest.get("seed") is not None else []
    said += [f"data: {manifest['data']}"] if manifest.get("data") else []
    return '<p class="facts">' + "".join(f"<span>{text(part)}</span>" for part in said) + "</p>"


def notices(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """Banners: data that are not the paper's, runs that are missing or not finished."""
    said = []
    data = str(manifest.get("data") or "")
    kind = manifest.get("data_kind")
    if kind == DataKind.SYNTHETIC:
        said.append(
            f"<strong>Synthetic data.</strong> {text(data)}. The figures below say nothing about the real data."
        )
    elif kind == DataKind.OTHER:
        said.append(
            f"<strong>Not the paper's data.</strong> Used here: {text(data)}. So figures may differ from the paper's."
        )
    runs, rounds, policies = manifest.get("runs"), manifest.get("rounds"), manifest.get("policies")
    if isinstance(runs, int) and isinstance(rounds, int) and policies:
        expected = runs * rounds * len(policies)
        if frame.height < expected:
            said.append(
                f"<strong>Not complete.</strong> {frame.height:,} of {expected:,} rounds are there; "
                "a mean is over the runs that have reached the round."
            )
    return "\n".join(f'<p class="note" role="note">{part}</p>' for part in said)


def overconfident(found: Sequence[Honesty]) -> str:
    """A banner on policies that were surer than they should have been; nothing where none was."""
    wrong = warnings(found)
    return (
        f'<p class="note" role="note"><strong>Overconfident.</strong> {text(" ".join(wrong))} {text(WHAT_TO_DO)} '
        'See <a href="#calibration">whether the stated probabilities can be trusted</a>.</p>'
        if wrong
        else ""
    )


def swatch(style: Style) -> str:
    """A short piece of the policy's line."""
    dash = " ".join(map(str, style.dash))
    lines = "".join(
        f'<line class="{scheme}" x1="0" y1="6" x2="32" y2="6" '
        f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/>'
        for scheme, colour in (("light", style.light), ("dark", style.dark))
    )
    return f'<svg class="swatch" viewBox="0 0 32 12" aria-hidden="true">{lines}</svg>'


def legend(looks: Mapping[str, Style]) -> str:
    """The legend of a part's charts; its buttons isolate policies, in all parts at once."""
    buttons = "\n".join(
        f'<button type="button" data-policy="{text(policy)}" aria-pressed="false">'
        f"{swatch(style)}{name(policy)}</button>"
        for policy, style in looks.items()
    )
    return (
        f'<div class="legend" role="group" aria-label="Show only these policies">\n{buttons}\n'
        '<button type="button" class="all" hidden>Show all</button>\n</div>'
    )


def part(place: str, title: str, body: str) -> str:
    """A part of the page that is folded under its heading until a reader opens it."""
    return f'<details class="part"><summary><h2 id="{place}">{title}</h2></summary>\n{body}\n</details>'


def figure(drawn: Figure, beneath: str = "") -> str:
    """A figure's place: its panels are drawn when the page is opened; ``beneath`` is a table of its numbers."""
    places = "".join(
        f'<div class="panel" id="{drawn.name}-{place}"><div></div></div>' for place in range(len(drawn.panels))
    )
    files = ", ".join(
        f'<a href="figures/{drawn.name}.{suffix}">{suffix.upper()}</a>' for suffix in ("png", "svg", "pdf")
    )
    return (
        f'<figure id="{drawn.name}" aria-labelledby="{drawn.name}-title">\n'
        f'<h3 id="{drawn.name}-title">{text(drawn.title)}</h3>\n'
        f'<div class="panels" style="--columns: {min(drawn.columns, len(drawn.panels))}" role="img" '
        f'aria-label="{text(drawn.alternative)}">{places}</div>\n{beneath}'
        f'<figcaption>{text(drawn.caption)}<span class="files">As a file beside this page: {files}</span>'
        "</figcaption>\n</figure>\n"
    )


def is_judged(claim: Claim) -> bool:
    """Whether the results say anything of a claim."""
    return claim.verdict not in (UNKNOWN, TOO_SMALL)


def claims_table(claims: Sequence[Claim], *, about: str = "Claims of the paper", against: str = "Paper") -> str:
    """The claims with their verdicts, in icons and words; ``against`` is what the measured figure stands beside."""
    counted = Counter(claim.verdict for claim in claims)
    tally = "; ".join(
        f"{verdict}: {counted[verdict]}"
        for verdict in (*VERDICTS, *sorted(counted.keys() - VERDICTS))
        if counted[verdict]
    )
    heads = ("Claim", against, "Measured here", "Verdict", "Remark")
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    body = []
    for claim in claims:
        icon, kind = VERDICTS.get(claim.verdict, ("?", "unmeasured"))
        body.append(
            f'<tr><th scope="row">{text(claim.claim)}</th><td>{text(claim.expected)}</td>'
            f"<td>{_signed(claim.measured)}</td>"
            f'<td class="verdict {kind}"><span class="icon" aria-hidden="true">{icon}</span>{text(claim.verdict)}</td>'
            f"<td>{_signed(claim.remark)}</td></tr>"
        )
    table = f'<table class="claims"><thead><tr>{head}</tr></thead>'
    return f"<p>{text(tally.capitalize())}.</p>" + scrolling(about, table, body)


def _signed(sentence: str) -> str:
    """The sentence, escaped, with true minus signs before its numbers, as everywhere on the page."""
    return re.sub(r"(?<![^\s(])-(?=\d)", "−", text(sentence))


def settings(manifest: Mapping[str, Any]) -> str:
    """Every constant of the run, then the versions that ran it."""
    versions = {**(manifest.get("versions") or {}), "commit": manifest.get("commit") or "not known"}
    parts = []
    for kind, values in (("Constants", manifest.get("settings") or {}), ("Versions", versions)):
        body = [f'<tr><th scope="row">{text(key)}</th><td>{text(value)}</td></tr>' for key, value in _flat(values)]
        table = '<table class="settings"><thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead>'
        parts.append(f"<h3>{kind}</h3>\n" + scrolling(kind, table, body))
    return "\n".join(parts)


def scrolling(about: str, head: str, body: Sequence[str]) -> str:
    """A table that scrolls sideways on a narrow screen, by keyboard too."""
    rows = "\n".join(body)
    place = f'<div class="scroll" role="region" tabindex="0" aria-label="{about}">'
    return f"{place}{head}<tbody>\n{rows}\n</tbody></table></div>"


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested settings as rows: "kernel › lengthscale", 1.0."""
    for key, value in values.items():
        full = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{full} › ")
        elif isinstance(value, (list, tuple)):
            yield full, ", ".join(map(str, value))
        else:
            yield full, "none" if value is None else str(value)
