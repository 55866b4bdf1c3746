"""A client: says who it is, and trains on what it is asked for."""

from flwr.app import Context
from flwr.clientapp import ClientApp

from limits_app.arrays import arrays_of, model_of
from limits_app.world import world
from superarm.federated import ClientProfile
from superarm.federated.clients import SoftmaxClient
from superarm.federated.softmax import losses, trained
from superarm.flower import Task, Trained, answer_profile, audited_train

app = ClientApp()


def me(context: Context) -> SoftmaxClient:
    """The client that this node is."""
    return world(context.run_config).clients[int(context.node_config["partition-id"])]


@app.query()
@answer_profile
def profile(context: Context) -> ClientProfile:
    """Its name, how many records it has, and how much it lets leak."""
    return me(context).profile


@app.train()
@audited_train
def train(task: Task, context: Context) -> Trained:
    """Train on the records that the task draws; what that leaks is measured from the losses."""
    client, before = me(context), model_of(task.arrays)
    drawn = task.draw(len(client.pool))
    members, others = client.pool[drawn], client.held_out
    after = trained(before, members, task.request.local_steps)
    return Trained(
        arrays=arrays_of(after),
        drawn=drawn,
        member_losses=(losses(before, members), losses(after, members)),
        nonmember_losses=(losses(before, others), losses(after, others)),
    )
