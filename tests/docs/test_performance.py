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


def test_nexmark_has_the_queries_ahead_of_the_table() -> None:
    counted = [row for row in rows("NEXMark") if re.fullmatch(r"q\d+ ?‡?", row[0]) and row[3]]
    assert len(counted) == 21
    for ratio in (3, 4, 7, 8):
        assert all(float(row[ratio]) > 1 for row in counted)
    assert "in all 21 queries of NEXMark that both run with equal results" in PAGE
    for format_, column in (("JSON", 3), ("Parquet", 7)):
        ratios = {row[column]: float(row[column]) for row in counted}
        least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        assert f"{least} to {most} on {format_}" in PAGE


@pytest.mark.parametrize("picture", [core(), nexmark()], ids=lambda picture: picture.name)
def test_the_pictures_have_the_figures_of_the_tables(picture: Picture) -> None:
    """`python -m tests.docs.performance_pictures` draws them anew."""
    svg = Path(picture.path).read_text("utf-8")
    drawn = Counter(map(unescape, re.findall(r"<text[^>]*>([^<]*)</text>", svg)))
    figures = Counter(text(speed) for speeds in picture.speeds.values() for speed in speeds.values())
    names = {*picture.speeds, *(name for speeds in picture.speeds.values() for name in speeds), picture.unit}
    assert drawn == figures + Counter(names)
