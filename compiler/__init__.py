"""Query to plan to PySpark text. Knows no pyspark (design, section 2)."""

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.engines import ENGINES, Engine
from cedilla.compiler.facts.punctuation import combine_punctuations
from cedilla.compiler.plan import Plan

__all__ = ["ENGINES", "Engine", "Plan", "combine_punctuations", "compile_query"]
