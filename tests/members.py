"""Every member of every family, for the conformance tests: a new one is tested by being listed."""

import numpy as np

import superarm as sa

REWARDS = [
    sa.Sum(),
    sa.TransformedSum(np.log1p),
    sa.TransformedSum(np.sqrt, weights=np.arange(6) / 2),
    sa.Custom(np.max, monotone="increasing"),
]

GROUP_REWARDS = [
    sa.Sum(),
    sa.Mean(),
    sa.Min(),
    sa.Max(),
    sa.Count(),
    sa.Variance(),
    sa.DixitStiglitz(items=list("abacba")),
    sa.DixitStiglitz(items=list("aaaaab"), power=1.5),
    sa.Custom(np.median, monotone="increasing"),
    sa.Custom(lambda outcomes: -float(np.max(outcomes)), monotone="decreasing"),
]

POSTERIORS = [
    sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1),
    sa.ExactPosterior(
        (sa.Matern12(lengthscale=0.4), sa.Matern32(lengthscale=0.7)), noise_std=(0.1, 0.3), mean=(0.5, 0)
    ),
    sa.ExactPosterior(sa.Coregionalised(sa.Matern52(lengthscale=0.4), [[1.0, -0.6], [-0.6, 0.8]]), noise_std=0.1),
    sa.ExactPosterior(sa.Linear(variance=0.5) + sa.RationalQuadratic(lengthscale=0.5, alpha=2.0), noise_std=0.2),
    sa.SparsePosterior(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1),
    sa.SparsePosterior(sa.Matern52(lengthscale=0.4) * sa.Matern52(lengthscale=2.0), noise_std=0.1),
    sa.SparsePosterior(sa.Matern52(lengthscale=0.5), noise_std=0.1, inducing=sa.RandomSubset(4)),
    sa.SparsePosterior(
        sa.Coregionalised(sa.SquaredExponential(lengthscale=0.5), [[1.0, 0.9], [0.9, 1.0]]), noise_std=(0.1, 0.2)
    ),
    sa.GaussianProcess(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1),
    sa.GaussianProcess(sa.Matern52(lengthscale=0.4), noise_std=0.1, mean=0.5),
    sa.GaussianProcess((sa.Matern12(lengthscale=0.4), sa.Linear() + sa.Matern32()), noise_std=(0.1, 0.3)),
    sa.GaussianProcess(sa.Coregionalised(sa.Matern32(lengthscale=0.4), [[1.0, -0.6], [-0.6, 0.8]]), noise_std=0.1),
]

ORACLES = [
    sa.Automatic(),
    sa.Decomposition(),
    sa.Decomposition(label_limit=1),
    sa.Decomposition(deadline=0.0),
    sa.Decomposition(rel_gap=0.3),
    sa.BestWholeGroups(),
    sa.MILP(),
    sa.Exhaustive(),
    sa.Greedy(),
]


def policies() -> list[object]:
    """Fresh policies: the check plays with them."""
    prior = sa.ExactPosterior(sa.SquaredExponential(lengthscale=0.4), noise_std=0.1)
    sparse = sa.SparsePosterior(sa.Matern52(lengthscale=0.4), noise_std=0.1, inducing=sa.RandomSubset(5))
    return [
        sa.TCGPUCB(prior),
        sa.TCGPUCB(prior, zeta=0.0),
        sa.TCGPUCB(prior, zeta=1.0, delta=0.2, max_arms=12, seed=7),
        sa.TCGPUCB(POSTERIORS[2], zeta=0.9, oracle=sa.Decomposition()),
        sa.TCGPUCB(sparse),
        sa.TCGPUCB(prior, batch_aware=True),
        sa.TCGPUCB(POSTERIORS[2], zeta=0.7, beta_scale=0.25, batch_aware=True, oracle=sa.MILP()),
        sa.TCGPUCB(sparse, zeta=1.0, batch_aware=True, seed=2),
        sa.TCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.4), noise_std=0.1)),
        sa.OCLOKUCB(prior),
        sa.OCLOKUCB(sparse, seed=3),
        sa.OCLOKUCB(prior, beta_scale=2.0, batch_aware=True),
        sa.CGPUCB(prior),
        sa.CGPUCB(prior, beta_scale=0.5),
        sa.TCGPTS(prior),
        sa.TCGPTS(POSTERIORS[2], seed=8),
        sa.TCGPTS(sparse, oracle=sa.Decomposition()),
        sa.TCGPUCB(prior, learn=True),
        sa.TCGPUCB(POSTERIORS[2], learn=sa.Learning(least=5, starts=3, schedule=(2, 3, 6))),
        sa.OCLOKUCB(sparse, learn=sa.Learning(least=5)),
        sa.CGPUCB(prior, learn=True),
        sa.CautiousTCGPUCB(prior),
        sa.CautiousTCGPUCB(POSTERIORS[2], confidence=0.9, reward_width=0.0, oracle=sa.MILP(), seed=3),
        sa.CautiousTCGPUCB(sparse, must_teach=0.0, learn=sa.Learning(least=5)),
        sa.CautiousTCGPUCB(sa.GaussianProcess(sa.Matern52(lengthscale=0.4), noise_std=0.1)),
        sa.ACCUCB(horizon=100),
        sa.ACCUCB(v1=0.5, v2=0.7, rho=0.8, seed=4),
        sa.CCMAB(horizon=1000),
        sa.CCMAB(horizon=20, alpha=0.5, oracle=sa.MILP(), seed=5),
        sa.CUCB(),
        sa.Uniform(seed=6),
    ]
