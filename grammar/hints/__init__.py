"""Hints for texts that are wrong: repairs that compile, else words of other languages, else what can follow.

`parse_errors` asks the modules in this order: `repairs` (with `rearrangements`; `edits` tries each one), then
`foreign_words`, which looks words up in `synonyms`, `word_synonyms` and `function_synonyms`, then `terminals` and
`forms`. Imports `diagnostics`, `parsing` and `syntax`.
"""
