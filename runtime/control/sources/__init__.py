"""The state of a source, which markers move forward, and what follows from it: validity, units, accents in force.

In: a declared source, markers that are read. Out: `SourceState`, its facts, the tuples that it rejects. Imports
`accents`, `descriptions` and `items`.
"""
