"""A model that takes its shape from the data: scales, smoothness and group effects, each adopted by evidence."""

from superarm.posteriors.model.model import Model

__all__ = ["Model"]
