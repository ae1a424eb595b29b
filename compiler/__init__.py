"""Query to plan to PySpark text. Knows no pyspark (design, section 2)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """A public name on its first use: connectors need parts of the compiler only."""
    if name in _HOMES:
        return getattr(import_module(f"cedilla.compiler.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
