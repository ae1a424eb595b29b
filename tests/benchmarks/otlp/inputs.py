"""Requests of OpenTelemetry in files, as the Collector's file exporter writes them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.benchmarks.contest import INPUTS
from tests.benchmarks.inputs import in_order

START = 1_767_225_600
EXTENT = 600
"""Seconds of event time in an epoch."""
SERVICES = 20
BATCH = 100
"""Data points of a request: the instances that report in one moment."""
NANOSECONDS = 10**9


@frozen
class Size:
    """Data points of an epoch, and epochs."""

    rows: int
    epochs: int

    @property
    def folder(self) -> Path:
        """Files of requests, one for each epoch."""
        return INPUTS / "otlp" / f"latency-{self.rows}x{self.epochs}"

    @property
    def closed(self) -> str:
        """SQL: the minutes that end before the heartbeat of the last epoch but one, whatever its delay."""
        return f"minute < timestamp_seconds({START + (self.epochs - 1) * EXTENT})"


def prepare(size: Size) -> None:
    """Write the files; what is there already is left as it is."""
    if size.folder.exists():
        return
    chosen = random.Random(1)
    with in_order(size.folder) as folder:
        for epoch in range(size.epochs):
            lines = _requests(size, epoch, chosen)
            (folder / f"{epoch:06d}.json").write_text("".join(f"{line}\n" for line in lines))


def _requests(size: Size, epoch: int, chosen: random.Random) -> Iterator[str]:
    count = size.rows // BATCH
    for number in range(count):
        time = START + epoch * EXTENT + number * EXTENT // count
        services = [chosen.randrange(SERVICES) for _ in range(BATCH)]
        yield json.dumps({"resourceMetrics": [_resource(service, time, chosen) for service in services]})


def _resource(service: int, time: int, chosen: random.Random) -> dict[str, Any]:
    """What one instance says: a histogram of one data point, in s once its service has gone over."""
    is_new = time >= START + EXTENT * (1 + service % 4)
    count, total = chosen.randrange(20, 60), float(chosen.randrange(1_000, 9_000))
    point = {
        "startTimeUnixNano": str((time - 10) * NANOSECONDS),
        "timeUnixNano": str(time * NANOSECONDS),
        "count": str(count),
        "sum": total / 1000 if is_new else total,
        "bucketCounts": [str(count)],
        "attributes": [{"key": "http.route", "value": {"stringValue": "/"}}],
    }
    name, unit = ("http.server.request.duration", "s") if is_new else ("http.server.duration", "ms")
    metric = {"name": name, "unit": unit, "histogram": {"aggregationTemporality": 1, "dataPoints": [point]}}
    key = {"key": "service.name", "value": {"stringValue": f"service-{service}"}}
    return {
        "resource": {"attributes": [key]},
        "scopeMetrics": [{"scope": {"name": "http"}, "metrics": [metric]}],
    }
