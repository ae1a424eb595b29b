"""Questions about a plan that need no data: reactions to accents, bounds of state, what a wider domain does.

In: a `Plan`. Out: answers as values, warnings as diagnostics. Imports all of the compiler but `explain` and `codegen`.
"""
