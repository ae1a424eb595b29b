"""Detects jumps in sequences of values that look like a change of unit; monitors the groups of a source.

In: values in canonical units, in stream order. Out: jumps with the conversion that explains them, and the accents
that announce them. Imports `sources`.
"""
