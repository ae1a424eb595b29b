"""Rows that operators keep from epoch to epoch: Parquet segments, and what waits in them.

In: canonical DataFrames. Out: the same, by region; counts. Imports `engines` and `storage`.
"""
