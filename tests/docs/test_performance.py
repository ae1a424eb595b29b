"""The page on performance says what the tables of single queries have, so that no figure comes from another run."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path

import pytest

from tests.docs.performance_pictures import Picture, core, nexmark, rows, text
from tests.kit import ROOT

PAGE = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", (ROOT / "docs" / "performance.md").read_text("utf-8"))
"""The text without addresses of links."""


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


@pytest.mark.parametrize("picture", [core(), nexmark()], ids=lambda picture: picture.name)
def test_the_pictures_have_the_figures_of_the_tables(picture: Picture) -> None:
    """`python -m tests.docs.performance_pictures` draws them anew."""
    svg = Path(picture.path).read_text("utf-8")
    drawn = Counter(map(unescape, re.findall(r"<text[^>]*>([^<]*)</text>", svg)))
    figures = Counter(text(speed) for speeds in picture.speeds.values() for speed in speeds.values())
    names = {*picture.speeds, *(name for speeds in picture.speeds.values() for name in speeds), picture.unit}
    assert drawn == figures + Counter(names)
