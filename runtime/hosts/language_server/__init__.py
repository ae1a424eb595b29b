"""Answers of an editor about a query or a stream, and the server that gives them (`cedilla lsp`).

`document` reads a text: its findings, its names, the plan of its valid statements. `names` finds the definition and
the uses of each name. `hover`, `completion`, `fixes`, `renaming` and `outline` answer from a document by character
offsets. `marker_lines` does the same for the markers of a `.jsonl` file. Only `server` knows the protocol. Imports
`inspect`, `records`, `options`, `markers` and `sources`.
"""
