# %% [markdown]
# One round of TCGP-UCB: what the policy is told, what it picks, and what it learns. Two clients limit how much the
# requests to them may leak. `docs/one_round.md` shows what happens inside `select`.

# %%
import numpy as np

import superarm as sa

contexts = np.linspace(0.05, 1.0, 20)[:, None]  # portion of a client's data that a request asks for
round = sa.Round(
    t=1,
    contexts=np.vstack([contexts, contexts]),
    groups=["ann"] * 20 + ["bob"] * 20,
    constraint=sa.Sum() <= {"ann": 0.3, "bob": 0.9},  # total leakage that each client accepts
    feasible=sa.AtMost(6, per_group=4),
)

# %%
policy = sa.TCGPUCB(
    sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.5), noise_std=0.05),
    zeta=0.5,
    delta=0.05,
)
selection = policy.select(round)
print(selection)
print(selection.status.value)

# %% [markdown]
# The clients answer. Here the two outcomes are made up: what the server gains, and what leaks.

# %%
x = round.contexts[selection.arms, 0]
information, leakage = 1 / (1 + np.exp(5 - 10 * x)), 0.05 + 0.95 * np.exp(-5 * x)
noise = np.random.default_rng(0).normal(0, 0.05, (len(x), 2))
policy.update(round, selection.arms, np.column_stack([information, leakage]) + noise)

belief = policy.posterior.predict(np.array([[0.1], [0.5], [1.0]]))
print("leakage believed at 0.1, 0.5 and 1.0:", belief.mean[:, 1].round(2), "+-", belief.std[:, 1].round(2))
