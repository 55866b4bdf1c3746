"""The server: sends the requests that the policy picks, and continues where it was stopped."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

import superarm as sa
from limits_app.arrays import arrays_of, model_of
from limits_app.settings import setting
from limits_app.world import world
from superarm.federated import Menu, RequestSelector
from superarm.federated.softmax import accuracy, loss, untrained
from superarm.flower import BanditStrategy

MENU = Menu(fractions=(0.25, 1.0), local_steps=(2, 16))

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Flower calls this."""
    serve(grid, context.run_config)


def serve(grid: Grid, config: Any) -> None:
    """Train for some rounds, and say what was asked and how good the model is."""
    there, folder = world(config), setting(config, "folder")
    with ExitStack() as open_files:
        policy = sa.CautiousTCGPUCB()
        if folder:  # choices and outcomes survive the server
            policy = open_files.enter_context(sa.Session.open(Path(folder) / "server.db", policy=policy))
        strategy = BanditStrategy(
            RequestSelector(policy, at_most=setting(config, "at-most"), menu=MENU),
            FedAvg(fraction_evaluate=0.0),
            loss=lambda arrays: loss(model_of(arrays), there.judged_by),
            seed=setting(config, "seed"),
            checkpoint=Path(folder) / "model.npz" if folder else None,  # the model survives, too
            min_clients=setting(config, "clients"),
        )
        classes = int(there.judged_by.labels.max()) + 1
        first = arrays_of(untrained(there.judged_by.features.shape[1], classes))
        result = strategy.start(grid, first, num_rounds=setting(config, "rounds"))
    asked = {str(each.server_round): [request.id for request in each.proposal.requests] for each in strategy.rounds}
    answered = sum(len(each.answered) for each in strategy.rounds)
    reached = accuracy(model_of(result.arrays), there.report)
    print(f"{answered} of {sum(map(len, asked.values()))} requests answered, accuracy {reached:.3f}", flush=True)
    if folder:
        (Path(folder) / "asked.json").write_text(
            json.dumps({"asked": asked, "answered": answered, "accuracy": reached})
        )
