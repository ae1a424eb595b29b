"""A plan in words, as JSON and as a diagram: all that `cedilla explain` shows.

In: a compiled query. Out: text or JSON. Imports all of the compiler but `codegen`.
"""
