"""The pages for users of other systems: their lines give what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cedilla
from tests.docs.examples import blocks
from tests.kit import ROOT

FLINK, PYTHON = (ROOT / "docs" / f"from-{name}.md" for name in ("flink-and-spark", "python-streams"))


def lines(page: Path, name: str) -> list[dict[str, Any]]:
    (block,) = (block for block in blocks(page, "json") if block.info == f"json {name}")
    return [json.loads(line) for line in block.text.splitlines()]


def result(query: str, source: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tuples of the output, with times as lines have them."""
    results = cedilla.query(query).simulate({source: rows})
    assert list(results.rejected["code"]) == []
    return [
        {
            name: value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if hasattr(value, "strftime") else value
            for name, value in row.items()
        }
        for row in results.frame.to_dict("records")
    ]


def test_a_mean_holds_where_functions_see_numbers() -> None:
    declared, fragment = (block.text for block in blocks(PYTHON, "rq"))
    query = declared.partition("emit ")[0] + fragment
    rows = lines(PYTHON, "pumps")
    assert result(query, "pumps", rows) == lines(PYTHON, "means")
    without = [row for row in rows if "$accent" not in row]
    assert [row["mean"] for row in result(query, "pumps", without)] == [pytest.approx(70.07)]


def test_a_rename_and_a_unit_in_the_log_of_a_database() -> None:
    query = next(block.text for block in blocks(FLINK, "rq") if "lsn" in block.text)
    assert result(query, "readings", lines(FLINK, "readings")) == lines(FLINK, "out")
