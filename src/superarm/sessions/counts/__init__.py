"""Counts of what a session did and what came of it, kept beside the journal, so that a look costs the same at any age.

They follow from the journal and are brought up to date when somebody looks: a decision that nobody looks at pays
nothing for them. :class:`~superarm.sessions.counts.counting.Counts` keeps them, ``reads`` asks for them.
"""
