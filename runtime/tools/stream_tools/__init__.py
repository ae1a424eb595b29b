"""Works on one stream without a query and without Spark: checks, validates, canonizes, finds unannounced
changes.

In: lines. Out: findings, canonical streams, proposals. Imports `records`, `change_detection`, `plain`, `topics`,
`formats`, `accents`, `descriptions`, `markers` and `sources`.
"""
