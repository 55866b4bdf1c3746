"""A small privacy-aware federated loop, played in the terminal (section 5.1 of the paper, scaled down)."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from superarm.feasible import AtMost
from superarm.groups import Array
from superarm.oracles.oracle import Selection
from superarm.policies.tcgp_ucb import TCGPUCB
from superarm.posteriors.exact import ExactPosterior
from superarm.posteriors.kernels import SquaredExponential
from superarm.rewards.sum import Sum
from superarm.round import Round

NAMES = ("ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana")
PORTIONS = np.arange(1, 21) / 20  # of a client's data that a request may ask for
NOISE = 0.05


def expected_outcomes(portion: Array) -> Array:
    """(M, 2) information that the server gains, and leakage that the client suffers (section 5.1)."""
    return np.column_stack([1.0 / (1.0 + np.exp(5.0 - 10.0 * portion)), 0.05 + 0.95 * np.exp(-5.0 * portion)])


def arrive(t: int, rng: np.random.Generator) -> Round:
    """Some clients, each with 20 possible requests, a limit on leakage and on the number of requests."""
    clients = sorted(rng.choice(NAMES, size=rng.integers(4, 7), replace=False).tolist())
    return Round(
        t=t,
        contexts=np.tile(PORTIONS, len(clients))[:, None],
        groups=np.repeat(clients, len(PORTIONS)),
        constraint=Sum() <= dict(zip(clients, rng.uniform(0.1, 0.9, len(clients)), strict=True)),
        feasible=AtMost(8, per_group=3),
    )


def play(rounds: int, seed: int, console: Console) -> None:
    """Play the loop and print every round: what was picked, the certificate, and the margins of the groups."""
    rng = np.random.default_rng(seed)
    policy = TCGPUCB(ExactPosterior(SquaredExponential(lengthscale=0.5), noise_std=NOISE), zeta=0.5, seed=seed)
    console.print(
        "\n[bold]superarm[/bold] picks requests to clients. A request asks for a portion of the client's data: the "
        "server gains information, the client suffers leakage. Neither curve is known beforehand, and no client's "
        "total leakage may exceed its limit.\n"
    )
    for t in range(1, rounds + 1):
        round = arrive(t, rng)
        selection = policy.select(round)
        truth = expected_outcomes(round.contexts[:, 0])
        _show(console, round, selection, truth)
        policy.update(round, selection.arms, truth[selection.arms] + rng.normal(0.0, NOISE, (len(selection.arms), 2)))
    console.print(
        "At index: what the policy hoped for, its optimistic bounds. True leakage: hidden from the policy. Promises "
        "broken early are the price of learning by optimism. docs/one_round.md follows one round step by step.\n"
    )


def _show(console: Console, round: Round, selection: Selection, truth: Array) -> None:
    alpha = "undefined" if selection.alpha is None else f"{selection.alpha:.4f}"
    console.print(
        f"[bold]Round {round.t}[/bold]: {len(selection.arms)} of {len(round)} requests picked. Value "
        f"{selection.value:.3f}, upper bound {selection.upper_bound:.3f}, alpha {alpha}: "
        f"{selection.status.name} ({selection.solver}, {1e3 * selection.seconds:.1f} ms)"
    )
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("client", "portions asked for"):
        table.add_column(name)
    for name in ("limit", "leakage at index", "margin at index", "true leakage", "promise"):
        table.add_column(name, justify="right")
    for group in selection.groups:
        arms = list(group.arms)
        leaked = float(truth[arms, 1].sum())
        assert group.threshold is not None
        table.add_row(
            str(group.label),
            ", ".join(f"{x:.2f}" for x in round.contexts[arms, 0]),
            f"{group.threshold:.3f}",
            f"{group.value:.3f}",
            f"{group.margin:+.3f}",
            f"{leaked:.3f}",
            "[green]kept[/green]" if leaked <= group.threshold else "[red]broken[/red]",
        )
    console.print(table)
    console.print()
