"""Spark sessions and engine features: parallel jobs, broadcast tables, settings.

In: options of a session, DataFrames. Out: a session, DataFrames, cost thresholds. Imports nothing of the runtime.
"""
