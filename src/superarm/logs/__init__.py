"""Logs of past rounds: a policy replays them, and its reward on them is estimated where the log allows it."""
