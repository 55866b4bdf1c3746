"""Policies: they pick a super arm every round and learn from its outcomes."""
