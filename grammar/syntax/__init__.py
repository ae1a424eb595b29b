# ruff: noqa: F403
# One namespace for the nodes of four modules.
"""Syntax of queries and markers as frozen nodes (design, sections 4 and 6).

Two nodes are equal when they say the same thing: where they were written (`span`) is not compared.
Unicode spellings (`≠`, `∧`, `σ`) leave no trace; nodes carry the ASCII ones. Imports `diagnostics`.
"""

from cedilla.grammar.syntax.expression_nodes import *
from cedilla.grammar.syntax.marker_nodes import *
from cedilla.grammar.syntax.relation_nodes import *
from cedilla.grammar.syntax.statement_nodes import *
