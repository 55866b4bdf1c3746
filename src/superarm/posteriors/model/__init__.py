"""A model that takes its shape from the data: scales, smoothness and group effects, each adopted by evidence."""

from superarm.posteriors.model.model import Model
from superarm.posteriors.model.updates import after

__all__ = ["Model", "after"]
