"""JSON Lines (design, section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, TimestampType

from cedilla.compiler.expressions.types import column, quote
from cedilla.runtime.engines.frames import is_connect
from cedilla.runtime.formats.encode import TIMESTAMP
from cedilla.runtime.formats.sinks.sink import TextSink


class JsonLinesSink(TextSink):
    """A tuple is an object, a marker an object with one key."""

    extension: ClassVar[str] = "jsonl"

    def write(self, tuples: DataFrame, folder: str) -> None:
        if not is_connect(tuples):
            tuples.write.option("timestampFormat", TIMESTAMP).json(folder)
            return
        # Not all engines write NaN and infinities as JSON: most epochs have none, so others are written twice.
        tuples = _changed(tuples, _moment)
        try:
            _changed(tuples, _finite).write.json(folder)
        except PySparkException as problem:
            if _NO_NUMBER not in str(problem):
                raise
            tuples.select(F.expr(_object(tuples)).alias("value")).write.mode("overwrite").text(folder)

    def accent(self, text: str) -> str:
        return json.dumps({"$accent": text}, ensure_ascii=False)

    def punctuation(self, text: str) -> str:
        return json.dumps({"$punctuation": text}, ensure_ascii=False)


_NO_NUMBER = "RQ-NaN: no number of JSON"


def _changed(tuples: DataFrame, change: Callable[[str, DataType], str | None]) -> DataFrame:
    """The same rows, each column as the SQL says that is made of it and its type; `None`: as it is."""
    kinds = {f.name: f.dataType for f in tuples.schema.fields}
    changed = {name: F.expr(text) for name, kind in kinds.items() if (text := change(column(name), kind))}
    return tuples.withColumns(changed) if changed else tuples


def _moment(value: str, kind: DataType) -> str | None:
    """SQL: a moment as a text."""
    if isinstance(kind, TimestampType):
        return f"date_format({value}, {quote(TIMESTAMP)})"
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, TimestampType):
        return f"transform({value}, e -> date_format(e, {quote(TIMESTAMP)}))"
    return None


def _finite(value: str, kind: DataType) -> str | None:
    """SQL: a number; the job fails where it has no form in JSON."""
    refused = f"raise_error({quote(_NO_NUMBER)})"
    if isinstance(kind, DoubleType):
        return f"CASE WHEN {_has_no_form(value)} THEN {refused} ELSE {value} END"
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, DoubleType):
        return f"CASE WHEN exists({value}, e -> {_has_no_form('e')}) THEN {refused} ELSE {value} END"
    return None


def _has_no_form(value: str) -> str:
    return f"isnan({value}) OR abs({value}) = double('Infinity')"


def _object(tuples: DataFrame) -> str:
    """SQL: a tuple, whose moments are texts, as a JSON object, without what is undefined. Engines agree on what
    `to_json` makes of all other types but decimals, of which it may lose digits."""
    exact = {f.name: f.dataType for f in tuples.schema.fields if _is_decimal(f.dataType)}
    rest = [column(f.name) for f in tuples.schema.fields if f.name not in exact]
    texts = f"to_json(struct({', '.join(rest)}))"
    parts = [f"nullif(substr({texts}, 2, length({texts}) - 2), '')"] if rest else []
    for name, kind in exact.items():
        key = quote(f"{json.dumps(name, ensure_ascii=False)}:")
        parts.append(f"concat({key}, {_digits(column(name), kind)})")
    return f"concat('{{', concat_ws(',', {', '.join(parts)}), '}}')"


def _is_decimal(kind: DataType) -> bool:
    return isinstance(kind.elementType if isinstance(kind, ArrayType) else kind, DecimalType)


def _digits(value: str, kind: DataType) -> str:
    if not isinstance(kind, ArrayType):
        return f"CAST({value} AS STRING)"
    texts = f"transform({value}, e -> coalesce(CAST(e AS STRING), 'null'))"
    return f"concat('[', concat_ws(',', {texts}), ']')"
