"""Changes between the schemas of a registry, as accents by their ids (theory N10).

In: the versions of a subject, and perhaps the query that reads the stream. Out: accents with remarks, for a file or for
a run that meets a schema which its query does not name. Imports `markers`, `records`, `sources` and `topics`.
"""
