"""Answers questions about a plan without data: reactions to accents, bounds of state, effects of a wider
domain.

In: a `Plan`. Out: answers as values, warnings as diagnostics. Imports nothing else of `explain`, and nothing
of `codegen`.
"""
