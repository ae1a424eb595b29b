"""Columns of scans by Spark: tests that fail a job for values that no engine has, and what statistics prove of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StringType, StructType

from cedilla.compiler.expressions.types import Type, quote
from cedilla.runtime.connectors.formats.parquet.footers import MARKERS, Footer
from cedilla.runtime.connectors.formats.parquet.row_groups import not_utf8_text
from cedilla.runtime.connectors.formats.source import InputFile, quoted
from cedilla.runtime.connectors.storage.engine_failures import failed_text


def is_beyond(footer: Footer) -> bool:
    """Returns True if a file has moments that are more than 64 bits of microseconds, for which a scan fails."""
    ends = (end for values in footer.ranges.values() for end in (values.least, values.greatest))
    return any(end is not None and not -(2**63) <= end < 2**63 for end in ends)


def utf8_only(schema: StructType, files: Sequence[InputFile]) -> Iterator[str]:
    """Yields the columns of a scan as SQL that fails the job for a text that is not UTF-8.

    No condition on a double reaches the scan, because statistics leave NaN out, and Spark would pass over its rows.
    """
    more = f" or one of {len(files) - 1} more files" if len(files) > 1 else ""
    for field in schema:
        name = quoted(field.name)
        match field.dataType:
            case StringType() if field.name not in MARKERS:
                is_bad = f"NOT is_valid_utf8({name})"
            case ArrayType() | MapType() | StructType():  # its text has replacement characters for such bytes
                is_bad = f"locate('\ufffd', to_json({name})) > 0"
            case FloatType() | DoubleType():
                yield f"nanvl({name}, {name}) AS {name}"
                continue
            case _:
                yield name
                continue
        error_text = failed_text(
            not_utf8_text(f"{files[0].path}{more}: `{field.name}` has bytes that are not UTF-8")
        )
        yield f"IF({is_bad}, raise_error({quote(error_text)}), {name}) AS {name}"


def is_in_range(footer: Footer, name: str, type_: Type) -> bool:
    """Returns True if statistics of a file prove that the moments of a column are in the years 1 to 9999."""
    values = footer.ranges.get(name)
    if type_.first is None or type_.last is None or values is None:
        return False
    if values.least is None or values.greatest is None:
        return values.nulls == footer.rows
    return type_.first <= values.least and values.greatest <= type_.last
