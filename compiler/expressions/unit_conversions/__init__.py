"""Units of attributes: conversions as arithmetic, and exact numbers in another unit.

Imports `types`, `regions`, `units` and the grammar.
"""
