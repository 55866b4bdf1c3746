"""Users' own studies: any policies on any environment, run like the studies of the paper."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from superarm.arguments import weight, whole_number
from superarm.environments.environment import Environment
from superarm.errors import InvalidArgument, SuperarmError, has_repr, safe_repr
from superarm.experiments.experiment import BENCHMARK, Experiment, Maker, Setting, named
from superarm.experiments.fingerprint import fingerprint
from superarm.experiments.names import checked_apart, checked_policy, checked_study, checked_title
from superarm.policies.baselines.acc_ucb import ACCUCB
from superarm.policies.baselines.cc_mab import CCMAB
from superarm.policies.baselines.cucb import CUCB
from superarm.policies.baselines.gp_ucb import CGPUCB, OCLOKUCB
from superarm.policies.baselines.reference import Clairvoyant, Uniform
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import Policy
from superarm.policies.tcgp_ts import TCGPTS
from superarm.policies.tcgp_ucb import TCGPUCB

# Policies by name, without prior knowledge.
BY_NAME: dict[str, Maker] = {
    "cautious": lambda s, confidence=0.99: CautiousTCGPUCB(confidence=confidence, seed=s.seed),
    "tcgp-ucb": lambda s, zeta=0.5, beta_scale=1.0: TCGPUCB(zeta=zeta, beta_scale=beta_scale, seed=s.seed),
    "tcgp-ucb-batch": lambda s, zeta=0.5: TCGPUCB(zeta=zeta, batch_aware=True, seed=s.seed),
    "tcgp-ts": lambda s: TCGPTS(seed=s.seed),
    "oclok-ucb": lambda s: OCLOKUCB(seed=s.seed),
    "cgp-ucb": lambda s: CGPUCB(seed=s.seed),
    "acc-ucb": lambda s: ACCUCB(horizon=s.rounds, seed=s.seed),
    "cc-mab": lambda s: CCMAB(horizon=s.rounds, seed=s.seed),
    "cucb": lambda s: CUCB(seed=s.seed),
    "uniform": lambda s: Uniform(seed=s.seed),
    BENCHMARK: lambda s: Clairvoyant(s.environment),
}

LINE = 200  # most characters of a description in the manifest
READ = "study in "  # begins the name of a module that exists only while a file is read for its study

Made = Callable[..., Any] | Policy | str
World = Environment | Callable[..., Environment]


def study(
    policies: Mapping[str, Made],
    environment: World,
    *,
    rounds: int,
    runs: int = 5,
    zeta: float = 0.5,
    name: str = "own",
    title: str | None = None,
) -> Experiment:
    """Define your own study, for :func:`superarm.compare` and ``superarm run study.py``.

    Parameters
    ----------
    policies
        a mapping from names that you choose to policies. Each is a class or function that makes a policy for every run,
        from the run's seed or without arguments; or a policy, which is copied for every run; or the name of a policy of
        superarm that needs no prior knowledge, with settings if you like ("cautious confidence=0.95").
        The clairvoyant is always added, because rewards are relative to its reward.
    environment
        an environment, of which every policy gets its own copy in every run; or a function that makes one from the
        run's seed, which is called for every policy and run
    rounds, runs
        number of rounds in a run, and number of runs
    zeta
        weight of the group regret in the total regret
    name, title
        a word for columns and folders, other than the names of superarm's studies, and a line for people

    >>> import superarm as sa
    >>> own = sa.experiments.study({"mine": sa.Uniform, "theirs": "cautious"}, sa.environments.Federated(), rounds=10)
    >>> list(own.policies), own.runs
    (['mine', 'theirs', 'clairvoyant'], 5)
    """
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidArgument(
            "policies", "a mapping from names to policies, or to functions that make them", safe_repr(policies)
        )
    rounds, runs = whole_number("rounds", rounds, 1), whole_number("runs", runs, 1)
    zeta = weight("zeta", zeta)
    name, title = checked_study(name), checked_title(title)
    makers: dict[str, Maker] = {}
    checked_apart(policies)
    for each, made in policies.items():
        if checked_policy(each) == BENCHMARK and made != BENCHMARK:
            raise InvalidArgument("policies", f"another name than {BENCHMARK}, which every study has", safe_repr(each))
        makers[each] = (
            named(made, BY_NAME)[1] if isinstance(made, str) else partial(_policy, each, _checked(each, made))
        )
    makers[BENCHMARK] = BY_NAME[BENCHMARK]
    world = partial(_environment, environment)
    trial = Setting(rounds=rounds, seed=0, environment=world(0))
    for each, make in makers.items():
        # What cannot be made is refused now, not in the midst of a run, and so is what would learn in all of them.
        first, again = make(trial), make(trial)
        if first is again and first is not policies.get(each):  # an object that is its own copy has no state
            expected = f"for {each} a function that makes a new policy whenever it is called, or the policy itself"
            raise InvalidArgument("policies", expected, "the same one again")
    return Experiment(
        name=name,
        title=title or "A comparison of " + ", ".join(policies),
        environment=world,
        policies=makers,
        rounds=rounds,
        runs=runs,
        zeta=zeta,
        settings={
            "environment": _described(environment),
            **{f"policy {each}": _described(made) for each, made in policies.items()},
        },
    )


def study_in(place: str) -> Experiment:
    """The study that a file or a module holds: ``study.py``, ``study.py:name`` or ``module:name``; name: ``study``."""
    where, _, name = place.partition(":")
    module = _module(where)
    found = getattr(module, name or "study", None)
    if not isinstance(found, Experiment):
        raise InvalidArgument(
            "study", f"{name or 'study'} = superarm.experiments.study(...) in {where}", safe_repr(found)
        )
    return found


def refuse_while_read() -> None:
    """Refuse to play while a file is read for its study: `superarm run` plays what the file defines."""
    file = next((name.removeprefix(READ) for name in [*sys.modules] if name.startswith(READ)), None)
    if file is not None:
        expected = "a file that defines study = superarm.experiments.study(...) and plays nothing while it is read"
        came = f"{file}, which plays policies: run it with 'python {file}', or play under 'if __name__ == \"__main__\"'"
        raise InvalidArgument("study", expected, came)


def _module(where: str) -> ModuleType:
    path = Path(where)
    if path.suffix != ".py":
        if not all(part.isidentifier() for part in where.split(".")):
            raise InvalidArgument("study", "a file such as study.py, or a module such as package.module", repr(where))
        try:
            return importlib.import_module(where)
        except ImportError as error:
            raise InvalidArgument(
                "study", "a name that 'superarm list' shows, a file or a module", str(error)
            ) from None
    if not path.is_file():
        raise InvalidArgument("study", "a file", f"{where}, which does not exist")
    spec = importlib.util.spec_from_file_location(READ + path.name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    beside = str(path.absolute().parent)
    if beside not in sys.path:
        sys.path.insert(0, beside)  # as Python does for the file that it runs; workers take it over
    sys.modules[module.__name__] = module  # dataclasses look it up there
    try:
        spec.loader.exec_module(module)
    except SuperarmError:
        raise
    except Exception as error:  # of anybody's code: where it is counts, not the frames that led to the file
        came = f"{where}, line {_line_of(error, path)}: {type(error).__name__}: {error}"
        raise InvalidArgument("study", "a file that runs", came) from error
    finally:
        # Workers could not import it; classes of a module that cannot be found are sent to them by value.
        del sys.modules[module.__name__]
    return module


def _line_of(error: Exception, path: Path) -> int | None:
    """The line of a file at which it failed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)


def _checked(name: str, made: Made) -> Callable[..., Any]:
    if isinstance(made, Policy) and not isinstance(made, type):
        return partial(_copy, "policies", f"for {name} an object that can be copied, or a class that makes one", made)
    if not isinstance(made, str) and callable(made):
        if _parameters(made) == ["round"]:  # a rule where a maker belongs, and a seed is no round
            expected = f"a policy for {name}: superarm.Rule makes one from a function of the round"
            raise InvalidArgument("policies", expected, safe_repr(made))
        return made
    expected = f"for {name} a policy, a function that makes one (lambda seed: CautiousTCGPUCB(seed=seed)), or a name"
    raise InvalidArgument("policies", expected, safe_repr(made))


def _policy(name: str, make: Callable[..., Any], setting: Setting) -> Policy:
    found = _called(f"policies: {name}", make, setting.seed)
    if not isinstance(found, Policy) or isinstance(found, type):
        expected = f"an object with select and update from {name}; superarm.Rule makes one from a function of the round"
        raise InvalidArgument("policies", expected, safe_repr(found))
    return found


def _environment(environment: World, seed: int) -> Environment:
    if isinstance(environment, Environment) and not isinstance(environment, type):
        expected = "an object that can be copied, or a function of a seed that makes one"
        copied: Environment = _copy("environment", expected, environment)
        return copied
    if not callable(environment):
        expected = "an object with rounds, expected_outcomes and outcomes, or a function of a seed that makes one"
        raise InvalidArgument("environment", expected, safe_repr(environment))
    found = _called("environment", environment, seed)
    if not isinstance(found, Environment) or isinstance(found, type):
        expected = "a function that makes an object with rounds, expected_outcomes and outcomes"
        raise InvalidArgument("environment", expected, safe_repr(found))
    return found


def _copy(argument: str, expected: str, thing: Any) -> Any:
    """A copy, because it may draw from its own generator, or count rounds, and affect the next run."""
    try:
        return copy.deepcopy(thing)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(argument, expected, f"{safe_repr(thing)} ({error})") from error


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _called(argument: str, make: Callable[..., Any], seed: int) -> Any:
    """The result of ``make``, called with the seed if it takes one."""
    try:
        parameters = inspect.signature(make).parameters
    except (TypeError, ValueError):
        parameters = inspect.signature(lambda: None).parameters
    if "seed" in parameters and parameters["seed"].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return make(seed=seed)
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters.values() if each.default is each.empty and each.kind in positional]
    if len(needed) > 1:
        raise InvalidArgument(
            argument, "a callable with at most one argument, the seed", f"one that needs {len(needed)} arguments"
        )
    if needed and isinstance(make, type):  # its parameter is no seed by chance
        raise InvalidArgument(
            argument, "a class that needs no arguments, or only seed", f"one that needs {needed[0].name}"
        )
    return make(seed) if needed else make()


def _described(made: Any) -> str:
    """A description with a fingerprint of the code: a folder of results is not continued with other code."""
    if isinstance(made, str):
        return made
    plain = made if isinstance(made, type) or inspect.isroutine(made) else type(made)
    words = f"{plain.__module__}.{plain.__qualname__}"
    if plain is not made and has_repr(made):
        text = safe_repr(made)
        # Addresses and the order of sets differ in every process, and a table does not fit on a line.
        words = words if len(text) > LINE or any(sign in text for sign in (" at 0x", "{", "\n")) else text
    return f"{words}, content {fingerprint(made)}"
