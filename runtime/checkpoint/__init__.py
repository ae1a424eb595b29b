"""Commit records, the stored plan, and what an edited query does to both.

In: what an epoch leaves behind, an edited plan. Out: one JSON record an epoch, the commit to go on from. Imports
`control`, `engines`, `formats`, `records`, `state` and `storage`.
"""
