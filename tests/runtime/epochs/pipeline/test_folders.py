"""Folders that overlap: what `run` refuses or warns of, `simulate` does, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.findings import nested_folders
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.options.places import check_places
from tests.kit.command import cedilla

QUERY = """
stream r(k: int) from json "data";
stream s(k: int) from json "{}";
emit r to json "out";
emit s to json "also";
"""


@pytest.mark.parametrize("sink", ["data", "data/out", "./data/../data/out"])
def test_nobody_writes_into_a_folder_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.jsonl").write_text('{"k": 1}\n')
    query = compile_query(QUERY.format("data").replace('"out"', f'"{sink}"'))
    with pytest.raises(DiagnosticError) as ran:
        check_places(query.plan, None)
    with pytest.raises(DiagnosticError) as simulated:
        simulate(query, Options(sinks={"r": sink}))
    assert [error.value.diagnostics[0].code for error in (ran, simulated)] == ["RQ116", "RQ116"]
    assert ran.value.diagnostics[0].message == simulated.value.diagnostics[0].message
    simulate(query, Options(sinks={"r": "data/_out", "s": "beside"}))
    assert {path.name for path in (tmp_path / "data" / "_out").iterdir()} == {"epoch=000000000000"}


def test_a_sources_folder_in_that_of_another_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `check`, and by what runs with the paths that it is given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "s").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    query = tmp_path / "q.rq"
    query.write_text(QUERY.format("data/s"))
    message = "warning[RQ140]: data/s lies in data: stream `r` reads the files of stream `s`, too"
    assert message in cedilla("check", "q.rq").output
    assert message in cedilla("simulate", "q.rq").output
    elsewhere = cedilla("simulate", "q.rq", "--source", "s=beside")
    assert (elsewhere.exit_code, "RQ140" in elsewhere.output) == (0, False)
    for path in ("data", "data/_s", "data2", "beside"):
        assert nested_folders(compile_query(QUERY.format(path)).plan) == ()
