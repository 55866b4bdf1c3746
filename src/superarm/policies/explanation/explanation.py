"""An explanation of one selection: what it holds, as text, as plain data and as a picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from superarm.policies.explanation import picture, text
from superarm.policies.explanation.arms import PickedArm
from superarm.policies.explanation.groups import ExplainedGroup
from superarm.policies.explanation.known import Known
from superarm.policies.explanation.runners_up import RunnerUp
from superarm.policies.explanation.words import as_json
from superarm.selection import Kind, Status
from superarm.words import counted

if TYPE_CHECKING:
    import altair as alt

VERSION = 1  # of what to_dict returns


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Why a policy picked a super arm; ``print`` it, ask for ``to_dict()``, or ``plot()`` it.

    Attributes
    ----------
    policy, t
        the class of the policy and the number of the round
    kind, status
        kind and status of the selection, when it was picked
    why
        why the policy made a selection of this kind, in a sentence or two
    value, upper_bound
        u of the selection at the index, and an upper bound on u of every allowed super arm; infinite if ``same`` is
        False, because the bound of the selection is about earlier beliefs
    same
        whether the policy would make the same selection now, with the same beliefs; if not, all figures show what it
        believes now
    arms
        the picked arms, largest index first
    groups
        the touched groups, smallest margin first
    runners_up
        the arms, or whole groups, with the largest index among those that were not picked
    known
        what the policy knew
    most
        largest number of arms with a replacement, of groups with a price, and of runners-up
    """

    policy: str
    t: int
    kind: Kind | None
    status: Status
    why: str
    value: float
    upper_bound: float
    same: bool
    arms: tuple[PickedArm, ...]
    groups: tuple[ExplainedGroup, ...]
    runners_up: tuple[RunnerUp, ...]
    known: Known
    most: int

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON data: numbers, text, lists and dicts, None for what is not known or not finite.

        Labels and identities that JSON does not know (dates, bytes, ...) are text, and tuples are lists.
        """
        return {"version": VERSION, **as_json(self)}

    def plot(self) -> alt.VConcatChart:
        """A picture: what arms are worth, how promises stand, and what they cost; for notebooks, or ``.save``."""
        return picture.picture(
            self._head(), self.arms, self.groups, self.runners_up, self.most, priced=text.unpriced(self.kind) is None
        )

    def group(self, label: Hashable) -> ExplainedGroup | None:
        """The touched group of this label; None where it is not touched."""
        return next((group for group in self.groups if group.label == label), None)

    def _head(self) -> str:
        return f"{self.policy}, round {self.t}" + ("" if self.kind is None else f", {self.kind.name}")

    def __str__(self) -> str:
        kind = "" if self.kind is None else f", {self.kind.name}"
        worth = f"value {self.value:.4g} of at most {self.upper_bound:.4g} ({self.status.name}{kind})"
        if not self.same:
            worth = f"value {self.value:.4g} as believed now"
        head = f"{self.policy}, round {self.t}: {counted(len(self.arms), 'arm')}, {worth}"
        unpriced = text.unpriced(self.kind)
        return "\n".join(
            [
                head,
                *text.wrapped(self.why),
                *([] if self.same else text.wrapped(OTHER)),
                *text.picked(self.arms, self.most),
                *text.touched(self.groups, self.most, unpriced),
                *text.not_picked(self.runners_up, unpriced),
                *text.known(self.known, "then" if self.same else "now"),
            ]
        )

    def __repr__(self) -> str:
        return str(self)


OTHER = (
    "Note: the policy would not make this selection now. It has learnt since, or the policy or the round is a "
    "different one. All figures show what it believes now."
)
