"""Units of measure: names, conversions and arithmetic.

In: names, of `pint` or UCUM codes. Out: names, and exact conversions. Imports `regions` and `types`. No other package
imports pint, which is loaded with the first name.
"""
