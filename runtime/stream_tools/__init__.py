"""Works on one stream without a query and without Spark: checks, validates, canonizes, finds unannounced
changes.

In: lines. Out: findings, canonical streams, proposals. Imports `records`, `control`, `change_detection`,
`reference` and `topics`.
"""
