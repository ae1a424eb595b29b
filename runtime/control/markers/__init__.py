"""Reads, checks and applies the markers of an epoch, singly or in groups, up to the first one that ends it.

In: lines with markers in stream order, states of sources. Out: the states after them, warnings, the marker that ends
the epoch or the query. Imports `accents`, `descriptions`, `domains`, `records` and `sources`.
"""
