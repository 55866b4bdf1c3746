"""Federated learning in which every client limits what its participation leaks, and measures it.

No framework is needed: a :class:`RequestSelector` says which clients to ask for what, :mod:`audit` measures leakage,
and what an update is worth is a function that you choose. ``docs/federated_learning.md`` says what this is and what it
is not.
"""

from superarm.federated import audit
from superarm.federated.audit import NullCheck, calibrated_scores, membership_advantage, null_check
from superarm.federated.profiles import ClientProfile
from superarm.federated.requests import Menu, Request
from superarm.federated.selector import Outcome, Proposal, RequestSelector
from superarm.federated.updates import Update
from superarm.federated.utilities import DrawnUtility, Utility, leave_one_out, reported, standalone

__all__ = [
    "ClientProfile",
    "Menu",
    "Request",
    "RequestSelector",
    "Proposal",
    "Outcome",
    "audit",
    "calibrated_scores",
    "membership_advantage",
    "null_check",
    "NullCheck",
    "Update",
    "Utility",
    "leave_one_out",
    "standalone",
    "reported",
    "DrawnUtility",
]
