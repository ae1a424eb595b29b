"""Answers questions about a plan without data: reactions to accents, bounds of state, effects of a wider
domain.

In: a `Plan`. Out: answers as values, warnings as diagnostics. Imports all of the compiler but `explain` and
`codegen`.
"""
