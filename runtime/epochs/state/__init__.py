"""Rows that operators keep between epochs: Parquet segments, and the rows that wait in them.

In: canonical DataFrames. Out: the same, by region; counts. Imports `formats`, `spark`, `records` and `storage`.
"""
