"""Journals in PostgreSQL, for several replicas: the extra ``postgres``."""
