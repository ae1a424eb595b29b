"""The pages of `docs/cases`: each shows a query of `queries`, which gives what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit import ROOT
from tests.kit.stream import read_output

PAGES = sorted((ROOT / "docs" / "cases").glob("*.md"))
SET_ASIDE = {"home-assistant": ["RQ301"]}
"""The codes of the lines that a page says are set aside."""
_QUERY = re.compile(r"^```rq\n((?:.*\n)*?)```$", re.MULTILINE)
_RESULT = re.compile(r"^```json out/\w+\n((?:.*\n)*?)```$", re.MULTILINE)
_FILE = re.compile(r"queries/(\w+)\.rq\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_case_gives_what_its_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text("utf-8")
    (query,), (result,) = _QUERY.findall(text), _RESULT.findall(text)
    (name,) = _FILE.findall(text)
    assert query == (ROOT / "queries" / f"{name}.rq").read_text("utf-8")
    aside: list[str] = []
    actual = re.search(r"^emit (\w+) to", query, re.MULTILINE)
    assert actual is not None
    simulate(
        query,
        Options(sinks={actual[1]: str(tmp_path)}),
        on_rejected=lambda line, code: aside.append(code),
    )
    assert read_output(tmp_path) == [json.loads(line) for line in result.splitlines()]
    assert aside == SET_ASIDE.get(page.stem, [])
