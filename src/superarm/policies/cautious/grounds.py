"""The grounds of the cautious policy: certificates, and what was done where there are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from superarm.arguments import Array, IntArray
from superarm.indices import optimism
from superarm.policies.cautious.account import Account
from superarm.policies.cautious.search import Search
from superarm.policies.cautious.start_up import LEAST
from superarm.policies.explanation.known import Known
from superarm.policies.explanation.words import label_text
from superarm.posteriors.posterior import Belief
from superarm.round import Round
from superarm.selection import Kind, Selection, TouchedGroup
from superarm.words import chance, counted, number

NAMED = 5  # most groups named in a sentence


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedGrounds:
    """How the cautious policy judges a round; see ``Grounds`` for the contract."""

    policy: str
    search: Search
    decided: Selection
    account: Account
    seen: int | None  # number of known second outcomes during start-up; None after it
    known: Known
    ask: Callable[[Round], Selection]
    certifies: bool = True

    @property
    def round(self) -> Round:
        return self.search.round

    @property
    def belief(self) -> Belief:
        return self.search.belief

    @property
    def index(self) -> Array:
        return self.search.index

    @property
    def order(self) -> IntArray:
        return self.search.order

    @property
    def eps(self) -> float:
        return self.search.eps

    @cached_property
    def satisfying(self) -> Array:
        """(M,) the bound that the second outcome of each arm alone keeps with the confidence asked for."""
        mean, std = self.belief.mean[:, 1], self.belief.std[:, 1]
        bound: Array = mean - optimism(self.round) * float(ndtri(1.0 - self.eps)) * std
        return bound

    def risks(self, sets: list[IntArray]) -> Array:
        return self.search.judge.each(sets).p_broken

    def touched(self, arms: IntArray) -> tuple[TouchedGroup, ...]:
        return self.search.touched(arms, self.search.judge(arms)).rows()

    def answer(self, round: Round) -> Selection:
        return self.ask(round)

    def why(self, selection: Selection) -> str:
        groups, sure = self.touched(np.sort(selection.arms)), number(1.0 - self.eps)
        start_up = "" if self.seen is None else f"Start-up: {self.seen} of {LEAST} second outcomes are known. "
        if selection.kind is None:
            return "It was not picked by a policy that certifies."
        if selection.kind is Kind.EXPLORING:
            arms = f"The policy plays a few informative arms where promises are least at risk.{_by_word(groups)}"
            if self.seen is not None:
                return f"{start_up}Until then smoothness and scale are not trusted, and nothing is certified. {arms}"
            return f"No super arm worth having keeps every promise with probability {sure} yet. {arms}"
        if selection.kind is Kind.ON_CREDIT:
            return (
                f"{start_up}No super arm keeps every promise with probability {sure}, and exploring would teach "
                "nothing: the policy plays the groups most likely to keep their promise."
            )
        if selection.kind is Kind.TRIAL:
            tried = [g for g in groups if g.probability is not None and 1.0 - g.probability > self.eps]
            names = ", ".join(f"{label_text(g.label)} (breaks with probability {_broken(g)})" for g in tried[:NAMED])
            more = f" and {len(tried) - NAMED} more" if len(tried) > NAMED else ""
            cost = number(math.fsum(1.0 - g.probability for g in tried if g.probability is not None))
            saved, advance = number(self.account.savings), number(self.account.advance)
            return (
                f"{start_up}All groups but those on trial keep their promise with probability {sure}. On trial: {names}"
                f"{more}. The trial costs {cost} expected broken promises; the policy has saved {saved} and may "
                f"borrow up to {advance}."
            )
        if selection.kind is Kind.WAITING:
            some = "until then the policy plays only safe arms" if groups else "until then it picks nothing"
            return f"{start_up}Outcomes of {_named(selection)} must come first: {some}.{_by_word(groups)}"
        if not groups:
            return f"{start_up}Nothing is picked: no certified super arm is worth having. No promise can break."
        promised = [g for g in groups if g.threshold is not None]
        if not promised:
            return f"{start_up}No touched group has a promise."
        return f"{start_up}Every touched group keeps its promise with probability {sure} or more.{_by_word(groups)}"

    def unsought(self, selection: Selection) -> str:
        match selection.kind:
            case Kind.EXPLORING:
                return "this round was not chosen for its value: the policy plays a few arms to learn from them"
            case Kind.ON_CREDIT:
                return "this round was not chosen for its value, but for the promises most likely to be kept"
            case Kind.WAITING:
                return f"outcomes of {_named(selection)} must come first"
            case Kind.TRIAL:
                return "the groups on trial took precedence, or the search did not find it"
            case _:
                return "a certified super arm with it is worth more, but the search, which is not exhaustive, missed it"


def _by_word(groups: tuple[TouchedGroup, ...]) -> str:
    """How many of the groups keep their promise by the user's word, as a sentence to add; empty if none does."""
    vouched = sum(group.vouched for group in groups)
    if not vouched:
        return ""
    return f" In {counted(vouched, 'group')} only safe arms are picked, so the promise is kept by your word."


def _named(selection: Selection) -> str:
    """The decisions that a selection waits for."""
    ids = ", ".join(selection.waits_for)
    return f"earlier decisions ({ids})" if ids else "earlier decisions"


def _broken(group: TouchedGroup) -> str:
    return chance(None if group.probability is None else 1.0 - group.probability)
