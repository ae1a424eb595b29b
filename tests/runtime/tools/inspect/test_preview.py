"""The preview of a query: rows in and out of every step, waiting rows, and what ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.inspect.preview import MAX_LINES, preview_of, watched
from tests.kit.command import cedilla
from tests.kit.lines import write_lines

QUERY = """\
stream r(ts: long, t: double) from json "r" punctuated on ts;
hot := select[t > 10](r);
flow := aggregate[count() as n by w](window[10 on ts as w](hot));
emit flow to json "flow";
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "r" / "1.jsonl", [{"ts": 1, "t": 5.0}, {"ts": 2, "t": 20.0}, {"ts": "x"}])
    return tmp_path


def preview(text: str = QUERY) -> str:
    return preview_of(text, "q.rq", Options())


def test_every_step_shows_rows_in_and_out_and_why_groups_wait(folder: Path) -> None:
    assert preview().splitlines() == [
        "stream r: 3 in, 2 out",
        '    {"ts": 1, "t": 5.0}',
        '    {"ts": 2, "t": 20.0}',
        "Select hot, line 2: 2 in, 1 out",
        '    {"ts": 2, "t": 20.0}',
        "Window window, line 3: 1 in, 1 out",
        '    {"ts": 2, "t": 20.0, "w": 0}',
        "Aggregate flow, line 3: 1 in, 0 out",
        "    1 group of `flow` waits for a punctuation on `w`; none has come on `ts` of `r`",
        '1 set aside, the first of r (RQ301): `ts` must be a long, found "x"',
        '    {"ts": "x"}',
    ]


def test_a_marker_that_ends_the_query_is_the_last_line(folder: Path) -> None:
    write_lines(folder / "r" / "2.jsonl", [{"$accent": "[[-(ts)]]"}, {"ts": 3, "t": 30.0}])
    shown = preview()
    assert "\nerror[RQ209]: " in shown
    assert "stream r: 3 in" in shown


def test_a_preview_reads_only_the_first_lines(folder: Path) -> None:
    write_lines(folder / "r" / "2.jsonl", [{"ts": n, "t": 1.0} for n in range(MAX_LINES)])
    assert preview().endswith("the first 2,000 lines of the sources")
    assert "stream r: 2,000 in" in preview()


def test_a_query_with_errors_gives_its_diagnostics(folder: Path) -> None:
    assert preview(QUERY.replace("t > 10", "tt > 10")).startswith("error[RQ102]")
    assert preview(QUERY.replace('json "r"', 'json "none"')).startswith("error[RQ401]")


def test_watching_shows_each_change_of_the_file(folder: Path) -> None:
    path = folder / "q.rq"
    path.write_text(QUERY, "utf-8")
    shown = watched(path, Options(), {}, pause=0.0)
    assert "Select hot, line 2: 2 in, 1 out" in next(shown)
    path.write_text(QUERY.replace("t > 10", "t > 1"), "utf-8")
    assert "Select hot, line 2: 2 in, 2 out" in next(shown)


def test_simulate_watches_with_its_options(folder: Path) -> None:
    (folder / "q.rq").write_text(QUERY, "utf-8")
    (folder / "r").rename(folder / "other")
    result = cedilla("simulate", "--watch", "--once", "q.rq", "--source", "r=other")
    assert result.stdout.startswith("stream r: 3 in, 2 out\n")
    assert not (folder / "flow").exists()
