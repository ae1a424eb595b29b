"""Commit records, the stored plan, and in `edits` what an edited query does to both.

In: the results of an epoch, an edited plan. Out: one JSON record an epoch, the commit to continue from. Imports
`control`, `engines`, `formats`, `records`, `state` and `storage`.
"""
