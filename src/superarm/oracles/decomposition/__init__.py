"""The exact oracle: one profile per group, combined over counts, refined where it matters.

``model.py`` turns a round into groups of options (``options.py``), ``solve.py`` bounds the best value of every (group,
count), combines them and refines those that matter, and ``compiled/`` holds the loops. The mathematics and its proofs
are in ``docs/oracles.md``.
"""
