"""A whole query in plain Python, without Spark: what `simulate` runs and tests compare with.

In: a plan and streams item by item. Out: output streams. Shares the control plane, and nothing of the data plane, with
the engine. Imports `control`, `items`, `change_detection`, `terminal` and `topics`.
"""
