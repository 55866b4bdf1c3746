"""Counts of decisions and outcomes, kept beside the journal, so that looking at a session costs the same at any age.

They follow from the journal and are brought up to date when somebody looks: a decision that nobody looks at pays
nothing for them. :class:`~superarm.sessions.counts.counting.Counts` keeps them, ``reads`` asks for them.
"""
