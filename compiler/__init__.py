"""Query to plan to PySpark text. Knows no pyspark (design, section 2)."""

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan import Plan
from cedilla.compiler.punctuation import combine_punctuations

__all__ = ["Plan", "combine_punctuations", "compile_query"]
