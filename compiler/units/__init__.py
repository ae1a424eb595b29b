"""What units of measure are: names, conversions, and what arithmetic makes of them.

In: names, of `pint` or UCUM codes. Out: names, and exact conversions. Imports `regions`. Nothing else asks pint, which
is loaded with the first name that has to be understood.
"""
