"""What a policy knew."""

from __future__ import annotations

from dataclasses import dataclass

from superarm.policies.learner import LearningPolicy
from superarm.posteriors.stateful import StatefulPosterior


@dataclass(frozen=True, kw_only=True)
class Known:
    """What was known when a policy picked.

    Attributes
    ----------
    updates
        number of updates so far
    decisions
        number of decisions with outcomes; None if the policy does not count them (``learn=False``)
    outcomes
        numbers of first and of second outcomes in the posterior; None for a posterior of your own
    believed
        what the model believes and has adopted, line by line, as in ``print(policy)``
    """

    updates: int
    decisions: int | None
    outcomes: tuple[int, int] | None
    believed: tuple[str, ...]

    @classmethod
    def to(cls, policy: LearningPolicy, *more: str) -> Known:
        """What a policy knows now, and further lines."""
        learner = policy.learner
        outcomes = None
        if learner.posterior is None:
            outcomes = 0, 0
        elif isinstance(learner.posterior, StatefulPosterior):
            history = learner.posterior.state.history
            outcomes = history.seen(0), history.seen(1)
        return cls(
            updates=learner.updates,
            decisions=None if learner.model is None else learner.model.decisions,
            outcomes=outcomes,
            believed=(*(line.strip() for line in str(policy).splitlines()[1:]), *more),
        )
