"""Reads an output without knowledge of accents: rows, pandas, Arrow or Spark in one unit (theory D0).

In: a folder or a topic of output. Out: its tuples, decoded. Imports `stream_tools`, `formats`, `spark`, `records`,
`storage`, `topics`, `markers` and `sources`.
"""
