"""OVER of SQL: what a page of cases expects is what SQLite gives for the same rows."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from typing import Any

import pytest

from tests.kit import ROOT
from tests.kit.cases import Case, cases
from tests.kit.stream import Item, decode, is_tuple

PAGE = ROOT / "tests" / "runtime" / "cases" / "over.md"
CASES = cases(PAGE)
_SQL = re.compile(r"^```sql (?P<name>\S+)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)
_SUITE = re.compile(r"^(?P<suite>RisingWave|Flink) (?P<names>`.*`)$", re.MULTILINE)
_COUNTED = re.compile(r"^\| (?P<suite>RisingWave|Flink), .* \| \d+ \| (?P<number>\d+) \|$", re.MULTILINE)


def _queries() -> list[tuple[Case, str, str]]:
    return [(case, match["name"], match["text"]) for case in CASES for match in _SQL.finditer(case.text)]


@pytest.mark.parametrize(
    ("case", "name", "sql"), [pytest.param(*query, id=f"{query[0]}: {query[1]}") for query in _queries()]
)
def test_the_result_is_that_of_sql(case: Case, name: str, sql: str) -> None:
    last = {block.name: block.items() for block in case.blocks() if block.is_expected}
    assert Counter(map(_plain, decode(last[name]))) == Counter(map(_plain, _asked(case, sql)))


def test_every_output_but_sessions_is_asked_for() -> None:
    """SQLite has no sessions."""
    asked = {(case.title, name) for case, name, _ in _queries()}
    expected = {(case.title, block.name) for case in CASES for block in case.blocks() if block.is_expected}
    assert {name for _, name in expected - asked} == {"quarantine", "visits"}


def test_the_page_counts_the_queries_that_are_written() -> None:
    counted = {
        match["suite"]: int(match["number"])
        for match in _COUNTED.finditer((ROOT / "docs" / "from-sql.md").read_text("utf-8"))
    }
    as_cases = Counter[str]()
    for match in _SUITE.finditer(PAGE.read_text("utf-8")):
        as_cases[match["suite"]] += match["names"].count("`, `") + 1
    assert counted == as_cases


def _asked(case: Case, sql: str) -> list[Item]:
    """Returns the rows of SQLite over the rows of a case; a late one has the number 90."""
    tables: dict[str, list[Item]] = {}
    for block in case.blocks():
        if block.is_input:
            tables.setdefault(block.name.partition("/")[0], []).extend(filter(is_tuple, block.items()))
    with sqlite3.connect(":memory:") as database:
        for table, rows in tables.items():
            names = list(dict.fromkeys(name for row in rows for name in row))
            database.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            values = [[_value(row.get(name)) for name in names] for row in rows]
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", values)
        answer = database.execute(sql)
        columns = [column for column, *_ in answer.description]
        return [dict(zip(columns, row, strict=True)) for row in answer]


def _value(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int) else float(value)


def _plain(row: Item) -> Any:
    """Returns a row without what is undefined, each number as a double."""
    return frozenset(
        (name, value if isinstance(value, str) else float(value))
        for name, value in row.items()
        if value is not None
    )
