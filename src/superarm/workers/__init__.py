"""Where work is done: here, in processes, or on a Ray cluster. No result depends on it.

A call that takes ``workers=`` takes a number of processes, a text as ``"ray:auto"``, or an object that keeps the
contract :class:`~superarm.workers.workers.Workers`.
"""
