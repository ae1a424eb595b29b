"""Formats of files: one package for each format reads tuples and markers; `sinks` writes them.

In: paths, DataFrames, output markers. Out: DataFrames, markers with positions, folders of output. Imports `records`,
`storage`, `spark` and `topics`.
"""
