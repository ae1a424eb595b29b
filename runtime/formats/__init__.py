"""Formats of files: how tuples and markers are read, a room a format, and written (`sinks`).

In: paths, DataFrames, output markers. Out: DataFrames, markers with places, folders of output. Imports `items`,
`storage`, `engines`, `control` and `topics`.
"""
