"""Commit records, the stored plan, and in `edits` what an edited query does to both.

In: the results of an epoch, an edited plan. Out: one JSON record an epoch, the commit to continue from. Imports
`spark`, `formats`, `records`, `state`, `storage`, `accents`, `descriptions`, `domains`, `markers`, `sinks` and
`sources`.
"""
