"""Runs a small study in a bucket, to be killed: ``python -m tests.cluster.driver s3://bucket/study``."""

import sys
import time

from superarm.experiments import runner
from superarm.places.objects import Objects
from tests.experiments import small

SILENCE = 3.0  # seconds, after which an owner is taken for dead


def study():
    return small.federated(rounds=20, runs=3).with_changes(policies=("tcgp-ucb", "uniform"))


class Slow(Objects):
    """A bucket that takes long, so that there is time to be killed."""

    def write(self, name, content):
        super().write(name, content)
        time.sleep(2.0)


if __name__ == "__main__":
    runner.run(study(), folder=Slow(sys.argv[1], silence=SILENCE), seed=5, workers="here")
