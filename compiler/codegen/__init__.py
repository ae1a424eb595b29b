"""Plan to PySpark text, and trees of regions to Spark SQL.

In: a `Plan`, or a tree. Out: text. Imports `plan`, `operators`, `expressions` and `regions`.
"""
