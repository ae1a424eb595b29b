"""Shows a plan in words, as JSON and as a diagram: the output of `cedilla explain`.

In: a compiled query. Out: text or JSON. Imports all of the compiler but `codegen`. `analysis`
answers questions about a plan for it, and for others.
"""
