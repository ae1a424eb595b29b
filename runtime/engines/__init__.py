"""Computes: `spark` starts sessions of Spark, Spark Connect and Sail; `plain` is the reference, without Spark.

In: options of a session, or a plan and its streams. Out: DataFrames, or output streams.
"""
