"""Scalar functions: `scalar_functions` lists them all.

Imports `types`, `unit_conversions`, `aggregates`, `units` and the grammar.
"""
