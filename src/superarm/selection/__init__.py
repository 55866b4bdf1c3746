"""What a policy or an oracle answers: a super arm with its certificate, what happened, and the groups it touches."""

from superarm.selection.selection import EXACT, Selection, is_proved
from superarm.selection.status import Kind, Status
from superarm.selection.touched import TouchedGroup, TouchedGroups, UntriedGroup

__all__ = [
    "EXACT",
    "Kind",
    "Selection",
    "Status",
    "TouchedGroup",
    "TouchedGroups",
    "UntriedGroup",
    "is_proved",
]
