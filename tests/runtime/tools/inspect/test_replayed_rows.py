"""Rows of Parquet that are sent again have the columns and types of the files where they were."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.epochs.checkpoint.set_aside import SetAsideLine
from cedilla.runtime.tools.inspect.replayed_rows import rows_again
from tests.kit.command import cedilla

TABLE = pa.table({"k": pa.array(range(100)), "m": pa.array([Decimal(n) / 4 for n in range(100)])})


def _line(path: Path, number: int) -> SetAsideLine:
    return SetAsideLine("RQ306", "", path.as_uri(), number, "{}")


def test_rows_come_from_their_row_groups_in_order(tmp_path: Path) -> None:
    first, second, other = (tmp_path / f"{name} é.parquet" for name in "abc")
    parquet.write_table(TABLE, first, row_group_size=7)
    parquet.write_table(TABLE.replace_schema_metadata({"writer": "b"}), second)
    parquet.write_table(TABLE.select(["k"]), other)
    lines = [_line(first, 93), _line(other, 2), _line(first, 5), _line(second, 0)]
    tables = [parquet.read_table(pa.BufferReader(content)) for content in rows_again(lines)]
    assert tables == [TABLE.take([5, 93, 0]), TABLE.select(["k"]).take([2])]


@pytest.mark.parametrize(("content", "code"), [(None, "RQ496"), (b"no Parquet", "RQ414")])
def test_a_file_that_is_gone_or_another_one_gives_none(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "1.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DiagnosticError) as caught:
        rows_again([_line(path, 0)])
    assert caught.value.diagnostics[0].code == code


@pytest.mark.rest
def test_a_row_is_read_once_its_domain_has_grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    parquet.write_table(TABLE, tmp_path / "in" / "1.parquet")
    query = 'stream r(k: long in [0, {}), m: decimal(6, 2)) from parquet "in"; emit r to json "out";'
    run = ("run", "q.rq", "--once", "--engine", "sail", "--checkpoint", "c", "--yes")
    (tmp_path / "q.rq").write_text(query.format(98))
    assert cedilla(*run).exit_code == 0
    done = cedilla("replay", "c", "--code", "RQ303")
    assert (done.exit_code, "sent again" in done.output) == (0, True), done.output
    (tmp_path / "q.rq").write_text(query.format(200))
    assert cedilla(*run).exit_code == 0
    assert len(cedilla("read", "out").stdout.splitlines()) == 100
