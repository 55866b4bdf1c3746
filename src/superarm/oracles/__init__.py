"""Oracles: the good subgroups of a round, and the best super arm made of them."""
