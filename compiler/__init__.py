"""Query to plan to PySpark text. Knows no pyspark (design, section 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cedilla.grammar.first_use import on_first_use

if TYPE_CHECKING:
    from cedilla.compiler.compile import compile_query
    from cedilla.compiler.expressions.engines import ENGINES, Engine
    from cedilla.compiler.facts.punctuation import combine_punctuations
    from cedilla.compiler.plan import Plan

__all__ = ["ENGINES", "Engine", "Plan", "combine_punctuations", "compile_query"]

_HOMES = {
    "ENGINES": "expressions.engines",
    "Engine": "expressions.engines",
    "Plan": "plan.plan",
    "combine_punctuations": "facts.punctuation",
    "compile_query": "compile",
}
# Public names are imported on first use: connectors need parts of the compiler only.
__getattr__ = on_first_use(__name__, _HOMES)
