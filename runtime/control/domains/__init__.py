"""Domains that grow, by a marker or with the table that they come from (theory N1).

In: a plan, states of sources, new values. Out: whether the query goes on with them, states with wider domains. Imports
`accents`, `descriptions` and `sources`.
"""
