"""XML as a sink: elements named by the relation, of elements named by its attributes (seeds, 002; design, section
6)."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, StringType, TimestampType

from cedilla.compiler.expressions.scalars.conversion_sql import java_text
from cedilla.compiler.expressions.types import column, quote
from cedilla.runtime.connectors.formats.element_texts import digits_text, innermost, timestamp_text
from cedilla.runtime.connectors.formats.sinks.sink import TextSink
from cedilla.runtime.connectors.records import xmltext
from cedilla.runtime.engines.spark.columns import Columns


class XmlSink(TextSink):
    """Writes one element on each line, and no element around them, because several tasks write tuples."""

    extension: ClassVar[str] = "xml"

    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        parts = [quote(f"<{self._relation}>"), *map(_element, columns, columns.values())]
        text = f"concat({', '.join(parts)}, {quote(f'</{self._relation}>')})"
        tuples.select(F.expr(text).alias("value")).write.mode("append").text(folder)

    @property
    def end(self) -> str:
        """Texts may have several lines, but they contain no `<`."""
        return f"</{self._relation}>\n"

    def marker(self, kind: str, text: str) -> str:
        element = xmltext.accent_element if kind == "accent" else xmltext.punctuation_element
        return element(self._relation, text)


def _element(name: str, kind: DataType) -> str:
    """Returns SQL for the element of an attribute; empty if it is undefined."""
    return f"coalesce(concat({quote(f'<{name}>')}, {_text(column(name), kind)}, {quote(f'</{name}>')}), '')"


def _text(value: str, kind: DataType) -> str:
    if isinstance(innermost(kind), TimestampType):  # the same form as in JSON
        texts = timestamp_text(value, kind)
        return f"to_json({texts})" if isinstance(kind, ArrayType) else texts
    if isinstance(innermost(kind), DecimalType):
        return digits_text(value, kind)
    if isinstance(kind, DoubleType):  # engines write infinities in different words
        return java_text(value)
    if not isinstance(kind, StringType | ArrayType):
        return f"CAST({value} AS STRING)"
    text = value if isinstance(kind, StringType) else f"to_json({value})"
    for sign, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = f"replace({text}, {quote(sign)}, {quote(reference)})"
    for blank, reference in ((" ", "&#32;"), ("\t", "&#9;"), ("\n", "&#10;")):
        # A reader trims blanks around a value, but not references.
        ends = quote(rf"\A{blank}|{blank}\z")
        text = f"regexp_replace({text}, {ends}, {quote(reference)})"
    return text
