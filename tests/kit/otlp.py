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
    """A line with data points: `metric`, `unit`, `time` in seconds, `resource`, `attributes`, and `double`, `int`, or
    `count` and `sum`, of a histogram with `buckets`, `bounds` and `temporality`."""
    message = ExportMetricsServiceRequest()
    for each in points:
        resource = message.resource_metrics.add()
        set_attributes(resource.resource.attributes, each.get("resource", {}))
        scope = resource.scope_metrics.add()
        scope.scope.name = "tests"
        metric = scope.metrics.add(name=each["metric"], unit=each.get("unit", ""))
        if "count" in each:
            metric.histogram.aggregation_temporality = each.get("temporality", AGGREGATION_TEMPORALITY_DELTA)
            point: Any = metric.histogram.data_points.add(count=each["count"], sum=each["sum"])
            point.bucket_counts.extend(each.get("buckets", []))
            point.explicit_bounds.extend(each.get("bounds", []))
        else:
            point = metric.gauge.data_points.add()
            if "int" in each:
                point.as_int = each["int"]
            else:
                point.as_double = each["double"]
        point.time_unix_nano = round(each["time"] * NANOSECONDS)
        set_attributes(point.attributes, each.get("attributes", {}))
    return line_of(message)


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
                for each in value:
                    of.array_value.values.add().string_value = each
