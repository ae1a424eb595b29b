"""A folder that is a table is not read as files: its log says which of them count (RQ345)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolders
from cedilla.runtime.epochs.pipeline.source_folders import SourceFolders
from cedilla.runtime.epochs.pipeline.table_sources import TableSources
from tests.kit.command import cedilla
from tests.kit.tiers import tiered

LOGS = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/00000-5f.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
    "Paimon": "schema/schema-0",
    "Spark": "_spark_metadata/0",
}
HINTS = {"Delta": '`from delta "', "Iceberg": '`from iceberg "', "Hudi": "format('hudi')"}
QUERY = 'stream y(k: int, v: double) from {} "y" punctuated on k;\nemit y to json "out";\n'


def become_table(folder: Path, kind: str) -> None:
    """Adds to a folder what makes it a table."""
    log = folder / LOGS[kind]
    log.parent.mkdir(parents=True)
    log.write_text("{}")
    if kind == "Paimon":
        (folder / "snapshot").mkdir()


@pytest.mark.parametrize("kind", LOGS)
def test_every_kind_of_table_is_refused_with_the_way_that_is_right(tmp_path: Path, kind: str) -> None:
    """By the tools as by a run, and in a subfolder, or from inside of the table."""
    table = tmp_path / "lake" / "y"
    part = table / "data" / "region=n"
    part.mkdir(parents=True)
    (part / "1.jsonl").write_text('{"k": 1, "v": 2}\n')
    assert [*files_of(str(table))] == [part / "1.jsonl"]
    become_table(table, kind)
    for folder in (table, table.parent, part):
        with pytest.raises(DiagnosticError) as by_tools:
            files_of(str(folder))
        (diagnostic,) = by_tools.value.diagnostics
        assert (diagnostic.code, str(table) in diagnostic.message) == ("RQ345", True)
        assert kind in diagnostic.message
        assert HINTS.get(kind, "") in (diagnostic.help or "")
    with pytest.raises(DiagnosticError) as by_run:
        Files().tree(str(table.parent), of_source=True)
    assert by_run.value.diagnostics[0].code == "RQ345"


def test_a_folder_that_only_has_a_name_of_a_table_is_read(tmp_path: Path) -> None:
    for name in ("metadata", "schema", "snapshot"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jsonl").write_text("{}\n")
    assert len(files_of(str(tmp_path))) == len(Files().tree(str(tmp_path), of_source=True)) == 3


def test_a_folder_that_becomes_a_table_later_is_refused_at_the_next_look(tmp_path: Path) -> None:
    """A run that looks at it, on any engine, ends there; also where the folder has no file yet."""
    plan = compile_query(QUERY.format("parquet").replace('"y"', f'"{tmp_path}/y"')).plan
    (tmp_path / "y").mkdir()
    files = Files()
    tables = TableSources(SealedFiles(files, ""), {}, False, print, {})
    folders = SourceFolders(files, plan, plan.sources, tables, KnownFolders(str(tmp_path)), print)
    assert not folders.look()["y"].data
    become_table(tmp_path / "y", "Hudi")
    with pytest.raises(DiagnosticError) as caught:
        folders.look()
    assert caught.value.diagnostics[0].code == "RQ345"


@pytest.mark.parametrize("form", tiered(["json", "parquet", "csv", "xml"]))
def test_a_run_and_a_simulation_refuse_the_table_before_they_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    become_table(tmp_path / "y", "Delta")
    (tmp_path / "q.rq").write_text(QUERY.format(form))
    ran = cedilla("run", "q.rq", "--once")
    assert (ran.exit_code, "error[RQ345]: y is a table of Delta" in ran.output) == (1, True)
    assert '`from delta "y"` reads the table' in ran.output
    if form in ("json", "csv"):
        assert "RQ345" in cedilla("simulate", "q.rq").output


def test_the_tools_of_streams_refuse_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    become_table(tmp_path / "y", "Hudi")
    for command in ("read", "validate", "suspect", "canonize"):
        assert "RQ345" in cedilla(command, "y").output, command
