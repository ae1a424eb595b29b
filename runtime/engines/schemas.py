"""Caches the columns of Spark Connect DataFrames: the server is asked once for all plans of one shape.

Each use of `frame.schema` is a round trip, and an epoch has a dozen of them. Plans of two epochs differ in parts that
do not affect types: rows, paths, conditions, positions. The rest is the shape of a plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

_CACHE_SIZE = 1000
"""Maximum number of cached shapes."""

Shape = tuple[Any, ...]


def remember_schemas(session: SparkSession) -> None:
    """Makes a Spark Connect session ask only once for the columns of plans of one shape."""
    client: Any = session.client
    client.schema = remembering(client.schema)


def remembering(asked: Callable[[Any], StructType]) -> Callable[[Any], StructType]:
    """Returns the same function with a cache by shape of plan."""
    schemas: dict[Shape, StructType] = {}

    def schema(plan: Any) -> StructType:
        shape = shape_of(plan.root) if plan.HasField("root") else None
        if shape is None:
            return asked(plan)
        if (columns := schemas.get(shape)) is None:
            if len(schemas) >= _CACHE_SIZE:
                schemas.clear()
            columns = schemas[shape] = asked(plan)
        return columns

    return schema


def shape_of(relation: Any) -> Shape | None:
    """Returns everything that determines the columns of a relation, a message of the protocol; `None` if unknown."""
    kind = relation.WhichOneof("rel_type")
    if kind not in _SHAPES:
        return None
    try:
        return kind, *_SHAPES[kind](getattr(relation, kind))
    except _Untold:
        return None


class _Untold(Exception):
    """A part of a plan whose shape is unknown."""


def _below(relation: Any) -> Shape:
    shape = shape_of(relation)
    if shape is None:
        raise _Untold
    return shape


def _same(message: Any) -> Shape:
    return (_below(message.input),)


def _local(message: Any) -> Shape:
    if not message.data:  # an empty table, whose columns are in its schema
        if not message.schema:
            raise _Untold
        return (message.schema,)
    with pa.ipc.open_stream(message.data) as rows:
        return message.schema, rows.schema.serialize().to_pybytes()


def _read(message: Any) -> Shape:
    if message.HasField("named_table"):  # a view, whose name is unique (`engines/lookups.py`)
        return (message.named_table.unparsed_identifier,)
    if not message.HasField("data_source") or not message.data_source.schema:
        raise _Untold
    return message.data_source.format, message.data_source.schema


def _join(message: Any) -> Shape:
    return _below(message.left), _below(message.right), message.join_type, tuple(message.using_columns)


def _union(message: Any) -> Shape:
    how = message.set_op_type, message.is_all, message.by_name, message.allow_missing_columns
    return _below(message.left_input), _below(message.right_input), *how


def _expressions(*fields: str) -> Callable[[Any], Shape]:
    def shape(message: Any) -> Shape:
        texts = (tuple(_text(each) for each in getattr(message, name)) for name in fields)
        return _below(message.input), *texts

    return shape


def _aggregate(message: Any) -> Shape:
    if message.HasField("pivot") or len(message.grouping_sets):
        raise _Untold
    return message.group_type, *_expressions("grouping_expressions", "aggregate_expressions")(message)


def _renamed(message: Any) -> Shape:
    return _below(message.input), tuple((each.col_name, each.new_col_name) for each in message.renames)


def _workers(message: Any) -> Shape:
    return (message.func.python_udf.output_type.SerializeToString(deterministic=True),)


_SHAPES: dict[str, Callable[[Any], Shape]] = {
    **dict.fromkeys(("filter", "sort", "limit", "offset", "hint", "repartition", "deduplicate"), _same),
    "local_relation": _local,
    "read": _read,
    "range": lambda message: (),
    "project": _expressions("expressions"),
    "with_columns": lambda message: (_below(message.input), tuple(map(_alias, message.aliases))),
    "drop": lambda message: (*_expressions("columns")(message), tuple(message.column_names)),
    "aggregate": _aggregate,
    "with_columns_renamed": _renamed,
    "to_df": lambda message: (_below(message.input), tuple(message.column_names)),
    "join": _join,
    "set_op": _union,
    "map_partitions": _workers,
}

_CONSTANTS = re.compile(
    r"""(`[^`]*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""  # names and texts, which remain unchanged
    r"""|get\(array\((?P<bound>(?P<moment>TIMESTAMP|DATE)'[^']*'|-?[\d.e+-]*\d(?P<suffix>[LD]?)), (?P=bound)\),"""
    r"""|(?<![\w.])\d+L\b""",
    re.DOTALL,
)
"""The bound of a comparison (`codegen/sql.py`), and a long, the form of positions and epochs."""


def _kind(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return f"get({found['moment']}{found['suffix']}," if found["bound"] else "0L"


def _alias(alias: Any) -> Shape:
    return tuple(alias.name), _text(alias.expr)


def _text(expression: Any) -> Any:
    """Returns an expression after replacing constants by their kind."""
    kind = expression.WhichOneof("expr_type")
    if kind == "expression_string":
        return _CONSTANTS.sub(_kind, expression.expression_string.expression)
    if kind == "alias":
        return _alias(expression.alias)
    return expression.SerializeToString(deterministic=True)
