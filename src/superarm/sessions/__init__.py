"""Durable sessions: decisions that survive anything, with feedback that comes late, in parts, twice or never.

A session is a journal of events and a fold over them. What is kept is decided in ``events``, what follows from it in
``fold`` and ``standing``, where it is kept in ``stores``; ``journal`` commits what waits together, and ``session`` is
the one thing that users hold.
"""
