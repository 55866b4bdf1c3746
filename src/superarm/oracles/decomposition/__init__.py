"""The exact oracle: one profile per group, combined over counts, refined where it matters.

``decomposition.py`` is the oracle and its outer loops, ``model.py`` turns a round into groups of options,
``profiles.py`` bounds the best value of every (group, count), combines them and refines those that matter, and
``compiled/`` holds the loops over options. The mathematics and its proofs are in ``docs/oracles.md``.
"""
