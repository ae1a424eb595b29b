"""Runs a whole query in plain Python, without Spark: for `simulate`, and as the oracle of tests.

In: a plan and streams item by item. Out: output streams. Shares the control plane, and nothing of the data plane,
with the engine. Imports `records`, `domains`, `markers`, `sinks` and `sources`.
"""
