"""Experiments: studies of many runs, as data; the runner; and the claims of the paper about them."""

from superarm.experiments.own import study

__all__ = ["study"]
