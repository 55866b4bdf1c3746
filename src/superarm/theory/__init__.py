"""Theory: information gain, lambda*, the regret bounds of Theorem 1 and the rates of the corollary (section 4).

>>> import numpy as np, superarm as sa
>>> from superarm import theory
>>> grid = np.linspace(0, 1, 100)[:, None]
>>> gain = theory.greedy_information_gain(sa.SquaredExponential(lengthscale=0.5), grid, 200, noise_std=0.1)
>>> print(f"{gain.lower[-1]:.3f} <= gamma_200 <= {gain.upper[-1]:.3f}")
15.664 <= gamma_200 <= 15.688
"""

from superarm.theory.information import (
    GreedyGain,
    RoundGains,
    gains_of_rounds,
    greedy_information_gain,
    information_gain,
    information_gains,
    lambda_star,
)
from superarm.theory.rates import KernelRate, kernel_rate
from superarm.theory.regret_bounds import (
    group_constant,
    group_regret_bound,
    lipschitz_constant,
    super_arm_constant,
    super_arm_regret_bound,
    total_constant,
    total_regret_bound,
)
from superarm.theory.run import Bounds, RunBounds, bound_of_run
from superarm.theory.super_arms import FeasibleGain, feasible_information_gain

__all__ = [
    "information_gain",
    "information_gains",
    "lambda_star",
    "RoundGains",
    "gains_of_rounds",
    "GreedyGain",
    "greedy_information_gain",
    "FeasibleGain",
    "feasible_information_gain",
    "group_constant",
    "super_arm_constant",
    "total_constant",
    "group_regret_bound",
    "super_arm_regret_bound",
    "total_regret_bound",
    "lipschitz_constant",
    "Bounds",
    "RunBounds",
    "bound_of_run",
    "KernelRate",
    "kernel_rate",
]
