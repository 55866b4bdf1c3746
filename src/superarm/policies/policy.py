"""The contract of a policy, and how a policy is saved."""

from __future__ import annotations

import inspect
import os
from typing import Any, Protocol, TypeGuard, runtime_checkable

from superarm import storage
from superarm.arguments import Array
from superarm.errors import UnreadableFile, type_of
from superarm.round import Round
from superarm.selection import Selection


@runtime_checkable
class Policy(Protocol):
    """Picks super arms and learns; the loop, the environment and the regret are elsewhere.

    Any object with these two methods is a policy; there is nothing to inherit.
    """

    def select(self, round: Round) -> Selection:
        """Pick a super arm; pure: calling it twice gives the same answer and changes nothing."""
        ...

    def update(self, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn from the outcomes, (k, 2), of ``arms``, (k,), of ``round``; NaN where one never came."""
        ...


@runtime_checkable
class DelayedPolicy(Policy, Protocol):
    """A policy that knows which decisions still wait for outcomes, each by an id.

    A caller that keeps decisions, such as a session, calls ``observed`` instead of ``update``.
    """

    def decided(self, decision: str, round: Round, selection: Selection) -> None:
        """Register a decision: a selection of ``round`` that may be played from now on."""
        ...

    def observed(self, decision: str, round: Round, arms: Any, outcomes: Any) -> None:
        """Learn outcomes of a decision, which was then played; outcomes of an unknown decision are only learnt."""
        ...

    def played(self, decision: str) -> None:
        """Report that a decision was played, even if no outcome comes."""
        ...

    def withdrawn(self, decision: str) -> None:
        """Report that a decision was not played, and never will be."""
        ...

    def expired(self, decision: str) -> None:
        """Stop waiting for outcomes of a decision; they may still come."""
        ...


@runtime_checkable
class RandomisingPolicy(Policy, Protocol):
    """A policy that draws at random and may know its probabilities, so that its log can judge other policies."""

    def probabilities(self, round: Round, arms: Any) -> Array | None:
        """(k,) probability of picking each of ``arms``, (k,); None where it is not known exactly."""
        ...


def minds_decisions(policy: Policy) -> TypeGuard[DelayedPolicy]:
    """Whether a policy is told which decisions are out: like ``isinstance``, in a hundredth of the time."""
    names = ("decided", "observed", "played", "withdrawn", "expired")
    return all(callable(getattr(policy, name, None)) for name in names)


def draws_lots(policy: Policy) -> TypeGuard[RandomisingPolicy]:
    """Whether a policy may know probabilities: like ``isinstance``, in a hundredth of the time."""
    return callable(getattr(policy, "probabilities", None))


class StorablePolicy:
    """A storable dataclass whose fields are the whole state of a policy."""

    def _check_fields(self) -> None:
        """The settings are valid arguments of the constructor."""
        settings = settings_of(self)
        learner = vars(self).get("learner")
        if learner is not None and learner.model is not None:
            settings["posterior"] = None  # the one saved is no prior: it has learnt, and may not fit the declared kinds
        try:
            inspect.signature(type(self)).bind(**settings)
        except TypeError:  # a parameter that no field keeps, and that has no default
            return
        type(self)(**settings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the whole state at ``path``; :func:`superarm.load` continues from there, bit for bit."""
        storage.write(self, path)


def settings_of(policy: Any) -> dict[str, Any]:
    """The fields of a policy, or of its learner, that are named like parameters of its class."""
    state = dict(vars(policy))
    if learner := state.get("learner"):
        state = {**vars(learner), "learn": learner.learning or False, "outcomes": learner.outcomes, **state}
    return {name: state[name] for name in inspect.signature(type(policy)).parameters if name in state}


def load(path: str | os.PathLike[str]) -> Policy:
    """Load a policy saved by its ``save``; it continues as if it had never stopped, bit for bit."""
    return checked_policy(storage.read(path), os.fspath(path))


def checked_policy(value: Any, what: str) -> Policy:
    """``value``, which the file ``what`` holds, refused unless it is a policy."""
    if not isinstance(value, Policy):
        raise UnreadableFile(f"{what}: holds {type_of(value)}, not a policy")
    return value
