"""Facts of a relation at an instant (theory D0, D1), and the markers that change them.

In: declarations, markers, promises of punctuation. Out: `Facts`, `Accent` and `Punctuation`. Imports `changes`,
`regions`, `expressions` and the grammar.
"""
