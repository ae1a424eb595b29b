"""A Spark session and what the engine below offers: files, jobs beside each other, broadcast tables, settings.

In: options of a session, paths, DataFrames. Out: a session, files, DataFrames. Imports `items`.
"""
