"""Extracts the data points of many requests at once: `pyarrow.json` parses the lines, and Arrow flattens the lists.

Lines that differ from the Collector's form are refused. `records.otlp` then parses them; both give the same result for
lines that both accept.

Over 400 lines, as all columns of a point are taken from the same arrays, level by level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.formats.jsonl.batches import parsed_as, read_json
from cedilla.runtime.connectors.formats.lines.batches import FROM_TEXTS, fits, one_array, read_texts
from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.formats.otlp import exponential as exponential_columns
from cedilla.runtime.connectors.formats.otlp.levels import Kind, Refused, field_at, inside
from cedilla.runtime.connectors.formats.otlp.messages import lists_of
from cedilla.runtime.connectors.formats.otlp.two_names import OF_INSTANCE, replaced_points
from cedilla.runtime.connectors.records import exponential
from cedilla.runtime.connectors.records.arrow_types import arrow_type
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.records.otlp import (
    FIELDS_OF,
    KINDS,
    MOMENTS,
    TEMPORALITIES,
    PointReader,
    shortest,
)
from cedilla.runtime.connectors.records.rejections import REPLACED

pc: Any = pyarrow.compute

_ANY = pa.struct(
    [
        ("stringValue", pa.string()),
        ("boolValue", pa.bool_()),
        ("doubleValue", pa.float64()),
        ("intValue", pa.string()),
        ("bytesValue", pa.string()),
        ("arrayValue", pa.struct([])),
        ("kvlistValue", pa.struct([])),
    ]
)
_ATTRIBUTES = pa.list_(pa.struct([("key", pa.string()), ("value", _ANY)]))
_QUANTILES = pa.list_(pa.struct([("quantile", pa.float64()), ("value", pa.float64())]))
_WRITTEN: Mapping[str, Mapping[str, pa.DataType]] = {
    "start": {MOMENTS["start"]: pa.string()},
    "time": {MOMENTS["time"]: pa.string()},
    "value": {"asDouble": pa.float64(), "asInt": pa.string()},
    "count": {"count": pa.string()},
    "sum": {"sum": pa.float64()},
    "min": {"min": pa.float64()},
    "max": {"max": pa.float64()},
    "buckets": {"bucketCounts": pa.list_(pa.string())},
    "bounds": {"explicitBounds": pa.list_(pa.float64())},
    "quantiles": {"quantileValues": _QUANTILES},
    "quantile_values": {"quantileValues": _QUANTILES},
}
"""The JSON types of a data point's fields."""
_SIDE = pa.struct([("offset", pa.int64()), ("bucketCounts", pa.list_(pa.string()))])
_EXPONENTIAL = {
    "scale": pa.int64(),
    "zeroCount": pa.string(),
    "zeroThreshold": pa.float64(),
    "negative": _SIDE,
    "positive": _SIDE,
}
"""Those of the buckets and bounds of an exponential histogram."""
_WHOLE = "^-?[0-9]{1,19}$"


@frozen
class Requests:
    """Parses requests. `reader`: selects their contents."""

    reader: PointReader

    def columns(self, text: bytes, starts: Places, types: Mapping[str, Type]) -> list[pa.Array] | None:
        """Returns the columns and positions of the data points of lines that begin at `starts`; `None` if some lines
        may be different. The caller has checked that each line looks like one object."""
        of_records = self._of_records(types)
        try:
            parsed = {"resourceMetrics": self._schema(types), **of_records}
            table = read_json(text, parsed, infer=False)
            if table.num_rows != len(starts):
                return None
            requests, *beside = (one_array(table.column(name).chunks) for name in parsed)
            return self._columns(requests, starts, types, dict(zip(of_records, beside, strict=True)))
        except (pa.ArrowInvalid, Refused):
            return None

    def columns_of_messages(
        self,
        messages: Sequence[Any],
        starts: Places,
        types: Mapping[str, Type],
        fields: Sequence[Mapping[str, Any]],
    ) -> list[pa.Array] | None:
        """Returns the same for requests in protobuf. `fields`: those of the record of each message."""
        kept = [number for number, message in enumerate(messages) if message.resource_metrics]
        try:
            requests = lists_of([messages[n] for n in kept], "resourceMetrics", self._schema(types))
            beside = {
                name: pa.array([fields[n].get(name) for n in kept], type_)
                for name, type_ in self._of_records(types).items()
            }
            return self._columns(requests, starts[kept], types, beside)
        except (pa.ArrowInvalid, pa.ArrowTypeError, Refused):
            return None

    def _of_records(self, types: Mapping[str, Type]) -> dict[str, pa.DataType]:
        """Returns the types of the fields of records, by their keys."""
        return {
            keys[0]: parsed_as(types[name]) for name, keys in self.reader.of_records.items() if name in types
        }

    def _schema(self, types: Mapping[str, Type]) -> pa.DataType:
        keys = {name: self.reader.keys(name) for name in types if name not in self.reader.of_records}
        return _schema({**keys, **(OF_INSTANCE if self.reader.over else {})})

    def _columns(
        self,
        requests: pa.ListArray,
        starts: Places,
        types: Mapping[str, Type],
        beside: Mapping[str, pa.Array],
    ) -> list[pa.Array]:
        if requests.null_count:
            raise Refused
        resources = inside(requests, np.arange(len(requests)))
        scopes = inside(field_at(resources.values, "scopeMetrics"), resources.lines)
        metrics = inside(field_at(scopes.values, "metrics"), scopes.lines)
        metrics = metrics.of(self.reader.metrics)
        kinds = [
            Kind(kind, points, metrics, scopes, resources)
            for kind in KINDS
            if len(
                (
                    points := inside(field_at(metrics.values, kind, "dataPoints"), metrics.lines).recorded()
                ).values
            )
        ]
        columns = [
            one_array([self._column(kind, name, type_, beside) for kind in kinds])
            if kinds
            else pa.array([], arrow_type(type_))
            for name, type_ in types.items()
        ]
        metric = np.concatenate([np.zeros(0, np.int64), *(kind.points.parents for kind in kinds)])
        lines = np.concatenate([np.zeros(0, np.int64), *(kind.points.lines for kind in kinds)])
        order = np.argsort(metric, kind="stable")
        lines = lines[order]
        first = np.searchsorted(lines, lines)
        places = pa.array(starts[lines] + np.arange(len(lines)) - first)
        if len(kinds) > 1:
            columns = [column.take(pa.array(order)) for column in columns]
        replaced = replaced_points(self.reader, kinds)[order]
        faults = pc.if_else(pa.array(replaced), REPLACED, pa.nulls(len(lines), pa.string()))
        return [*columns, faults, places]

    def _column(self, kind: Kind, name: str, type_: Type, beside: Mapping[str, pa.Array]) -> pa.Array:
        """Returns the values of an attribute for the points of a kind. Raises `Refused`, `ArrowInvalid`."""
        keys = self.reader.keys(name)
        if keys[0] not in beside:
            return _column(kind, keys, type_)
        column = beside[keys[0]].take(pa.array(kind.points.lines))
        if type_.name == "decimal" and not fits(column):
            raise Refused
        return _of_texts(column, type_) if pa.types.is_string(column.type) else column


def _column(kind: Kind, keys: FieldPath, type_: Type) -> pa.Array:
    """Returns the values of an attribute for the points of a kind. Raises `Refused`, `ArrowInvalid`."""
    root, *rest = keys
    if root in ("resource", "attribute"):
        return _plain(kind.attribute(root, rest[0]), type_)
    if root == "scope":
        return _of_texts(_of_scope(kind, "scope", rest[0]), type_)
    nothing = pa.nulls(len(kind.metric), arrow_type(type_))
    if root in FIELDS_OF and kind.name not in FIELDS_OF[root]:
        return nothing
    match root:
        case "metric" | "unit" | "description":
            return _of_texts(kind.field_of_metric("name" if root == "metric" else root), type_)
        case "kind":
            return _of_texts(pa.array([kind.name] * len(kind.metric), pa.string()), type_)
        case "temporality":
            codes = kind.field_of_metric(kind.name, "aggregationTemporality")
            names = pa.array([None, *TEMPORALITIES.values()], pa.string())
            is_known = pc.fill_null(pc.is_in(codes, pa.array(list(TEMPORALITIES))), False)
            return _of_texts(names.take(pc.if_else(is_known, codes, 0)), type_)
        case "monotonic":
            return _of_truths(kind.field_of_metric(kind.name, "isMonotonic").fill_null(False), type_)
        case "scope_version":
            return _of_texts(_named(_of_scope(kind, "scope", "version")), type_)
        case "schema":
            return _of_texts(_schemas(kind, type_), type_)
        case "start" | "time":
            return _moments(_whole(kind.points.values.field(MOMENTS[root])), type_)
        case "value":
            doubles, whole = (kind.points.values.field(name) for name in ("asDouble", "asInt"))
            return _of_numbers(doubles, whole, type_)
        case "count":
            return _of_whole(_whole(kind.points.values.field("count")).fill_null(0), type_)
        case "sum" if kind.name == "summary":
            return _of_doubles(kind.points.values.field("sum").fill_null(0), type_)
        case "buckets" | "bounds" if kind.name == exponential.NAME:
            of = exponential_columns.buckets if root == "buckets" else exponential_columns.bounds
            return _of_lists(of(kind.points.values, _whole), _counts if root == "buckets" else _bounds, type_)
        case "buckets":
            return _of_lists(kind.points.values.field("bucketCounts"), _counts, type_)
        case "bounds":
            return _of_lists(kind.points.values.field("explicitBounds"), _bounds, type_)
        case "quantiles" | "quantile_values":
            lists = kind.points.values.field("quantileValues")
            return _of_lists(_members(lists, "quantile" if root == "quantiles" else "value"), _bounds, type_)
        case "sum" | "min" | "max":
            return _of_doubles(kind.points.values.field(root), type_)
        case _:
            raise Refused


def _of_scope(kind: Kind, *keys: str) -> pa.Array:
    return field_at(kind.scopes.values, *keys).take(pa.array(kind.scope))


def _named(texts: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _schemas(kind: Kind, type_: Type) -> pa.Array:
    """Returns the URL of the schema of each point: its scope's, else its resource's; as a version its last part."""
    of_resource = kind.resources.values.field("schemaUrl").take(pa.array(kind.resource))
    of_scope = _of_scope(kind, "schemaUrl")
    urls = pc.coalesce(_named(of_scope), _named(of_resource))
    return pc.replace_substring_regex(urls, "(?s)^.*/", "") if type_.name == "version" else urls


def _schema(keys: Mapping[str, FieldPath]) -> pa.DataType:
    """Returns the type of `resourceMetrics`: the wanted fields, and the lists that connect points to their parents."""
    roots = {path[0] for path in keys.values()}
    scope_keys = {path[1]: pa.string() for path in keys.values() if path[0] == "scope"}
    scope_keys |= {"version": pa.string()} if "scope_version" in roots else {}
    url = [("schemaUrl", pa.string())] if "schema" in roots else []
    attributes = [("attributes", _ATTRIBUTES)] if "attribute" in roots else []
    metric: list[Any] = [("name", pa.string())]
    metric += [(name, pa.string()) for name in ("unit", "description") if name in roots]
    for kind in KINDS:
        wanted = [root for root in roots if kind in FIELDS_OF.get(root, KINDS)]
        fields = {key: type_ for root in wanted for key, type_ in _written(root, kind).items()}
        point = pa.struct([("flags", pa.int64()), *attributes, *fields.items()])
        of_kind = [("aggregationTemporality", pa.int64())] if "temporality" in wanted else []
        of_kind += [("isMonotonic", pa.bool_())] if "monotonic" in wanted else []
        metric.append((kind, pa.struct([("dataPoints", pa.list_(point)), *of_kind])))
    scope: list[Any] = [("metrics", pa.list_(pa.struct(metric))), *url]
    scope += [("scope", pa.struct([*scope_keys.items()]))] if scope_keys else []
    resource: list[Any] = [("scopeMetrics", pa.list_(pa.struct(scope))), *url]
    resource += [("resource", pa.struct([("attributes", _ATTRIBUTES)]))] if "resource" in roots else []
    return pa.list_(pa.struct(resource))


def _written(root: str, kind: str) -> Mapping[str, pa.DataType]:
    is_exponential = kind == exponential.NAME and root in ("buckets", "bounds")
    return _EXPONENTIAL if is_exponential else _WRITTEN.get(root, {})


# --- values of a type ----------------------------------------------------------------------------------------


def _none(values: pa.Array, type_: Type) -> pa.Array:
    """Returns nulls for nulls; raises `Refused` for other values."""
    if values.null_count < len(values):
        raise Refused
    return pa.nulls(len(values), arrow_type(type_))


def _of_texts(texts: pa.Array, type_: Type) -> pa.Array:
    if type_.name == "string":
        return texts
    if type_.name in FROM_TEXTS and (values := read_texts(texts, type_)) is not None:
        return values
    return _none(texts, type_)


def _of_truths(truths: pa.Array, type_: Type) -> pa.Array:
    if type_.name == "string":
        return truths.cast(pa.string())
    return truths if type_.name == "boolean" else _none(truths, type_)


def _of_doubles(doubles: pa.Array, type_: Type) -> pa.Array:
    return doubles if type_.name == "double" else _none(doubles, type_)


def _whole(texts: pa.Array) -> pa.Array:
    """Parses whole numbers, which JSON writes as strings."""
    if pa.types.is_integer(texts.type):
        return texts
    if not pc.all(pc.match_substring_regex(texts, _WHOLE), min_count=0).as_py():  # nulls are skipped
        raise Refused
    return texts.cast(pa.int64())


def _of_whole(numbers: pa.Array, type_: Type) -> pa.Array:
    match type_.name:
        case "long":
            return numbers
        case "int" | "string":
            return numbers.cast(arrow_type(type_))
        case "double":
            return numbers.cast(pa.float64(), safe=False)
        case "decimal":
            column = numbers.cast(arrow_type(type_))
            if not fits(column):
                raise Refused
            return column
        case _:
            return _none(numbers, type_)


def _of_numbers(doubles: pa.Array, texts: pa.Array, type_: Type) -> pa.Array:
    """Returns doubles, or whole numbers without doubles."""
    if doubles.null_count == len(doubles):
        return _of_whole(_whole(texts), type_)
    converted = _of_doubles(doubles, type_)
    return (
        converted
        if texts.null_count == len(texts)
        else pc.coalesce(converted, _of_whole(_whole(texts), type_))
    )


def _moments(nanoseconds: pa.Array, type_: Type) -> pa.Array:
    defined = pc.if_else(pc.equal(nanoseconds, 0), None, nanoseconds)
    if type_.name != "timestamp":
        return _of_whole(defined, type_)
    numbers = defined.fill_null(0).to_numpy() // 1000
    return pa.array(numbers, pa.int64(), mask=defined.is_null().to_numpy(zero_copy_only=False)).cast(
        arrow_type(type_)
    )


def _members(lists: pa.ListArray, name: str) -> pa.ListArray:
    """Returns the lists of a field of objects in lists; a number that is left out is 0."""
    if lists.flatten().null_count:
        raise Refused
    values = lists.flatten().field(name).fill_null(0)
    members = pa.ListArray.from_arrays(_offsets(lists), values)
    return pc.if_else(pc.greater(pc.list_value_length(lists), 0), members, None)


def _of_lists(lists: pa.ListArray, texts_of: Callable[[pa.Array], pa.Array], type_: Type) -> pa.Array:
    if type_.element is not None:
        return _of_numbers_in(lists, type_.element)
    if type_.name != "string":
        return _none(lists, type_)
    if lists.flatten().null_count:
        raise Refused
    values = texts_of(lists.flatten())
    texts = pc.binary_join(pa.ListArray.from_arrays(_offsets(lists), values), ", ")
    texts = pc.binary_join_element_wise("[", texts, "]", "")
    return pc.if_else(lists.is_valid(), texts, None)


def _of_numbers_in(lists: pa.ListArray, element: Type) -> pa.Array:
    """Returns lists of numbers. Infinities and NaN are read one by one."""
    values = lists.flatten()
    if values.null_count:
        raise Refused
    if element.name == "double":
        numbers = pc.add(_of_doubles(values, element), 0.0)
        if not pc.all(pc.is_finite(numbers), min_count=0).as_py():
            raise Refused
    else:
        numbers = _of_whole(_whole(values), element)
    listed = pa.ListArray.from_arrays(_offsets(lists), numbers)
    return pc.if_else(lists.is_valid(), listed, None)


def _counts(texts: pa.Array) -> pa.Array:
    return _whole(texts).cast(pa.string())


def _bounds(doubles: pa.Array) -> pa.Array:
    """Returns the texts of bounds. All points of a metric have the same bounds, so only distinct values are
    converted."""
    encoded = doubles.dictionary_encode()
    bounds = [shortest(bound) for bound in encoded.dictionary.to_pylist()]
    if not all(map(isfinite, bounds)):
        raise Refused
    return pa.array(map(json_text, bounds), pa.string()).take(encoded.indices)


def _offsets(lists: pa.ListArray) -> pa.Array:
    return pa.array(
        np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(lists), 0))]), pa.int32()
    )


_SOURCES: tuple[tuple[str, Callable[[pa.Array, Type], pa.Array]], ...] = (
    ("stringValue", _of_texts),
    ("boolValue", _of_truths),
    ("doubleValue", _of_doubles),
    ("bytesValue", _none),
    ("intValue", lambda texts, type_: _of_whole(_whole(texts), type_)),
    ("arrayValue", _none),
    ("kvlistValue", _none),
)


def _plain(values: pa.StructArray, type_: Type) -> pa.Array:
    columns = list(_value_columns(values, type_))
    return (
        pc.coalesce(*columns)
        if len(columns) > 1
        else columns[0]
        if columns
        else pa.nulls(len(values), arrow_type(type_))
    )


def _value_columns(values: pa.StructArray, type_: Type) -> Iterator[pa.Array]:
    for key, read in _SOURCES:
        column = field_at(values, key)
        if column.null_count < len(column):
            yield read(column, type_)
