"""Rounds of more arms than one machine scores: catalogues on disk, rounds on them, and selections by shards."""
