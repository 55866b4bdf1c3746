"""Hyperparameters: how and when they are learnt, and the search for the most probable ones."""

from superarm.posteriors.learning.learning import LEARNING, Learning, Learns

__all__ = ["LEARNING", "Learning", "Learns"]
