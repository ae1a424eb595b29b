"""The state of sources and sinks: applies markers, announces output markers, and delays Drops.

In: markers, `Facts`. Out: `SourceState`, `SinkState`, wire texts, warnings. No data passes here. Imports `records`.

Its packages, in the order of their imports: `descriptions` (regions as markers write them); `accents` (the
effect of each kind of accent); `sources` (the state of a source and its consequences); `change_detection` (jumps that
no accent announces); `domains` (domains that grow); `markers` (reads, checks and applies markers in order); `sinks`
(past and next announcements of an output).
"""
