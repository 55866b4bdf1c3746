"""Slim rounds as the journal keeps them: the picked arms, and what is known of all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from superarm.posteriors.model.decisions import checksum_of
from superarm.posteriors.model.features import Features
from superarm.round import Round
from superarm.slim import Excerpt, SlimRound, Whole, with_arms
from superarm.wire import packing, rounds
from superarm.wire.contexts import rows_of

MOMENTS = ("mean", "squares", "low", "high")


def slim_content(round: Round, arms: tuple[int, ...]) -> bytes:
    """A round of at least one arm as few bytes, with some of its arms only."""
    features = Features.of_round(round)
    picked = np.array(arms or (0,), dtype=np.intp)  # where none was, one stands for all
    slim = rounds.document(with_arms(round, picked))
    kept = {"size": len(round), "picked": picked.astype(np.int64)}
    kept |= {"contexts": rows_of(slim.pop("contexts"), picked), "arm_ids": _rows(slim.pop("arm_ids"), picked)}
    whole = {"digest": round.digest(), "checksum": checksum_of(round)}
    whole |= {name: getattr(features, name) for name in MOMENTS}
    return packing.pack(slim | {"slim": kept, "whole": whole})


def slim_round(document: Mapping[str, Any]) -> SlimRound:
    """The round of such a document."""
    said = dict(document)
    kept, whole = said.pop("slim"), said.pop("whole")
    place = np.zeros(kept["size"], dtype=np.intp)
    place[kept["picked"]] = np.arange(len(kept["picked"]))
    full = {"contexts": rows_of(kept["contexts"], place), "arm_ids": _rows(kept["arm_ids"], place)}
    return SlimRound.of(rounds.round_from_dict(said | full), Whole(**whole))


def excerpt_document(round: Excerpt) -> dict[str, Any]:
    """What an excerpt has beside a round."""
    whole = {each.name: getattr(round.whole, each.name) for each in fields(Whole)}
    return {"whole": whole, "catalogue": round.catalogue, "rows": round.rows.astype(np.int64)}


def excerpt_round(round: Round, document: Mapping[str, Any]) -> Excerpt:
    """A round as the excerpt that it is."""
    given = {each.name: getattr(round, each.name) for each in fields(Round) if each.init}
    rows = np.array(document["rows"], dtype=np.intp)
    return Excerpt(**given, whole=Whole(**document["whole"]), catalogue=document["catalogue"], rows=rows)


def _rows(values: Any, places: Any) -> Any:
    """Ids of some of the arms, if any."""
    if values is None:
        return None
    return values[places] if isinstance(values, np.ndarray) else [values[place] for place in places.tolist()]
