"""Where sources and sinks stand: markers are applied, output markers are announced, Drops wait.

In: markers, `Facts`. Out: `SourceState`, `SinkState`, wire texts, warnings. No data passes here. Imports `items`.

Its rooms, from the ground up: `descriptions` (regions as markers write them), `accents` (what each kind of accent
changes), `sources` (the state of a source, and what follows from it), `domains` (domains that grow), `markers` (markers
are read, checked and applied one after the other), `sinks` (what an output has told, and tells next).
"""
