"""Imports what others publish about changes of their streams: `cedilla import`.

In: a telemetry schema of OpenTelemetry, or the versions of a subject of a registry, and perhaps the query that reads
the stream. Out: stated accents with remarks, one a line, for `accent NAME from file`. Imports `markers`, `sources` and
`topics`.
"""
