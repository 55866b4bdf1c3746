"""Many small learners: one for every user or shop, on features that all share, decided and taught in batches."""

from superarm.learners.batch import Batch
from superarm.learners.learners import Learners

__all__ = ["Batch", "Learners"]
