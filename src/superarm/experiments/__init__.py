"""Experiments: studies of many runs, as data; the runner; and what the paper claims of them."""
