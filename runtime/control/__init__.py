"""The state of sources and sinks: applies markers, announces output markers, and delays Drops.

In: markers, `Facts`. Out: `SourceState`, `SinkState`, wire texts, warnings. No data passes here. Imports `items`.

Its packages, from the ground up: `descriptions` (regions as markers write them), `accents` (the effect of each kind of
accent), `sources` (the state of a source and what follows from it), `domains` (domains that grow), `markers` (reads,
checks and applies markers one after the other), `sinks` (what an output has announced, and what it announces next).
"""
