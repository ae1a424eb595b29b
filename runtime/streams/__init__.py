"""One stream without a query and without Spark: check, validate, canonize, look for changes that nobody announced.

In: lines. Out: findings, canonical streams, proposals. Imports `items`, `control`, `jumps`,
`reference` and `topics`.
"""
