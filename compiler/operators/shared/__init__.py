"""What operators have in common: specification, reactions to accents, warnings about conditions, equality of tuples.

Imports `expressions`, `facts` and `regions`.
"""
