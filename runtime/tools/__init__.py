"""Works on queries, streams, checkpoints and outputs outside of a run: simulates, checks, reads, inspects, tests.

In: what the user names. Out: answers as values and texts, which hosts show.
"""
