"""The page on performance says what the tables of single queries have, so that no figure comes from another run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.kit import ROOT

PAGE = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", (ROOT / "docs" / "performance.md").read_text("utf-8"))
"""The text without addresses of links."""
FIGURES = (ROOT / "tests" / "benchmarks" / "figures.md").read_text("utf-8")


def rows(section: str) -> Iterator[list[str]]:
    """Yields the cells of the rows of the first table of a section, without bold."""
    table = FIGURES.partition(f"## {section}\n")[2].partition("\n|")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip().strip("*") for cell in line.strip("|").split("|")]


def test_the_core_queries_lie_between_the_figures_of_the_page() -> None:
    numbers = [[float(cell) for cell in row[5:]] for row in rows("Core queries in epochs of 100,000 rows")]
    (sail, sail_flink, spark, _) = (list(column) for column in zip(*numbers, strict=True))
    assert (
        f"**Sail** is {min(sail)} to {max(sail)} times as fast as hand-written Spark in epochs of 100,000"
        in PAGE
    )
    assert f"({min(sail_flink)} to {max(sail_flink)} times)" in PAGE
    assert f"**Spark** is {min(spark)} to {max(spark):.1f} times as fast in epochs of 100,000" in PAGE


def test_nexmark_has_the_queries_ahead_and_the_slow_ones_of_the_table() -> None:
    ahead = {
        query: float(ratio)
        for row in rows("NEXMark")
        for query, ratio in ((row[0], row[3]), (row[5], row[8]))
        if re.fullmatch(r"q\d+", query) and ratio
    }
    assert len(ahead) == 21
    assert f"in {sum(ratio > 1 for ratio in ahead.values())} of 21 queries of NEXMark" in PAGE
    slow = {query: ratio for query, ratio in ahead.items() if ratio < 1}
    sentence = next(line for line in re.split(r"(?<=\.) ", PAGE) if "It is slower in q" in line)
    assert {q: float(r) for q, r in re.findall(r"(q\d+) \(\*\*([\d.]+)\*\*\)", sentence)} == slow
