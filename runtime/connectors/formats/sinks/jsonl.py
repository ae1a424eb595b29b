"""JSON Lines as a sink (design, section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, TimestampType

from cedilla.compiler.expressions.types import column, quote
from cedilla.runtime.connectors.formats.element_texts import TIMESTAMP, digits_text, innermost, timestamp_text
from cedilla.runtime.connectors.formats.sinks.sink import TextSink
from cedilla.runtime.engines.spark.columns import Columns
from cedilla.runtime.engines.spark.frames import is_connect


class JsonLinesSink(TextSink):
    """A tuple is an object, a marker is an object with one key."""

    extension: ClassVar[str] = "jsonl"

    def write(self, tuples: DataFrame, columns: Columns, folder: str) -> None:
        if not is_connect(tuples):
            tuples.write.mode("append").option("timestampFormat", TIMESTAMP).json(folder)
            return
        # Not all engines write NaN and infinities as JSON. Most epochs contain none, so the others are written twice.
        tuples = _changed(tuples, columns, _moment)
        try:
            _changed(tuples, columns, _finite).write.json(folder)
        except PySparkException as problem:
            if _NO_NUMBER not in str(problem):
                raise
            tuples.select(F.expr(_object(columns)).alias("value")).write.mode("overwrite").text(folder)


_NO_NUMBER = "RQ-NaN: no number of JSON"


def _changed(tuples: DataFrame, columns: Columns, change: Callable[[str, DataType], str | None]) -> DataFrame:
    """Replaces columns by the SQL that `change` returns for each column and its type; `None` keeps the column."""
    changed = {name: F.expr(text) for name, kind in columns.items() if (text := change(column(name), kind))}
    return tuples.withColumns(changed) if changed else tuples


def _moment(value: str, kind: DataType) -> str | None:
    """Returns SQL that converts a moment to text."""
    return timestamp_text(value, kind) if isinstance(innermost(kind), TimestampType) else None


def _finite(value: str, kind: DataType) -> str | None:
    """Returns SQL that checks a number; the job fails if JSON has no form for it."""
    if not isinstance(innermost(kind), DoubleType):
        return None
    return f"CASE WHEN {_has_no_form(value, kind)} THEN raise_error({quote(_NO_NUMBER)}) ELSE {value} END"


def _has_no_form(value: str, kind: DataType) -> str:
    if isinstance(kind, ArrayType):
        return f"exists({value}, e -> {_has_no_form('e', kind.elementType)})"
    return f"isnan({value}) OR abs({value}) = double('Infinity')"


def _object(columns: Columns) -> str:
    """Returns SQL that converts a tuple to a JSON object without undefined attributes; its moments are texts already.
    Engines agree on the result of `to_json` for all types except decimals, which may lose digits."""
    exact = {name: kind for name, kind in columns.items() if isinstance(innermost(kind), DecimalType)}
    rest = [column(name) for name in columns if name not in exact]
    texts = f"to_json(struct({', '.join(rest)}))"
    parts = [f"nullif(substr({texts}, 2, length({texts}) - 2), '')"] if rest else []
    for name, kind in exact.items():
        key = quote(f"{json.dumps(name, ensure_ascii=False)}:")
        parts.append(f"concat({key}, {digits_text(column(name), kind)})")
    return f"concat('{{', concat_ws(',', {', '.join(parts)}), '}}')"
