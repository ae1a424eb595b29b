"""Texts of strangers on the live page and in what `status` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from pyspark.sql import SparkSession

from cedilla.runtime.hosts.cli.main import main
from tests.conftest import MODE
from tests.kit.browser import opened
from tests.kit.foreign_text import RAN, TEXTS, constant, file_names, is_unicode
from tests.kit.pages import served
from tests.kit.query import Query
from tests.runtime.hosts.ui.pumps import until_stopped

MEMBERS = sorted({text for text in TEXTS.values() if is_unicode(text) and len(text) < 1_000})
QUERY = f"""
stream r(k: long, s: string in {{{", ".join(map(constant, MEMBERS))}}}, x: double unit m, constructor: long, end?: long)
  from json "in" punctuated on k;
tens := window[10 on k as ten](r);
__proto__ := aggregate[avg by ten except k, s](tens);
emit r to json "copy";
emit __proto__ to json "averages";
"""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def strange_run(spark: SparkSession, root: Path) -> Query:
    """Runs tuples, waiting accents, rejected lines, files and a last bad marker, all of strange texts."""
    query = Query(spark, root, QUERY)
    half = len(MEMBERS) // 2
    query.write("r", [{"k": n, "s": text, "x": 1.0, "constructor": n} for n, text in enumerate(MEMBERS)])
    accents = [{"$accent": f"[[s = {constant(text)}, unit(x, cm)]]"} for text in MEMBERS[:half]]
    query.write("r", [*accents, *({"k": 1, "s": "x", "x": text, "constructor": 1} for text in MEMBERS)])
    for kind, name in file_names().items():
        query.write("r", ['{"k": '], f"{name[:40]}{len(kind)}.jsonl")
    query.write("r", [{"$accent": f"[[s = {constant(TEXTS['an image'])}, alter(x, y -> y * y)]]"}])
    return until_stopped(query, 30)


@pytest.fixture(scope="module")
def checkpoint(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        yield str(strange_run(_embedded, tmp_path_factory.mktemp("strange")).root / "checkpoint")


@pytest.mark.rest
def test_the_page_shows_texts_and_runs_none(browser: Browser, checkpoint: str) -> None:
    with served(checkpoint) as page:
        tab = opened(browser, page.address)
        expect(tab.locator("#stop")).to_contain_text("<img src=x onerror")
        for summary in tab.locator("summary").all():
            summary.click()
        for node in tab.locator("#plan svg .node").all():
            node.click()
        tab.locator("#output-name").select_option("__proto__")
        expect(tab.locator("#output .body")).to_contain_text("No rows")
        tab.locator("#output-name").select_option("r")
        expect(tab.locator("#output thead")).to_contain_text("constructor")
        tab.locator("#try-text").fill(f"[[s = {constant(TEXTS['end of a script'])}, unit(x, mm)]]")
        tab.locator("#try-text").press("Enter")
        expect(tab.locator("#try-answer")).to_contain_text("script")
        shown = tab.locator("body").inner_text()
        assert TEXTS["an image"] in shown
        expect(
            tab.locator("img, iframe, object, [onerror], [onmouseover], a[href^=javascript]")
        ).to_have_count(0)
        assert tab.evaluate(f"'{RAN}' in window") is False
        assert tab.wrong == []  # type: ignore[attr-defined]


def test_status_prints_texts_and_no_signs_that_steer_a_terminal(
    checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["status", checkpoint])
    printed = capsys.readouterr().out
    assert "<img src=x onerror" in printed
    assert CONTROL.findall(printed) == []
