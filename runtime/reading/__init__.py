"""An output for whoever knows no accents: rows, pandas, Arrow or Spark in one unit (theory D0).

In: a folder of output. Out: its tuples, decoded. Imports `streams`, `formats`, `control`, `engines` and `items`.
"""
