"""Formats of files, one file a format and direction: how tuples and markers are read and written.

In: paths, DataFrames, output markers. Out: DataFrames, markers with places, folders of output. Imports `items`,
`control` and `engines`.
"""
