"""Imports what others publish about changes of their streams: `cedilla import otel-schema`.

In: a telemetry schema of OpenTelemetry, and perhaps the query that reads the stream. Out: stated accents with remarks,
one a line, for `accent NAME from file`. Imports `schemas`.
"""
