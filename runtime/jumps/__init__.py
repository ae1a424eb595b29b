"""Sequences of values that jump like a change of unit: the test, and a watch over the groups of a source.

In: values in canonical units, in stream order. Out: jumps with the conversion that explains them, and the accents that
would announce them. Imports `control`.
"""
