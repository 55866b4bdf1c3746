"""Environments: where rounds come from, and the truth behind them."""

from superarm.environments.environment import Environment
from superarm.environments.federated import Federated
from superarm.environments.gp_sample import GPSample
from superarm.environments.movies import Movies
from superarm.environments.random_problem import RandomProblem
from superarm.environments.shops import Shops
from superarm.environments.simulator import Simulator
from superarm.environments.wrong import WrongWorld

__all__ = ["Environment", "Federated", "GPSample", "Movies", "RandomProblem", "Shops", "Simulator", "WrongWorld"]
