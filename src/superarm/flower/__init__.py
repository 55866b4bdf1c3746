"""Federated learning with limits on leakage, carried out by Flower: the extra ``flower``.

On the server :class:`BanditStrategy` around any strategy of Flower; on clients :func:`audited_train` and
:func:`answer_profile`: ``docs/federated_learning.md``.
"""

from superarm.flower.client import Task, Trained, answer_profile, audited_train
from superarm.flower.strategy import BanditStrategy, RoundLog

__all__ = ["BanditStrategy", "RoundLog", "audited_train", "answer_profile", "Task", "Trained"]
