"""Workers: this process, other processes, or a Ray cluster. No result depends on the choice.

A call that takes ``workers=`` takes a number of processes, a text as ``"ray:auto"``, or an object that keeps the
contract :class:`~superarm.workers.workers.Workers`.
"""
