"""Where sources and sinks stand: markers are applied, output markers are announced, Drops wait.

In: markers, `Facts`. Out: `SourceState`, `SinkState`, wire texts, warnings. No data passes here. Imports `items`.
"""
