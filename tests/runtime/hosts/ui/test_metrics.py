"""Metrics of a run with texts of strangers."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_open_metrics
from prometheus_client.parser import text_string_to_metric_families

from cedilla.grammar.diagnostics.printable import as_utf8
from cedilla.runtime.hosts.ui.metrics import RunCollector
from tests.kit.foreign_text import TEXTS

WRITERS = {"prometheus": generate_latest, "open metrics": generate_open_metrics}


@frozen
class OfText:
    """A feed whose model has one text for all names and values."""

    text: str

    def get(self) -> Any:
        run = {"state": "running", "epoch": 1, "age": 1.0, "committed": 2.0}
        group = {"attribute": self.text, "rows": [{"value": self.text, "last": 1.0, "total": 2}]}
        closed = {"attribute": self.text, "value": 1, "behind": None}
        return {
            "run": run,
            "totals": {
                "epochs": 1,
                "phases": {},
                "read": {self.text: 1},
                "written": {self.text: 1},
                "rejected": {"RQ301": 1},
            },
            "accents": {"read": 1, "in_force": 1, "waiting": 0},
            "quarantine": [{"source": self.text, "code": "RQ301", "count": 1}],
            "doubtful": [],
            "state": [{"name": self.text, "rows": 1, "bytes": 1}],
            "files_left": {self.text: 1},
            "records_left": {},
            "sources": [{"name": self.text, "closed": closed, "groups": [group]}],
        }


@pytest.mark.parametrize("writer", WRITERS)
def test_a_text_of_a_stranger_is_the_value_of_a_label(writer: str) -> None:
    for text in TEXTS.values():
        registry = CollectorRegistry()
        registry.register(RunCollector(OfText(text)))  # type: ignore[arg-type]
        page = WRITERS[writer](registry).decode()
        if writer == "prometheus":
            samples = [s for family in text_string_to_metric_families(page) for s in family.samples]
            assert len(samples) == 19
            assert {s.labels["source"] for s in samples if "source" in s.labels} == {as_utf8(text)}
