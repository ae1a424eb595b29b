"""Writes plans as PySpark text, and trees of regions as Spark SQL.

In: a `Plan`, or a tree. Out: text. Imports `plan`, `operators`, `expressions` and `regions`.
"""
