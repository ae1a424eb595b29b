"""Requests of OpenTelemetry for tests, encoded by its own messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("opentelemetry.proto")

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA

NANOSECONDS = 1_000_000_000


def request(points: Sequence[Mapping[str, Any]]) -> str:
    """The line of `message_of`."""
    return line_of(message_of(points))


def framed(*messages: bytes) -> bytes:
    """A file of messages, as the Collector's file exporter writes them with `format: proto`."""
    return b"".join(len(message).to_bytes(4) + message for message in messages)


def message_of(points: Sequence[Mapping[str, Any]]) -> Any:
    """A request with data points: `metric`, `unit`, `time` in seconds, `resource`, `attributes`, and `double`, `int`,
    or `count` and `sum`, of a histogram with `buckets`, `bounds` and `temporality`. With a `scale` it is exponential,
    with `zeros`, `around` (0), and `negative` and `positive`, each the first index and counts."""
    message = ExportMetricsServiceRequest()
    point: Any
    for reading in points:
        resource = message.resource_metrics.add()
        set_attributes(resource.resource.attributes, reading.get("resource", {}))
        scope = resource.scope_metrics.add()
        scope.scope.name = "tests"
        metric = scope.metrics.add(name=reading["metric"], unit=reading.get("unit", ""))
        if "scale" in reading:
            point = _exponential(metric.exponential_histogram, reading)
        elif "count" in reading:
            metric.histogram.aggregation_temporality = reading.get(
                "temporality", AGGREGATION_TEMPORALITY_DELTA
            )
            point = metric.histogram.data_points.add(count=reading["count"], sum=reading["sum"])
            point.bucket_counts.extend(reading.get("buckets", []))
            point.explicit_bounds.extend(reading.get("bounds", []))
        else:
            point = metric.gauge.data_points.add()
            if "int" in reading:
                point.as_int = reading["int"]
            else:
                point.as_double = reading["double"]
        point.time_unix_nano = round(reading["time"] * NANOSECONDS)
        set_attributes(point.attributes, reading.get("attributes", {}))
    return message


def _exponential(to: Any, reading: Mapping[str, Any]) -> Any:
    to.aggregation_temporality = reading.get("temporality", AGGREGATION_TEMPORALITY_DELTA)
    zeros, around = reading.get("zeros", 0), reading.get("around", 0)
    counted = {"count": reading["count"], "zero_count": zeros, "zero_threshold": around}
    point = to.data_points.add(scale=reading["scale"], **counted)
    for side in {"negative", "positive"} & reading.keys():
        of = getattr(point, side)
        of.offset, counts = reading[side]
        of.bucket_counts.extend(counts)
    return point


def line_of(message: Any) -> str:
    """A message in JSON, as the Collector writes it: numbers of enumerations, one line."""
    return MessageToJson(message, indent=None, use_integers_for_enums=True)


def set_attributes(to: Any, attributes: Mapping[str, Any]) -> None:
    """Add attributes by the types of their values."""
    for key, value in attributes.items():
        of = to.add(key=key).value
        match value:
            case bool():
                of.bool_value = value
            case int():
                of.int_value = value
            case float():
                of.double_value = value
            case str():
                of.string_value = value
            case _:
                for element in value:
                    of.array_value.values.add().string_value = element
