"""Logs of past rounds: a policy plays them again, and what it would have earned is estimated where that is possible."""
