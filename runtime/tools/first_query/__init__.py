"""Writes a first query over data: `cedilla init --from`.

In: paths of files, folders, tables and topics. Out: a query with comments on its guesses, and a test of it. Imports
`formats`, `markers`, `records`, `topics`, `stream_tools` and `query_tests`.
"""
