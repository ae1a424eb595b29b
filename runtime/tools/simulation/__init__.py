"""Runs a query over local folders and recorded topics by the reference: `cedilla simulate`, for small streams.

In: a plan and options. Out: output streams step by step, rejected lines, warnings. Imports `records`,
`formats`, `change_detection`, `options`, `plain`, `topics`, `domains`, `markers`, `schemas` and `sources`.
"""
