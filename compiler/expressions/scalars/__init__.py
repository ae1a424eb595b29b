"""Scalar functions: `scalar_functions` lists them all.

Imports `types`, `aggregates`, `units` and the grammar.
"""
