"""Answers questions about a plan without data: reactions to accents, bounds of state, effects of a wider
domain.

In: a `Plan`. Out: answers as values, warnings as diagnostics. Imports nothing of `explain` beside it, and
nothing of `codegen`.
"""
