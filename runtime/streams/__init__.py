"""One stream without a query and without Spark: check, validate, canonize, look for changes that nobody announced.

In: lines. Out: findings, canonical streams, proposals. Imports `items`, `control`, `change_detection`,
`reference` and `topics`.
"""
