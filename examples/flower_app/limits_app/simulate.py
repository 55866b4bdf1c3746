"""The app in Flower's simulation, on Ray, without a SuperLink: ``python -m limits_app.simulate FOLDER ROUNDS``.

In this way clients know only the default settings; ``flwr run`` passes on what you set.
"""

import sys

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from limits_app.client_app import app as client_app
from limits_app.server_app import serve
from limits_app.settings import DEFAULTS

RESOURCES = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}, "init_args": {"num_cpus": 2}}


def simulate(folder: str, rounds: int) -> None:
    """One CPU a client, two clients at a time."""
    server_app = ServerApp()

    @server_app.main()
    def main(grid: Grid, context: Context) -> None:
        serve(grid, {**DEFAULTS, "folder": folder, "rounds": rounds})

    run_simulation(server_app, client_app, num_supernodes=int(DEFAULTS["clients"]), backend_config=RESOURCES)


if __name__ == "__main__":
    simulate(sys.argv[1], int(sys.argv[2]))
