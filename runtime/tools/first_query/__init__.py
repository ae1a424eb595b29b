"""Writes a first query over data: `cedilla init --from`.

In: paths of files, folders, tables and topics, or a topic and its registry. Out: a query with comments on its guesses,
and a test of it, or accents. Imports `formats`, `markers`, `records`, `topics`, `schemas`, `stream_tools` and
`query_tests`.
"""
