# %% [markdown]
# Federated learning on digits, in which every client limits what its updates leak. The clients measure leakage
# themselves, by an attack on their own update, and the policy learns whom it may ask for what. Everything runs in this
# process. The data come from scikit-learn, which must be installed.

# %%
import itertools

import numpy as np
from sklearn.datasets import load_digits

import superarm as sa
from superarm.federated import RequestSelector
from superarm.federated.clients import dealt
from superarm.federated.loop import learn
from superarm.federated.softmax import Records, accuracy

data = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(data.data))
digits = Records(features=data.data[order] / 16.0, labels=data.target[order].astype(np.intp))

# %% [markdown]
# The server has 200 records to judge updates by, and 200 others to report on. Ten clients share the rest, half of each
# to train on and half held out for the audit. Each says how much may leak: 0 is nothing that the attack can see, 1 is
# everything.

# %%
judged_by, report = digits[:200], digits[200:400]
clients = dealt(digits[400:], limits=rng.uniform(0.15, 0.6, 10), rng=rng)
limits = {client.client_id: client.limit for client in clients}
print("limits:", ", ".join(f"{name} {limit:.2f}" for name, limit in limits.items()))

# %% [markdown]
# The loop runs once with the cautious policy and once with requests drawn at random. No server knows what a request
# leaks on average; here we measure it by asking the same client a dozen times more.

# %%
for name, policy in {"cautious": sa.CautiousTCGPUCB(), "uniform": sa.Uniform()}.items():
    selector = RequestSelector(policy, at_most=4)
    fresh = np.random.default_rng(1)
    asked, broken = [0, 0], [0, 0]  # in the first and in the second half
    for each in itertools.islice(learn(clients, selector, judged_by), 12):
        late = each.proposal.server_round > 6
        for request in each.proposal.requests:
            client = next(one for one in clients if one.client_id == request.client_id)
            mean, error = client.expected_leakage(request, each.before, 12, fresh)
            asked[late] += 1
            broken[late] += int(mean - client.limit > 2 * error)
        kind = each.proposal.selection.kind
        if name == "cautious" and each.proposal.server_round in (1, 5, 12):
            said = ", ".join(
                f"{request.id} leaks {each.answers[request.id].leakage:.2f}" for request in each.proposal.requests
            )
            print(f"round {each.proposal.server_round:2} ({kind.name}): {said}")
    print(
        f"{name:8} limits broken: {broken[0]} of {asked[0]} in the first half, {broken[1]} of {asked[1]} later; "
        f"accuracy {accuracy(each.after, report):.2f}"
    )

# %% [markdown]
# With your own models, `selector.propose(round, profiles, loss)` says whom to ask for what. Let clients measure the
# `membership_advantage(...)` of their update, and report it by `selector.observe(...)`. With a `sa.Session` in place of
# the policy, nothing is lost when the server stops: `docs/federated_learning.md`.
