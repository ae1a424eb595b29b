"""Random requests of OpenTelemetry, and a stream of them with its results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cedilla.compiler.expressions.types import Type, array_of
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.records.otlp import KINDS, PointReader
from tests.kit.otlp import request
from tests.kit.stream import Item, decode, read_output

TYPES = {
    "metric": Type("string"),
    "unit": Type("string"),
    "kind": Type("string"),
    "temporality": Type("string"),
    "monotonic": Type("boolean"),
    "start": Type("long"),
    "time": Type("timestamp"),
    "value": Type("double"),
    "whole": Type("long"),
    "count": Type("long"),
    "sum": Type("double"),
    "least": Type("double"),
    "buckets": Type("string"),
    "bounds": Type("string"),
    "counts": array_of(Type("long")),
    "edges": array_of(Type("double")),
    "quantiles": array_of(Type("double")),
    "levels": array_of(Type("double")),
    "quantile_values": Type("string"),
    "service": Type("string"),
    "host": Type("string"),
    "route": Type("string"),
    "status": Type("int"),
    "share": Type("double"),
    "ok": Type("boolean"),
    "at": Type("timestamp"),
    "price": Type("decimal", (10, 2)),
    "library": Type("string"),
    "schema": Type("string"),
    "conventions": Type("version"),
    "scope_version": Type("version"),
}
PATHS = {
    "least": ("min",),
    "service": ("resource", "service.name"),
    "host": ("resource", "host.name"),
    "route": ("attribute", "http.route"),
    "status": ("attribute", "status"),
    "share": ("attribute", "share"),
    "ok": ("attribute", "ok"),
    "price": ("attribute", "price"),
    "counts": ("buckets",),
    "edges": ("bounds",),
    "levels": ("quantile_values",),
    "library": ("scope", "name"),
    "conventions": ("schema",),
}
NUMBERS = ['"5"', '"-7"', '"0"', '"9223372036854775807"']
BOUNDS = ["0", "1", "2.50", "0.1", "1e-7", "1E+22", "-0.0", "12345678901234567890", "100000"]
ODD = [
    "5",
    "1.5",
    '"x"',
    '""',
    "null",
    "{}",
    "[]",
    "true",
    '"NaN"',
    '"007"',
    '"+5"',
    '" 5"',
    '"0x10"',
    '"9223372036854775808"',
]
ANY = ['{"stringValue": "a"}', '{"intValue": "5"}', '{"doubleValue": 1.5}', '{"boolValue": true}', "{}"]
ODD_ANY = [
    '{"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "2"}]}}',
    '{"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": 2.50}}]}}',
    '{"bytesValue": "YQ=="}',
    '{"intValue": 5}',
    '{"intValue": "x"}',
    '{"doubleValue": "NaN"}',
    '{"stringValue": 5}',
    "null",
    '"a"',
]
OF_TYPE = {
    "http.route": [0],
    "status": [1],
    "share": [1, 2],
    "ok": [3],
    "at": [],
    "price": [1],
    "service.name": [0],
    "host.name": [0, 1, 3, 4],
    "other": range(5),
}


class Writer:
    """Random requests; a part `odd` of all values has unknown types."""

    def __init__(self, seed: int, odd: float) -> None:
        self.chance, self.odd = Random(seed), odd

    def is_odd(self) -> bool:
        return self.chance.random() < self.odd

    def object(self, **fields: str) -> str:
        some = [(name, text) for name, text in fields.items() if self.chance.random() < 0.9]
        return (
            "{"
            + ", ".join(
                f'"{name}": {self.chance.choice(ODD) if self.is_odd() else text}' for name, text in some
            )
            + "}"
        )

    def list(self, write: Any, most: int) -> str:
        return f"[{', '.join(write() for _ in range(self.chance.randrange(most + 1)))}]"

    def attribute(self) -> str:
        key = self.chance.choice(list(OF_TYPE))
        usual = [ANY[n] for n in OF_TYPE[key]] or ['{"stringValue": "2026-01-02T03:04:05Z"}']
        return self.object(
            key=json.dumps(key), value=self.chance.choice([*ANY, *ODD_ANY] if self.is_odd() else usual)
        )

    def attributes(self) -> str:
        return self.list(self.attribute, 4)

    def point(self, kind: str) -> str:
        fields: dict[str, str] = {"attributes": self.attributes(), "timeUnixNano": '"1700000000123456789"'}
        fields["startTimeUnixNano"] = self.chance.choice(['"0"', '"1600000000000000000"'])
        if self.chance.random() < 0.2:
            fields["flags"] = self.chance.choice(["0", "1", "2", "3"])
        if kind in ("sum", "gauge"):
            fields |= (
                {"asInt": self.chance.choice(NUMBERS)} if self.chance.random() < 0.5 else {"asDouble": "1.5"}
            )
        else:
            fields |= {"count": self.chance.choice(NUMBERS), "sum": "2.5", "min": "0.5", "max": "7"}
            if kind == "exponentialHistogram":
                fields |= {
                    "scale": self.chance.choice(["-1", "0", "3", "20"]),
                    "zeroCount": self.chance.choice(NUMBERS),
                    "zeroThreshold": self.chance.choice(["0", "0.001", "2.5"]),
                    "negative": self.side(),
                    "positive": self.side(),
                }
            fields |= {
                "bucketCounts": self.list(lambda: self.chance.choice(NUMBERS), 3),
                "explicitBounds": self.list(lambda: self.chance.choice(BOUNDS), 4),
                "quantileValues": self.list(
                    lambda: self.object(quantile="0.5", value=self.chance.choice(BOUNDS)), 2
                ),
            }
        return self.object(**fields)

    def side(self) -> str:
        offset = self.chance.choice(["-1075", "-3", "0", "7", "1000000"])
        return self.object(offset=offset, bucketCounts=self.list(lambda: self.chance.choice(NUMBERS), 4))

    def metric(self) -> str:
        kind = self.chance.choice([*KINDS, "histogram", "gauge"])
        data = self.object(
            dataPoints=self.list(lambda: self.point(kind), 4),
            aggregationTemporality=self.chance.choice("0123"),
            isMonotonic="true",
        )
        name, unit = self.chance.choice(['"a"', '"b"', '"c"']), self.chance.choice(['"ms"', '"s"', '""'])
        return self.object(name=name, unit=unit, **{kind: data})

    def scope(self) -> str:
        lib = self.object(name='"lib"', version=self.chance.choice(['"1.2"', '"v3.0.1"', '""']))
        return self.object(scope=lib, metrics=self.list(self.metric, 3), schemaUrl=self.url())

    def resource(self) -> str:
        return self.object(
            resource=f'{{"attributes": {self.attributes()}}}',
            scopeMetrics=self.list(self.scope, 2),
            schemaUrl=self.url(),
        )

    def url(self) -> str:
        return self.chance.choice(
            ['""', '"https://opentelemetry.io/schemas/1.21.0"', '"https://a/b/1.40.0-dev"']
        )

    def line(self) -> str:
        if self.is_odd():
            return self.chance.choice(['{"resourceSpans": []}', "{}", "5", '{"resourceMetrics": [5]}', "no"])
        return f'{{"resourceMetrics": {self.list(self.resource, 3)}}}'


def batches(metrics: tuple[str, ...] = (), *, plain: bool = False) -> PointBatches:
    types = {name: type_ for name, type_ in TYPES.items() if not plain or name not in ("whole", "price")}
    return PointBatches(types, reader=PointReader(types, PATHS, metrics))


QUERY = """
stream latency(time: timestamp, unit: string, service: string from resource "service.name" in {"cart", "web"},
               status?: int from attribute "http.status", count: long unit "{request}",
               temporality: string in {"delta"},
               sum: double unit from unit in {ms, s})
  from otlp "in/latency"
  punctuated on time
  metrics "http.server.duration", "http.server.request.duration";
minutes := window[1 minute on time as minute](latency);
totals := aggregate[sum(sum) as total, sum(count) as n by service, minute](minutes);
averages := project[service, minute, total / n as average, n](totals);
points := project[service, time, status, count](latency);
emit averages to json "out/averages" with average in ms;
emit points to json "out/points";
"""


def old(service: str, time: float, sum_: float, count: int = 1, **more: Any) -> dict[str, Any]:
    named = {"metric": "http.server.duration", "unit": "ms", "time": time, "count": count, "sum": sum_}
    return {**named, "resource": {"service.name": service}, **more}


def new(service: str, time: float, sum_: float, count: int = 1, **more: Any) -> dict[str, Any]:
    return {**old(service, time, sum_, count, **more), "metric": "http.server.request.duration", "unit": "s"}


LINES: list[list[Item | str]] = [
    [
        request(
            [old("cart", 1, 100), old("web", 2, 300, 2), {"metric": "jvm", "unit": "By", "time": 2, "int": 5}]
        ),
        request([new("cart", 30, 0.3), old("web", 31, 60)]),
        {"$accent": '[[service = "web", -(status)]]'},
        request(
            [
                old("web", 32, 60, attributes={"http.status": 200}),
                new("cart", 33, 0.1, attributes={"http.status": 404}),
            ]
        ),
        {"$punctuation": '[time < "1970-01-01T00:01:00Z"]'},
    ],
    [
        request(
            [
                new("cart", 61, 0.2),
                new("cart", 59, 5.0),
                {**new("web", 62, 0.4), "unit": "us"},
                new("db", 62, 1),
            ]
        ),
        '{"resourceSpans": []}',
        request([new("cart", 62, 0.2, attributes={"http.status": "bad"}), new("web", 63, 0.5)]),
        {"$punctuation": "[]"},
    ],
]
AVERAGES = [
    {"service": "cart", "minute": 0, "n": 3, "average": 500 / 3},
    {"service": "cart", "minute": 1, "n": 1, "average": 200},
    {"service": "web", "minute": 0, "n": 3, "average": 120},
    {"service": "web", "minute": 1, "n": 1, "average": 500},
]
REASONS = {
    ("RQ301", "the line is not an ExportMetricsServiceRequest in JSON"),
    ("RQ301", '`status` must be an int, found "bad" (read from attribute.`http.status`)'),
    ("RQ303", "`service` has a value outside of its domain (read from resource.`service.name`)"),
    (
        "RQ304",
        "tuples like this one have no `status`: they come before its add, or after its drop "
        "(read from attribute.`http.status`)",
    ),
    ("RQ305", "the tuple is late, because a punctuation or a heartbeat promised that none like it follows"),
    ("RQ311", "`sum` is in a unit that its declaration does not name"),
}


def approximate(item: Mapping[str, Any]) -> Item:
    return {
        name: value if isinstance(value, str) else pytest.approx(float(value)) for name, value in item.items()
    }


def check_averages(folder: Path) -> None:
    actual = sorted(decode(read_output(folder / "averages")), key=lambda row: (row["service"], row["minute"]))
    assert [approximate(row) for row in actual] == AVERAGES
    points = decode(read_output(folder / "points"))
    assert sorted((row["service"], row["time"], row.get("status")) for row in points) == [
        ("cart", "1970-01-01T00:00:01.000000Z", None),
        ("cart", "1970-01-01T00:00:30.000000Z", None),
        ("cart", "1970-01-01T00:00:33.000000Z", 404),
        ("cart", "1970-01-01T00:01:01.000000Z", None),
        ("web", "1970-01-01T00:00:02.000000Z", None),
        ("web", "1970-01-01T00:00:31.000000Z", None),
        ("web", "1970-01-01T00:01:03.000000Z", None),
    ]
