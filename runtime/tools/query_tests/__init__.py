"""Tests of queries as pages: a query, input, and the output and quarantine that are expected (`cedilla test`).

`pages` reads and rewrites a page, `cases` runs its sections by the reference. `pytest_plugin` shows them to pytest.
Imports `records`, `plain`, `options` and `simulation`.
"""
