"""Durable sessions: decisions that survive a restart, with feedback that comes late, in parts, twice or never.

A session is a journal of events and a fold over them. ``events`` decides what is kept, ``fold`` and ``standing`` what
follows from it, and ``stores`` where it is kept. ``journal`` commits together what waits, and ``session`` has the
object that users hold.
"""
