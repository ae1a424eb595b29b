"""Effects of each kind of accent at a source on the trees of presence, units, names and codes, with the errors that it
raises.

In: trees of a source, an accent, the tuples that it describes. Out: the trees after it. Imports `descriptions`.
"""
