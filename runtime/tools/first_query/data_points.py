"""Reads requests of OpenTelemetry as rows of a sample: the points of their metrics, by the paths of declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from cedilla.compiler.expressions.types.versions import is_version
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.records.otlp import KINDS, MOMENTS, TEMPORALITIES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES = ("stringValue", "boolValue", "intValue", "doubleValue")


def is_request(item: Mapping[str, Any]) -> bool:
    """Returns True for an object that is a request of metrics."""
    return isinstance(item.get("resourceMetrics"), list)


def points_of(item: Mapping[str, Any]) -> Iterator[dict[FieldPath, Any]]:
    """Yields the points of a request. Leaves out parts that the protocol does not have."""
    for resource in _objects(item, "resourceMetrics"):
        of_resource = _attributes(resource.get("resource"), "resource")
        for scope in _objects(resource, "scopeMetrics"):
            about = {**of_resource, **_versions(scope, resource)}
            for metric in _objects(scope, "metrics"):
                yield from _of_metric(metric, about)


def _of_metric(
    metric: Mapping[str, Any], of_resource: Mapping[FieldPath, Any]
) -> Iterator[dict[FieldPath, Any]]:
    kind = next((kind for kind in KINDS if isinstance(metric.get(kind), dict)), None)
    if kind is None:
        return
    names = {"metric": "name", "unit": "unit"}
    about: dict[FieldPath, Any] = {
        (name,): metric[key] for name, key in names.items() if isinstance(metric.get(key), str)
    }
    temporality = TEMPORALITIES.get(metric[kind].get("aggregationTemporality"))
    about |= {} if temporality is None else {("temporality",): temporality}
    for point in _objects(metric[kind], "dataPoints"):
        row = {**about, ("kind",): kind, **of_resource, **_attributes(point, "attribute")}
        row |= {(name,): _moment(point[key]) for name, key in MOMENTS.items() if point.get(key)}
        value = point.get("asDouble", point.get("asInt"))
        fields = {"value": value, **{name: point.get(name) for name in ("count", "sum")}}
        yield {**row, **{(name,): _number(text) for name, text in fields.items() if text is not None}}


def _versions(scope: Mapping[str, Any], resource: Mapping[str, Any]) -> dict[FieldPath, str]:
    """Returns the schema of points, as a version if its URL ends with one, and the version of their scope."""
    url, of = scope.get("schemaUrl") or resource.get("schemaUrl"), scope.get("scope")
    part = url.rpartition("/")[2] if isinstance(url, str) else None
    texts = {
        "schema": part if is_version(part) else url,
        "scope_version": of.get("version") if isinstance(of, dict) else None,
    }
    return {(name,): text for name, text in texts.items() if isinstance(text, str) and text}


def _attributes(of: Any, root: str) -> dict[FieldPath, Any]:
    values: dict[FieldPath, Any] = {}
    for entry in _objects(of, "attributes"):
        value, key = entry.get("value"), entry.get("key")
        if isinstance(value, dict) and isinstance(key, str):
            name = next((name for name in _VALUES if name in value), None)
            if name is not None:
                plain = value[name]
                values[root, key] = _number(plain) if name == "intValue" else plain
    return values


def _objects(of: Any, name: str) -> list[Mapping[str, Any]]:
    inner = of.get(name) if isinstance(of, dict) else None
    return [entry for entry in inner if isinstance(entry, dict)] if isinstance(inner, list) else []


def _moment(nanoseconds: Any) -> Any:
    """Returns a time as text, and another value unchanged."""
    try:
        return (_EPOCH + timedelta(microseconds=int(nanoseconds) // 1000)).isoformat()
    except (ValueError, TypeError, OverflowError):
        return nanoseconds


def _number(value: Any) -> Any:
    """Returns a whole number that JSON has as a text."""
    return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value
