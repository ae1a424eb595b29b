"""Markers of an epoch: their texts are read, checked and applied, one by one or in runs, up to the first that ends it.

In: lines with markers in stream order, states of sources. Out: states behind them, warnings, the marker that ends the
epoch or the query. Imports `accents`, `descriptions`, `domains`, `items` and `sources`.
"""
