"""Options given in Python are checked as those of the command line are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cedilla import Options, compile_query, run, simulate
from tests.kit.errors import error_text
from tests.kit.stream import read_output

QUERY = """
stream meters(k: long) from json "meters" punctuated on k;
emit meters to json "usage";
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY)
    for name, k in (("meters", 1), ("other", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jsonl").write_text(json.dumps({"k": k}) + "\n")
    return tmp_path


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "source": ({"sources": {"metres": "other"}}, "did you mean `meters`?"),
    "sink": ({"sinks": {"meter": "other"}}, "did you mean `meters`?"),
    "setting": ({"settings": {"drfit": "abort"}}, "did you mean `drift`?"),
    "value": ({"settings": {"drift": "abrot"}}, "did you mean `abort`?"),
    "engine": ({"engine": "duckdb"}, "known engines: spark, connect, sail"),
    "engine and server": ({"engine": "connect"}, "requires --remote"),
    "files": ({"files_per_epoch": 0}, "less than 1"),
    "records": ({"records_per_epoch": -1}, "less than 1"),
    "interval": ({"interval": float("nan")}, "a number of seconds"),
}


@pytest.mark.parametrize("call", [simulate, run])
@pytest.mark.parametrize("option", WRONG)
def test_an_option_that_the_query_lacks_is_an_error_with_a_hint(
    folder: Path, option: str, call: Callable[..., None]
) -> None:
    fields, hint = WRONG[option]
    message = error_text(lambda: call("q.rq", Options(once=True, **fields)))
    assert message.startswith("RQ477 ")
    assert hint in message


def test_a_path_is_taken_wherever_a_text_is(folder: Path) -> None:
    paths = Options(
        sources={"meters": Path("other")},
        sinks={"meters": Path("o")},
        checkpoint=Path("ck"),
        once=True,
        engine="sail",
    )
    run(Path("q.rq"), paths)
    assert read_output(folder / "o") == [{"k": 2}]


def test_compile_query_takes_what_run_takes(folder: Path) -> None:
    for query in (Path("q.rq"), "q.rq", QUERY):
        assert [emit.name for emit in compile_query(query).plan.emits] == ["meters"]


@pytest.mark.parametrize("call", [simulate, run, compile_query])
def test_a_query_that_cannot_be_read_is_told_as_by_the_command(
    folder: Path, call: Callable[..., object]
) -> None:
    assert error_text(lambda: call("nosuch.rq")).startswith("RQ400 nosuch.rq cannot be read: no such file")
    Path("latin.rq").write_bytes(b"# \xe9")
    assert "RQ400 latin.rq cannot be read: byte 2 is not UTF-8" in error_text(lambda: call(Path("latin.rq")))


def test_a_sink_may_have_the_name_of_its_folder(folder: Path) -> None:
    for number, name in enumerate(("meters", "usage")):
        run("q.rq", Options(once=True, sinks={name: f"o{number}"}, checkpoint=f"ck{number}", engine="sail"))
        simulate("q.rq", Options(sinks={name: f"s{number}"}))
        assert read_output(folder / f"o{number}") == read_output(folder / f"s{number}") == [{"k": 1}]
    assert "given twice" in error_text(lambda: simulate("q.rq", Options(sinks={"meters": "a", "usage": "b"})))


def test_a_folder_that_two_sinks_share_names_neither(folder: Path) -> None:
    query = QUERY + 'big := select[k > 1](meters); emit big to json "more/usage";'
    message = error_text(lambda: simulate(query, Options(sinks={"usage": "a"})))
    assert message.startswith("RQ477 --sink: the query has no `usage`; it has meters, big")
    crossed = QUERY + 'usage := select[k > 1](meters); emit usage to json "big";'
    simulate(crossed, Options(sinks={"usage": "a", "meters": "b"}))
    assert read_output(folder / "a") == [{"$punctuation": "[k < 2]"}]
    assert read_output(folder / "b") == [{"k": 1}]
