"""What each kind of accent changes at a source: trees of presence and units, names, codes; with what it refuses.

In: trees of a source, an accent, the tuples that it describes. Out: the trees behind it. Imports `descriptions`.
"""
