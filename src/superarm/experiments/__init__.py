"""Experiments: studies of many runs, as data; the runner; and what the paper claims of them."""

from superarm.experiments.own import study

__all__ = ["study"]
