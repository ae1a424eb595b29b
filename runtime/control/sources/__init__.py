"""The state of a source, which markers advance, and its consequences: validity, units, accents in force.

In: a declared source, parsed markers. Out: `SourceState`, its facts, the tuples that it rejects. Imports `accents`,
`descriptions` and `records`.
"""
