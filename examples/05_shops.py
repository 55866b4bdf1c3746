# %% [markdown]
# Shops that differ: which coupons to show, so that many are clicked on, and those of each shop have at least the mean
# margin that it was promised. Nothing is known beforehand. No feature says which shop offers a coupon; only the label
# of its group does.

# %%
import itertools

import numpy as np

import superarm as sa

shops = sa.environments.Shops(seed=1, coupons=120, most=16)  # a small town; the study has 300 coupons and shows 40
arrivals, noise = np.random.default_rng(0), np.random.default_rng(1)
policy = sa.CautiousTCGPUCB()

# %% [markdown]
# This is the loop of a user: coupons arrive, some are shown, and their outcomes are learnt. The first outcome of a
# coupon is a click, 0 or 1. The second is its margin, which is promised. Here promises are judged by the truth, which
# no user has.

# %%
clicks, stated, shown, broken = 0.0, 0.0, 0, 0
for day in itertools.islice(shops.rounds(arrivals), 12):
    selection = policy.select(day)
    outcomes = shops.outcomes(day, noise)[selection.arms]
    policy.update(day, selection.arms, outcomes)
    margins = shops.expected_outcomes(day)[:, 1]
    missed = [group.label for group in selection.groups if margins[list(group.arms)].mean() < group.threshold]
    clicks, stated = clicks + outcomes[:, 0].sum(), stated + selection.predicted_broken
    shown, broken = shown + len(selection.arms), broken + len(missed)
    print(
        f"day {day.t:2}: {len(selection.arms):2} coupons of {len(selection.groups):2} shops, {selection.kind.name:9} "
        f"{selection.predicted_broken:4.1f} broken promises expected, {len(missed)} broken"
    )
print(f"{clicks:.0f} clicks on {shown} coupons; {stated:.1f} broken promises expected, {broken} broken")

# %% [markdown]
# `print(policy)` shows what the policy has learnt about scales, smoothness, noise and groups. The clairvoyant, which
# knows the truth, shows how much could be earned.

# %%
print(policy)
for name, player in {"cautious": sa.CautiousTCGPUCB(), "clairvoyant": sa.Clairvoyant(shops)}.items():
    trace = sa.simulate(player, shops, rounds=12, seed=0)
    late = trace.filter(trace["t"] > 6)
    ratio = late["reward"].sum() / late["optimal_reward"].sum()
    kept = trace["groups_satisfied"].sum() / trace["groups_touched"].sum()
    print(f"{name:12} {ratio:.2f} of the best that keeps every promise, after day 6; {kept:.0%} of promises kept")
