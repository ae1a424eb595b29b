"""Metrics of a run for Prometheus, from the same model as the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from cedilla.grammar.diagnostics.printable import as_utf8
from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.tools.inspect.run_model import Model


def registry_of(feed: Feed) -> CollectorRegistry:
    """Returns a registry whose metrics are read from a feed at each scrape."""
    registry = CollectorRegistry()
    registry.register(RunCollector(feed))
    return registry


class RunCollector(Collector):
    """Collects the metrics of one run. Nothing is asked before the first scrape."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def describe(self) -> Iterator[Any]:
        """Describes nothing: names do not depend on the run."""
        return iter(())

    def collect(self) -> Iterator[Any]:
        model = self._feed.get()
        if "problems" in model:
            yield _gauge("up", "1 while the process of the run is there.", (), {(): 0})
            return
        yield from _run(model)
        yield from _streams(model)
        yield from _members(model)


def _run(model: Model) -> Iterator[Any]:
    run, totals, accents = model["run"], model["totals"], model["accents"]
    yield _gauge("up", "1 while the process of the run is there.", (), {(): int(run["state"] == "running")})
    if run["epoch"] is not None:
        yield _gauge("epoch", "The last committed epoch.", (), {(): run["epoch"]})
        yield _gauge("commit_age_seconds", "Seconds since the last commit.", (), {(): run["age"]})
        yield _gauge("commit_time_seconds", "The last commit, in Unix time.", (), {(): run["committed"]})
    yield _counter("epochs", "Epochs, by the journal.", (), {(): totals["epochs"]})
    yield _counter("epoch_seconds", "Seconds of epochs by phase.", ("phase",), _by_name(totals["phases"]))
    yield _counter("tuples", "Tuples read.", ("source",), _by_name(totals["read"]))
    yield _counter("written_tuples", "Tuples written.", ("output",), _by_name(totals["written"]))
    yield _counter("rejected", "Rejected lines and markers.", ("code",), _by_name(totals["rejected"]))
    lines = {(row["source"], row["code"]): row["count"] for row in model["quarantine"]}
    yield _gauge("quarantine_lines", "Lines in the quarantine.", ("source", "code"), lines)
    yield _counter("accents", "Accents read, by the journal.", (), {(): accents["read"]})
    yield _gauge("accents_in_force", "Accents in force at the sources.", (), {(): accents["in_force"]})
    yield _gauge("accents_waiting", "Accents that wait at an operator.", (), {(): accents["waiting"]})
    yield _gauge("doubtful", "Doubtful accents and jumps.", (), {(): len(model["doubtful"])})
    rows = {(row["name"],): row["rows"] or 0 for row in model["state"]}
    sizes = {(row["name"],): row["bytes"] for row in model["state"]}
    yield _gauge("state_rows", "Rows of state.", ("operator",), rows)
    yield _gauge("state_bytes", "Bytes of state.", ("operator",), sizes)


def _streams(model: Model) -> Iterator[Any]:
    yield _gauge("backlog_files", "Files that no epoch has read.", ("source",), _by_name(model["files_left"]))
    records, text = model["records_left"], "Records of a topic that no epoch had read at the last commit."
    yield _gauge("backlog_records", text, ("source",), _by_name(records))
    closed = [(s["name"], s["closed"]) for s in model["sources"] if s.get("closed")]
    values = {
        (name, at["attribute"]): at["value"] / (1e6 if at["behind"] is not None else 1)
        for name, at in closed
        if at["value"] is not None
    }
    text = "The value before which event time is closed; timestamps in Unix time."
    yield _gauge("closed_event_time", text, ("source", "attribute"), values)


def _members(model: Model) -> Iterator[Any]:
    rows = [
        ((source["name"], group["attribute"], row["value"]), row)
        for source in model["sources"]
        for group in source["groups"]
        for row in group["rows"]
    ]
    labels = ("source", "attribute", "value")
    last_seen = {key: row["last"] for key, row in rows if row["last"] is not None}
    tuples = {key: row["total"] for key, row in rows if row["last"] is not None}
    yield _gauge(
        "last_seen_time_seconds", "When a described value came last, in Unix time.", labels, last_seen
    )
    yield _counter("member_tuples", "Tuples of a described value.", labels, tuples)


def _by_name(values: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    return {(name,): value for name, value in values.items()}


def _gauge(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float | None]
) -> Any:
    return _filled(GaugeMetricFamily(f"cedilla_{name}", text, labels=labels), values)


def _counter(
    name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float | None]
) -> Any:
    return _filled(CounterMetricFamily(f"cedilla_{name}", text, labels=labels), values)


def _filled(family: Any, values: Mapping[tuple[str, ...], float | None]) -> Any:
    shown = {tuple(as_utf8(str(label)) for label in labels): value for labels, value in values.items()}
    for labels, value in shown.items():
        if value is not None:
            family.add_metric(labels, float(value))
    return family
