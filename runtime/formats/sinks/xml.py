"""XML as a sink: elements named by the relation, of elements named by its attributes (seeds, 002; design, section
6)."""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, TimestampType

from cedilla.compiler.expressions.types import column, quote
from cedilla.runtime.formats.encode import TIMESTAMP
from cedilla.runtime.formats.sinks.sink import TextSink
from cedilla.runtime.records import xmltext


class XmlSink(TextSink):
    """Writes one element on each line, and no element around them, because several tasks write tuples."""

    extension: ClassVar[str] = "xml"

    def write(self, tuples: DataFrame, folder: str) -> None:
        parts = [quote(f"<{self._relation}>"), *map(_element, tuples.schema.fields)]
        text = f"concat({', '.join(parts)}, {quote(f'</{self._relation}>')})"
        tuples.select(F.expr(text).alias("value")).write.text(folder)

    @property
    def end(self) -> str:
        """Texts may have several lines, but they contain no `<`."""
        return f"</{self._relation}>\n"

    def accent(self, text: str) -> str:
        return xmltext.accent_element(self._relation, text)

    def punctuation(self, text: str) -> str:
        return xmltext.punctuation_element(self._relation, text)


def _element(field: StructField) -> str:
    """Returns SQL for the element of an attribute; empty if it is undefined."""
    value = _text(field)
    return f"coalesce(concat({quote(f'<{field.name}>')}, {value}, {quote(f'</{field.name}>')}), '')"


def _text(field: StructField) -> str:
    name = column(field.name)
    if isinstance(field.dataType, TimestampType):  # the same form as in JSON
        return f"date_format({name}, {quote(TIMESTAMP)})"
    if not isinstance(field.dataType, StringType | ArrayType):
        return f"CAST({name} AS STRING)"
    text = name if isinstance(field.dataType, StringType) else f"to_json({name})"
    for sign, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = f"replace({text}, {quote(sign)}, {quote(reference)})"
    for blank, reference in ((" ", "&#32;"), ("\t", "&#9;"), ("\n", "&#10;")):
        # A reader trims blanks around a value, but not references.
        ends = quote(rf"\A{blank}|{blank}\z")
        text = f"regexp_replace({text}, {ends}, {quote(reference)})"
    return text
