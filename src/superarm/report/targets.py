"""What the cautious policy is meant to reach, on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from superarm.experiments.claims import UNKNOWN
from superarm.experiments.experiment import DataKind
from superarm.experiments.promises import evaluate
from superarm.report import markup


def section(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> str:
    """The targets with their verdicts; nothing where none was measured."""
    found = evaluate(frame, synthetic=manifest.get("data_kind") == DataKind.SYNTHETIC)
    if all(target.verdict == UNKNOWN for target in found):
        return ""
    return f"""<section aria-labelledby="targets">
<h2 id="targets">Targets of the cautious policy</h2>
{markup.claims_table(found, name="Targets of the cautious policy", against="Target")}
</section>"""
