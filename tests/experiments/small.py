"""Small versions of the studies, importable by worker processes and by killed ones."""

import argparse
from dataclasses import replace
from pathlib import Path

from superarm.datasets.synthetic import synthetic
from superarm.environments.federated import Federated
from superarm.environments.gp_sample import GPSample
from superarm.experiments import paper, runner
from superarm.experiments.experiment import DataKind

FEDERATED = Federated(clients=5, requests=20, most_requests=3)


def federated(rounds=8, runs=2):
    return replace(paper.federated(), environment=lambda seed: FEDERATED, rounds=rounds, runs=runs)


def tradeoff(rounds=6, runs=2):
    return replace(
        paper.tradeoff(), environment=lambda seed: GPSample(seed=seed, pool=300, horizon=6), rounds=rounds, runs=runs
    )


def movies(rounds=5, runs=2):
    return replace(
        paper.movies(synthetic(seed=1), "a synthetic look-alike", DataKind.SYNTHETIC), rounds=rounds, runs=runs
    )


def problems(rounds=5, runs=3):
    return replace(paper.problems(), rounds=rounds, runs=runs)


STUDIES = {"federated": federated, "tradeoff": tradeoff, "movies": movies}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    runner.run(federated(rounds=25, runs=3), folder=arguments.folder, seed=5, workers=arguments.jobs)
