"""Hints for texts that are wrong: repairs that compile, else rules for slips, else what can follow.

`parse_errors` asks the modules in this order: `repairs` (with `rearrangements`; `edits` tries each one), the rules of
`foreign_syntax_hints`, `marker_hints`, `declaration_hints` and `syntax_hints`, then `terminals` and `forms`.
`synonyms`, `function_synonyms` and `word_synonyms` list names that other languages have.
Imports `diagnostics`, `parsing` and `syntax`.
"""
