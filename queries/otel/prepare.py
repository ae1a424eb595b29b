"""Write the telemetry of a fleet that changes the unit of its latency, as the OpenTelemetry Collector's file exporter
writes it.

    python queries/otel/prepare.py FOLDER

Four services of three instances each report every ten seconds, for two hours, a histogram (delta temporality) of their
latency. Instance by instance they change from `http.server.duration` in ms to `http.server.request.duration` in s, so
for some minutes a service reports both.
"""

import json
import shutil
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

START = 1_767_225_600  # 2026-01-01, in seconds
MINUTES = 120
EVERY = 10  # seconds
PER_FILE = 10  # minutes
INSTANCES = 3
LATENCIES = {"cart": 35.0, "checkout": 180.0, "search": 90.0, "web": 12.0}  # ms
SEED = 8415
BOUNDS = (5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000)  # ms
"""The bounds of `http.server.request.duration`. Those of SDKs for ms begin with 0."""


@dataclass(frozen=True)
class Report:
    """Ten seconds of one instance: the latencies of its requests in ms. `is_new`: it reports s."""

    time: int
    service: str
    instance: int
    latencies: tuple[float, ...]
    is_new: bool

    @property
    def count(self) -> int:
        return len(self.latencies)

    @property
    def total(self) -> float:
        return sum(self.latencies)


def buckets_of(latencies: Sequence[float], bounds: Sequence[float]) -> list[int]:
    """Returns the number of latencies up to each bound, from the one before it on, and beyond the last."""
    counts = Counter(bisect_left(bounds, latency) for latency in latencies)
    return [counts[number] for number in range(len(bounds) + 1)]


def changes(service: str, instance: int) -> int:
    """Returns the minute of an instance's new version."""
    return 20 + 22 * list(LATENCIES).index(service) + 3 * instance


def reports() -> Iterator[Report]:
    """All that happens, in the order of time."""
    chance = Random(SEED)
    for time in range(START, START + 60 * MINUTES, EVERY):
        for service, usual in LATENCIES.items():
            for instance in range(INSTANCES):
                count = chance.randrange(20, 60)
                latencies = tuple(chance.expovariate(1 / usual) for _ in range(count))
                is_new = time >= START + 60 * changes(service, instance)
                yield Report(time, service, instance, latencies, is_new)


def metric_of(report: Report) -> dict[str, Any]:
    """A metric of one data point, as OTLP has it in JSON: whole numbers of 64 bits are strings."""
    bounds = BOUNDS if report.is_new else (0, *BOUNDS)
    point = {
        "startTimeUnixNano": str((report.time - EVERY) * 10**9),
        "timeUnixNano": str(report.time * 10**9),
        "count": str(report.count),
        "sum": report.total / 1000 if report.is_new else report.total,
        "bucketCounts": [str(count) for count in buckets_of(report.latencies, bounds)],
        "explicitBounds": [bound / 1000 if report.is_new else bound for bound in bounds],
        "attributes": [{"key": "http.route", "value": {"stringValue": "/"}}],
    }
    name, unit = ("http.server.request.duration", "s") if report.is_new else ("http.server.duration", "ms")
    return {"name": name, "unit": unit, "histogram": {"aggregationTemporality": 1, "dataPoints": [point]}}


def memory_of(report: Report) -> dict[str, Any]:
    """Returns another metric of the same instance, which the query does not use."""
    point = {"timeUnixNano": str(report.time * 10**9), "asInt": str(report.count << 20)}
    return {"name": "process.memory.usage", "unit": "By", "gauge": {"dataPoints": [point]}}


def request_of(some: list[Report]) -> str:
    """One line: what all instances report at one moment."""
    resources = [
        {
            "resource": {
                "attributes": [
                    {"key": "service.name", "value": {"stringValue": report.service}},
                    {
                        "key": "service.instance.id",
                        "value": {"stringValue": f"{report.service}-{report.instance}"},
                    },
                ]
            },
            "scopeMetrics": [{"scope": {"name": "http"}, "metrics": [metric_of(report), memory_of(report)]}],
        }
        for report in some
    ]
    return json.dumps({"resourceMetrics": resources})


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files: dict[int, list[str]] = {}
    moment: list[Report] = []
    for report in reports():
        if moment and moment[0].time != report.time:
            files.setdefault((moment[0].time - START) // (60 * PER_FILE), []).append(request_of(moment))
            moment = []
        moment.append(report)
    files.setdefault(MINUTES // PER_FILE - 1, []).append(request_of(moment))
    files[MINUTES // PER_FILE] = [json.dumps({"$punctuation": "[]"})]  # the end of the telemetry
    for number, lines in files.items():
        (folder / f"metrics-{number:02}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    print(f"{sum(map(len, files.values()))} lines in {len(files)} files of {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
