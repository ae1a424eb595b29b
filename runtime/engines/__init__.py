"""A Spark session and what the engine below offers: jobs beside each other, broadcast tables, settings.

In: options of a session, DataFrames. Out: a session, DataFrames, what things cost. Imports `items` and `storage`.
"""
