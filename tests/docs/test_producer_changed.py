"""Each row of the page on changes: its line shows what the row says, and is right with what the row writes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from attrs import frozen

import cedilla
from tests.docs.examples import blocks
from tests.kit import ROOT

PAGE = ROOT / "docs" / "producer-changed.md"
QUERY = next(block.text for block in blocks(PAGE, "rq"))
BEFORE = {"ts": 60, "pump": 2, "fw": "1.9", "litres": 140.0, "state": "R"}
_CODE = re.compile(r"`([^`]+)`")


@frozen
class Row:
    """A row of the table."""

    change: str
    line: str
    seen: str
    write: str

    def __str__(self) -> str:
        return self.change

    @property
    def tuple(self) -> dict[str, Any]:
        """The line after the change: a usual tuple with its fields; a renamed or lost one lacks litres."""
        own = json.loads(_CODE.findall(self.line)[0])
        usual = {"volume": "litres", "flow": "litres", "kg": "litres"}
        lost = {usual[name] for name in own if name in usual} | (set() if own else {"litres"})
        return {name: value for name, value in {**BEFORE, **own}.items() if name not in lost}


ROWS = [
    Row(*(cell.strip() for cell in line.strip("|").split(" | ")))
    for line in PAGE.read_text("utf-8").splitlines()
    if re.match(r"\| [A-Z]", line)
]

TRUE: dict[str, dict[str, Any]] = {
    "Another unit": {"litres": 140.0},
    "Another scale, here tenths": {"litres": 140.0},
    "Another unit with a firmware, for all pumps": {"litres": 140.0},
    "Another unit at a known time": {"litres": 140.0},
    "Times in milliseconds": {"ts": 60},
    "The sign turned round": {"outflow": 5.0},
    "Two fields changed places": {"inflow": 3.0, "outflow": 5.0},
    'A number that means "no value"': {"total": None},
    "A meter was replaced and begins at 0": {"total": 18433.5},
    "Local times are UTC now": {"at": "2026-05-04T08:00:00.000000Z"},
    "Another name": {"litres": 140.0},
    "The field moved into an object": {"litres": 140.0},
    "The field is gone": {"litres": None},
    "Another quantity took its place": {"litres": None, "kg": 140.0},
    "Other codes": {"state": "R"},
    "One more device": {"pump": 3},
    "A new field": {"celsius": 41.0},
    "Numbers became texts": {"litres": 140.0},
    "Numbers became texts with a decimal comma": {"litres": 140.0},
    "Either unit, and the line says which": {"litres": 140.0},
}


def test_each_row_has_a_truth() -> None:
    assert [row.change for row in ROWS] == list(TRUE)


def answer(query: str, *rows: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The last tuple of the result, and the codes of the lines that are set aside."""
    results = cedilla.query(query).simulate(pumps=[*rows])
    frame = results.frame.astype(object).where(results.frame.notna(), None)
    return (frame.iloc[-1].to_dict() if len(frame) else {}), list(results.rejected["code"])


def matches(actual: dict[str, Any], row: Row) -> bool:
    """Returns True if a tuple has the true values."""

    def text(value: Any) -> Any:
        return value.isoformat().replace("+00:00", ".000000Z") if hasattr(value, "isoformat") else value

    return all(text(actual.get(name)) == value for name, value in TRUE[row.change].items())


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_says_what_one_sees_without_it_and_what_makes_it_right(row: Row) -> None:
    actual, codes = answer(QUERY, row.tuple)
    assert codes == re.findall(r"RQ\d+", row.seen)
    assert row.seen.startswith(("wrong numbers", "lines set aside", "nothing"))
    assert bool(codes) == row.seen.startswith("lines set aside")
    assert codes or not matches(actual, row)
    texts = [code for code in _CODE.findall(row.write) if code.startswith(("[[", "litres", "u?"))]
    query = QUERY
    if row.write.startswith("in the query"):
        query = QUERY.replace("litres: double unit L", texts[0])
        assert query != QUERY
        texts = []
    actual, codes = answer(query, *({"$accent": accent} for accent in texts), row.tuple)
    assert codes == []
    assert matches(actual, row), actual
