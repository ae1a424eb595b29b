"""From the files of an epoch to canonical tuples; what is rejected goes to the quarantine (theory D0, G34).

In: slices of files, source states. Out: DataFrames of canonical tuples, counts, rejected lines. Imports `formats` and
what is below.
"""
