"""Types and values, and expressions over the values of one tuple.

In: syntax, and texts of markers. Out: types, sets of values, typed expressions with their SQL, scalar and aggregate
functions, units of expressions. Imports `regions` and the grammar.

`types` has the values, `scalars` and `aggregates` the functions, `units` the units and the arithmetic between them. The
modules of this folder itself use all of them.
"""
