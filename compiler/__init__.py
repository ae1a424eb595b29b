"""Query to plan to PySpark text. Knows no pyspark (design, section 2)."""

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan import Plan

__all__ = ["Plan", "compile_query"]
