"""Converts the files of an epoch to canonical tuples, and quarantines rejected lines (theory D0, G34).

In: slices of files, source states. Out: DataFrames of canonical tuples, counts, rejected lines. Imports `formats` and
packages below it.
"""
