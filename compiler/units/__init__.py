"""What units of measure are: names, conversions, and what arithmetic makes of them.

In: names, of `pint` or UCUM codes. Out: names, and exact conversions. Imports `regions`. No other package
imports pint, which is loaded with the first name.
"""
