"""The common parts of operators: specification, reactions to accents, warnings about conditions, equality of tuples.

Imports `expressions`, `facts` and `regions`.
"""
