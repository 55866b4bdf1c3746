"""superarm: pick a set of items every round, learn from noisy feedback, and keep promises to groups.

The names follow one round from top to bottom: what a policy is told, what it believes, its indices, the oracles, the
policies, and the suites that check an implementation of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from superarm import errors
from superarm.checks.environment import check_environment
from superarm.checks.oracle import check_oracle
from superarm.checks.policy import check_policy
from superarm.checks.posterior import check_posterior
from superarm.checks.rewards import check_group_reward, check_reward
from superarm.feasible import AtMost, Exactly, WholeGroups
from superarm.indices import Indices, beta, double_ucb
from superarm.kernels.categories import Categories
from superarm.kernels.linear import Linear
from superarm.kernels.stationary import Laplacian, Matern12, Matern32, Matern52, RationalQuadratic, SquaredExponential
from superarm.learners.learners import Learners
from superarm.oracles.automatic import Automatic
from superarm.oracles.decomposition.decomposition import Decomposition
from superarm.oracles.exhaustive import Exhaustive
from superarm.oracles.good_subgroups import GoodSubgroups
from superarm.oracles.greedy import Greedy
from superarm.oracles.milp.milp import MILP
from superarm.oracles.whole_groups import BestWholeGroups
from superarm.places.place import Place
from superarm.policies.baselines.acc_ucb import ACCUCB
from superarm.policies.baselines.cc_mab import CCMAB
from superarm.policies.baselines.cucb import CUCB
from superarm.policies.baselines.gp_ucb import CGPUCB, OCLOKUCB
from superarm.policies.baselines.reference import Clairvoyant, Uniform
from superarm.policies.baselines.rule import Rule
from superarm.policies.cautious.cautious_tcgp_ucb import CautiousTCGPUCB
from superarm.policies.policy import load
from superarm.policies.tcgp_ts import TCGPTS
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.engines.inducing import GreedyVariance, RandomSubset
from superarm.posteriors.gaussian_process import ExactPosterior, GaussianProcess, SparsePosterior
from superarm.posteriors.learning import Learning
from superarm.posteriors.outputs import Coregionalised, Independent
from superarm.posteriors.posterior import Belief
from superarm.rewards import normal_forms
from superarm.rewards.custom import Custom
from superarm.rewards.dixit_stiglitz import DixitStiglitz
from superarm.rewards.group_reward import Comparable, Constraint, Sense, tolerance
from superarm.rewards.reward import TransformedSum
from superarm.rewards.simple import Count, Max, Mean, Min, Sum, Variance
from superarm.round import Outcomes, Round
from superarm.selection import Kind, Selection, Status, TouchedGroup, UntriedGroup
from superarm.sessions.check_store import check_store
from superarm.sessions.decision import Decision
from superarm.sessions.session import Session
from superarm.storage import storable
from superarm.version import __version__
from superarm.workers.connect import connect
from superarm.workers.workers import Workers

if TYPE_CHECKING:
    from superarm import calibration, datasets, environments, experiments, federated, theory
    from superarm.client.asynchronous import AsyncClient
    from superarm.client.client import Client
    from superarm.comparison import compare, run
    from superarm.logs.entry import LogEntry
    from superarm.logs.log import Log
    from superarm.logs.replay import replay
    from superarm.sharding.catalogue import Catalogue
    from superarm.sharding.decide import decide
    from superarm.sharding.fit_log import fit_log
    from superarm.sharding.picked import ShardedSelection
    from superarm.sharding.round import ShardedRound
    from superarm.sharding.select import select, update
    from superarm.simulation import simulate


# The world around a round is imported when it is first asked for: playing a round needs neither frames nor plots.
_LATER = {
    "simulate": "superarm.simulation:simulate",
    "Client": "superarm.client.client:Client",
    "AsyncClient": "superarm.client.asynchronous:AsyncClient",
    "compare": "superarm.comparison:compare",
    "Catalogue": "superarm.sharding.catalogue:Catalogue",
    "ShardedRound": "superarm.sharding.round:ShardedRound",
    "fit_log": "superarm.sharding.fit_log:fit_log",
    "ShardedSelection": "superarm.sharding.picked:ShardedSelection",
    "select": "superarm.sharding.select:select",
    "update": "superarm.sharding.select:update",
    "Log": "superarm.logs.log:Log",
    "LogEntry": "superarm.logs.entry:LogEntry",
    "replay": "superarm.logs.replay:replay",
    "run": "superarm.comparison:run",
    "decide": "superarm.sharding.decide:decide",
    "environments": "superarm.environments",
    "datasets": "superarm.datasets",
    "experiments": "superarm.experiments",
    "theory": "superarm.theory",
    "calibration": "superarm.calibration",
    "federated": "superarm.federated",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, member = _LATER[name].partition(":")
    found = import_module(module)
    return getattr(found, member) if member else found


def __dir__() -> list[str]:
    # Completion finds what is not loaded yet, and nothing that is only used here.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "Round",
    "Outcomes",
    "AtMost",
    "Exactly",
    "WholeGroups",
    "Sum",
    "Mean",
    "Min",
    "Max",
    "Count",
    "Variance",
    "DixitStiglitz",
    "Custom",
    "TransformedSum",
    "Constraint",
    "Comparable",
    "Sense",
    "normal_forms",
    "tolerance",
    "SquaredExponential",
    "Matern12",
    "Matern32",
    "Matern52",
    "Laplacian",
    "Linear",
    "RationalQuadratic",
    "Categories",
    "Independent",
    "Coregionalised",
    "GaussianProcess",
    "ExactPosterior",
    "SparsePosterior",
    "RandomSubset",
    "GreedyVariance",
    "Belief",
    "Learning",
    "Indices",
    "beta",
    "double_ucb",
    "GoodSubgroups",
    "TouchedGroup",
    "UntriedGroup",
    "Selection",
    "Status",
    "Kind",
    "Automatic",
    "Decomposition",
    "BestWholeGroups",
    "MILP",
    "Exhaustive",
    "Greedy",
    "TCGPUCB",
    "CautiousTCGPUCB",
    "OCLOKUCB",
    "CGPUCB",
    "TCGPTS",
    "ACCUCB",
    "CCMAB",
    "CUCB",
    "Uniform",
    "Rule",
    "Clairvoyant",
    "load",
    "storable",
    "connect",
    "Workers",
    "Place",
    "Session",
    "Decision",
    "Learners",
    "Client",
    "AsyncClient",
    "Catalogue",
    "fit_log",
    "ShardedRound",
    "ShardedSelection",
    "select",
    "update",
    "decide",
    "simulate",
    "compare",
    "Log",
    "LogEntry",
    "replay",
    "run",
    "environments",
    "datasets",
    "experiments",
    "theory",
    "calibration",
    "federated",
    "check_reward",
    "check_group_reward",
    "check_posterior",
    "check_oracle",
    "check_policy",
    "check_environment",
    "check_store",
    "errors",
    "__version__",
]
