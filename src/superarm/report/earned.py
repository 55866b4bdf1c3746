"""What a page shows as reward: a share of the clairvoyant's, or the reward itself where that share means nothing."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

WHY_NO_SHARE = "The clairvoyant earns nothing above 0 here, so rewards are sums over a run, not shares of its reward."


@dataclass(frozen=True, kw_only=True)
class Earned:
    """The columns of the summary that hold the reward and its spread over the runs."""

    column: str
    spread: str
    is_share: bool


SHARE = Earned(column="reward_ratio_pooled", spread="reward_ratio_spread", is_share=True)
SUM = Earned(column="reward_mean", spread="reward_std", is_share=False)


def earned(table: pl.DataFrame) -> Earned:
    """What to show of a summary: of less than nothing a larger share would be worse, so there sums take its place."""
    return SUM if table["reward_ratio_pooled"].is_null().all() else SHARE
