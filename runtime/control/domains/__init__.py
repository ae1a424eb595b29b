"""Domains that grow, by a marker or with the table that they come from (theory N1).

In: a plan, states of sources, new values. Out: states with wider domains, or an error if the query cannot continue.
Imports `accents`, `descriptions` and `sources`.
"""
