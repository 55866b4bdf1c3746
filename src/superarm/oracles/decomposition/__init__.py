"""The exact oracle: one profile per group, combined over counts, refined where it matters.

``decomposition.py`` is the oracle and its outer loops, ``gains.py`` says what the promises need, ``canonical.py`` which
arms can matter, ``model.py`` turns these into groups of options, ``profiles.py`` bounds the best value of every (group,
count), combines them and refines those that matter, and ``compiled/`` holds the loops over options. The mathematics and
its proofs are in ``docs/oracles.md``.
"""
