"""Data points of OpenTelemetry: a line is an `ExportMetricsServiceRequest` in JSON, as the Collector writes it, and
each of its data points is a tuple.

This module parses point by point; `connectors/formats/otlp` does the same for many lines at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath, TextPath
from cedilla.compiler.plan.record_fields import origin_text
from cedilla.compiler.plan.telemetry import keys_in_point
from cedilla.runtime.connectors.records import exponential
from cedilla.runtime.connectors.records.json_objects import JsonObject, json_text
from cedilla.runtime.connectors.records.nested import Paths, in_text, read_from

NO_REQUEST = "the line is not an ExportMetricsServiceRequest in JSON"
KINDS = ("sum", "gauge", "histogram", "exponentialHistogram", "summary")
"""The kinds of metrics, by the keys of their data."""
TEMPORALITIES = {1: "delta", 2: "cumulative"}
MOMENTS = {"start": "startTimeUnixNano", "time": "timeUnixNano"}
"""Fields in nanoseconds since 1970; 0 means unknown."""
FIELDS_OF = {
    "temporality": ("sum", "histogram", "exponentialHistogram"),
    "monotonic": ("sum",),
    "value": ("sum", "gauge"),
    "count": ("histogram", "exponentialHistogram", "summary"),
    "sum": ("histogram", "exponentialHistogram", "summary"),
    "min": ("histogram", "exponentialHistogram"),
    "max": ("histogram", "exponentialHistogram"),
    "buckets": ("histogram", exponential.NAME),
    "bounds": ("histogram", exponential.NAME),
    "quantiles": ("summary",),
    "quantile_values": ("summary",),
}
"""The kinds of metrics whose points have a field, for fields that not all kinds have."""
_NAMED = {f"AGGREGATION_TEMPORALITY_{name.upper()}": name for name in TEMPORALITIES.values()}
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_Parts = tuple[Any, Any, Any, str, Any]
"""The resource, scope, metric, kind and data point of a tuple."""


class Point(JsonObject):
    """A data point by the names of attributes, which `reader` has read from `parts`. `is_replaced`: its request has a
    newer metric of the same instance and time (theory N16)."""

    is_replaced: bool = False
    reader: PointReader
    parts: _Parts

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        return {name: json_text(self[name]) for name in names}

    def shown(self, name: str) -> str:
        """Returns a value and its path for a message."""
        value = self[name]
        plain = super().shown(name) if isinstance(value, bool | str | dict | list) else json_text(value)
        return f"{plain}{read_from(name, self.reader.paths)}"

    def with_fields(self, types: Mapping[str, Type]) -> Point:
        return (
            self if types.keys() <= self.reader.types.keys() else self._by(evolve(self.reader, types=types))
        )

    def with_paths(self, paths: Paths) -> Point:
        return self._by(evolve(self.reader, paths=paths))

    def _by(self, reader: PointReader) -> Point:
        point = reader.point(self.parts)
        point.line, point.is_replaced = self.line, self.is_replaced
        return point


@frozen(slots=False)
class PointReader:
    """Reads data points. `types`: the types of the wanted attributes. `paths`: the paths of declared attributes that
    are not in the field of their name. `metrics`: the wanted metrics; all if empty. `over`: pairs of metrics: the
    first replaces the second."""

    types: Mapping[str, Type]
    paths: Paths = field(factory=dict[str, FieldPath])
    metrics: tuple[str, ...] = ()
    over: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, source: Source) -> PointReader:
        return cls({a.name: a.type for a in source.attributes}, source.paths, source.metrics, source.over)

    def keys(self, name: str) -> FieldPath:
        """Returns the path of an attribute in a data point."""
        return keys_in_point(name, self.paths.get(name, ()))

    def points(self, request: JsonObject) -> Iterator[Point]:
        """Yields the data points of a request in order. Raises `ValueError` if it is malformed."""
        raw = [*self._raw(request)] if self.over else self._raw(request)
        replaced = self._replaced(raw) if isinstance(raw, list) else set[int]()
        beside = {
            name: request[keys[0]]
            for name, keys in self.of_records.items()
            if request.get(keys[0]) is not None
        }
        for number, parts in enumerate(raw):
            point = self.point(parts)
            point.is_replaced = number in replaced
            point.update(beside)
            yield point

    @cached_property
    def of_records(self) -> Mapping[str, FieldPath]:
        """The attributes that are fields of the records of a topic, which are outside of a request, and their paths."""
        paths = {name: self.keys(name) for name in self.types}
        return {name: keys for name, keys in paths.items() if origin_text(keys) is not None}

    @cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """The metrics with several names: the number of the quantity, and the rank of the name, the newest first."""
        ranks: dict[str, tuple[int, int]] = {}
        for number, (new, old) in enumerate(self.over):
            chain, rank = ranks.setdefault(new, (number, 0))
            ranks[old] = chain, rank + 1
        return ranks

    def _replaced(self, raw: Sequence[_Parts]) -> set[int]:
        """Returns the numbers of the points of an instance and time that have a newer name there, too."""
        keys = {n: self._instance(parts) for n, parts in enumerate(raw) if parts[2].get("name") in self.ranks}
        ranks = {n: self.ranks[raw[n][2]["name"]][1] for n in keys}
        newest: dict[Any, int] = {}
        for number, key in keys.items():
            newest[key] = min(ranks[number], newest.get(key, ranks[number]))
        return {number for number, key in keys.items() if ranks[number] > newest[key]}

    def _instance(self, parts: _Parts) -> tuple[Any, ...]:
        """Returns what the points of several names of one quantity share: resource, scope and time."""
        resource, scope, metric, _, point = parts
        time = _integer(point.get(MOMENTS["time"]))
        return (
            self.ranks[metric["name"]][0],
            instance_text(_objects(_object(resource, "resource"), "attributes")),
            json_text(_object(scope, "scope").get("name")),
            json_text(time),
        )

    def only(self, request: JsonObject, number: int) -> dict[str, Any] | None:
        """Returns the request with only one of its data points, by number; `None` if it has no such point."""
        try:
            parts = next((raw for n, raw in enumerate(self._raw(request)) if n == number), None)
        except ValueError:
            return None
        if parts is None:
            return None
        resource, scope, metric, kind, point = parts
        name_and_unit = {key: value for key, value in metric.items() if key not in KINDS}
        one = {**name_and_unit, kind: {**metric[kind], "dataPoints": [point]}}
        in_scope = {**_only(scope, "scope", "schemaUrl"), "metrics": [one]}
        of = _only(resource, "resource", "schemaUrl")
        beside = {keys[0]: request[keys[0]] for keys in self.of_records.values() if keys[0] in request}
        return {**beside, "resourceMetrics": [{**of, "scopeMetrics": [in_scope]}]}

    def _raw(self, request: Mapping[str, Any]) -> Iterator[_Parts]:
        if request and request.get("resourceMetrics") is None:
            raise ValueError(NO_REQUEST)
        for resource in _objects(request, "resourceMetrics"):
            for scope in _objects(resource, "scopeMetrics"):
                for metric in _objects(scope, "metrics"):
                    kinds = [kind for kind in KINDS if metric.get(kind) is not None]
                    if self.metrics and metric.get("name") not in self.metrics:
                        continue
                    for kind in kinds:
                        for point in _objects(_object(metric, kind), "dataPoints"):
                            flags = point.get("flags") or 0
                            if not isinstance(flags, int):
                                raise ValueError(NO_REQUEST)
                            if not flags & 1:  # else nothing was recorded
                                yield resource, scope, metric, kind, point

    def point(self, parts: _Parts) -> Point:
        """Returns the tuple of a data point."""
        point = Point(self._values(*parts, self.types))
        point.reader, point.parts = self, parts
        return point

    def _values(
        self, resource: Any, scope: Any, metric: Any, kind: str, point: Any, types: Mapping[str, Type]
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, type_ in types.items():
            root, *rest = self.keys(name)
            match root:
                case "resource":
                    value = _attribute(_object(resource, "resource"), rest[0])
                case "attribute":
                    value = _attribute(point, rest[0])
                case "scope":
                    value = _object(scope, "scope").get(rest[0])
                case "scope_version":
                    value = _object(scope, "scope").get("version") or None
                case "schema":
                    value = _schema(scope.get("schemaUrl") or resource.get("schemaUrl") or None, type_)
                case _:
                    value = _field(root, metric, kind, point, type_)
            if value is not None:
                values[name] = in_text(value) if isinstance(self.paths.get(name), TextPath) else value
        return values


def _only(of: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: of[key] for key in keys if key in of}


def _schema(url: Any, type_: Type) -> Any:
    """Returns the URL of a schema; as a version the last part of its path."""
    return url.rpartition("/")[2] if type_.name == "version" and isinstance(url, str) else url


def instance_text(attributes: Iterable[Mapping[str, Any]]) -> str:
    """Returns the attributes of a resource as a text that does not depend on their order."""
    return json_text(sorted(json_text(attribute) for attribute in attributes))


def _objects(of: Mapping[str, Any], key: str) -> list[Any]:
    objects = of.get(key)
    if objects is None:
        return []
    if not isinstance(objects, list) or not all(isinstance(item, dict) for item in objects):  # type: ignore[reportUnknownVariableType]
        raise ValueError(NO_REQUEST)
    return objects  # type: ignore[reportUnknownVariableType]


def _object(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = of.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(NO_REQUEST)
    return value  # type: ignore[reportUnknownVariableType]


def _attribute(of: Mapping[str, Any], key: str) -> Any:
    """Returns the value of an attribute; of several with the same key, the last one."""
    value = None
    for item in _objects(of, "attributes"):
        if item.get("key") == key:
            value = _plain(_object(item, "value"))
    return value


def _plain(value: Mapping[str, Any]) -> Any:
    """Returns an `AnyValue` as in JSON."""
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if value.get(key) is not None:
            return value[key]
    if value.get("intValue") is not None:
        return _integer(value["intValue"])
    if value.get("arrayValue") is not None:
        return [_plain(item) for item in _objects(_object(value, "arrayValue"), "values")]
    if value.get("kvlistValue") is not None:
        pairs = _objects(_object(value, "kvlistValue"), "values")
        return {str(item.get("key")): _plain(_object(item, "value")) for item in pairs}
    return None


def _integer(value: Any) -> Any:
    """Returns a number of 64 bits, which JSON writes as a string."""
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else value


def _bound(value: Any) -> Any:
    """Returns a bucket's bound as the exact double; other values are returned unchanged."""
    value = _integer(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return value
    try:
        return shortest(float(value))
    except OverflowError:
        return value


def shortest(double: float) -> Decimal | float:
    """Returns the number with the fewest digits that equals a finite double."""
    return Decimal(repr(double + 0.0)).normalize() if isfinite(double) else double


def _field(name: str, metric: Mapping[str, Any], kind: str, point: Mapping[str, Any], type_: Type) -> Any:
    if kind not in FIELDS_OF.get(name, KINDS):
        return None
    match name:
        case "metric":
            return metric.get("name")
        case "unit" | "description":
            return metric.get(name)
        case "kind":
            return kind
        case "temporality":
            temporality = _object(metric, kind).get("aggregationTemporality")
            return (
                TEMPORALITIES.get(temporality)
                if isinstance(temporality, int)
                else _NAMED.get(str(temporality))
            )
        case "monotonic":
            return _present(_object(metric, kind).get("isMonotonic"), False)
        case "start" | "time":
            return _moment(_integer(point.get(MOMENTS[name])), type_)
        case "value":
            value = point.get("asDouble")
            return _integer(point.get("asInt")) if value is None else value
        case "count":
            return _present(_integer(point.get("count")), 0)
        case "sum" if kind == "summary":
            return _present(point.get("sum"), 0)
        case "quantiles" | "quantile_values":
            key = "quantile" if name == "quantiles" else "value"
            listed = _objects(point, "quantileValues")
            return [_bound(_present(item.get(key), 0)) for item in listed] or None
        case "buckets" | "bounds" if kind == exponential.NAME:
            listed = exponential.listed(point, name, _integer, _bound)
            is_of_bounds = name == "bounds" and isinstance(listed, list)
            return [*map(shortest, listed)] if is_of_bounds else listed  # type: ignore[reportUnknownArgumentType]
        case "buckets" | "bounds":
            listed = point.get("bucketCounts" if name == "buckets" else "explicitBounds")
            read = _integer if name == "buckets" else _bound
            return [read(item) for item in listed] if isinstance(listed, list) else listed  # type: ignore[reportUnknownVariableType]
        case _:
            return point.get(name)


def _present(value: Any, default: Any) -> Any:
    """Returns a value that protobuf always has, and JSON leaves out if it is the default."""
    return default if value is None else value


def _moment(nanoseconds: Any, type_: Type) -> Any:
    """Converts nanoseconds since 1970; a timestamp is cut to microseconds."""
    if nanoseconds == 0:
        return None
    if type_.name != "timestamp" or not isinstance(nanoseconds, int):
        return nanoseconds
    try:
        moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return nanoseconds
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
