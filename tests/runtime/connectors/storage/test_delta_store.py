"""Tables of Delta in an object store, against a server of this machine that speaks the protocol of S3: written once an
epoch, read version by version, with the account of the environment, of which nothing is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.delta import DeltaSink
from cedilla.runtime.connectors.storage.delta import opened_table, storage_options
from tests.kit.lines import write_lines
from tests.kit.stream import is_tuple, read_output

deltalake = pytest.importorskip("deltalake")

WRITES = """
stream r(k: long, t: double unit degF) from json "in";
emit r to delta "out" with t in degC;
"""
READS = 'stream r(k: long, t: double) from delta "in";\nemit r to json "out";\n'
SECRET = "not-to-be-told"


def run_writer(spark: SparkSession, root: Path, table: str) -> None:
    chosen = Options(
        once=True, sources={"r": str(root / "in")}, sinks={"r": table}, checkpoint=str(root / "checkpoint")
    )
    run(WRITES, chosen, spark=spark)


def append(table: str, *rows: Mapping[str, Any]) -> None:
    """Writes rows like another program."""
    deltalake.write_deltalake(
        table, pa.Table.from_pylist(list(rows)), mode="append", storage_options=storage_options(table)
    )


def rows(table: str) -> list[tuple[int, float]]:
    tuples = opened_table(table).to_pyarrow_table().to_pylist()
    return sorted((row["k"], round(row["t"], 9)) for row in tuples)


def test_rows_of_open_groups_are_updated(sail: SparkSession, tmp_path: Path, bucket: str) -> None:
    table = f"{bucket}/lake/s"
    query = """
stream r(ts: long, k: long) from json "in" punctuated on ts;
s := aggregate[count() as n by k](r);
emit s as latest by k to delta "out";
"""
    for number, ks in enumerate(([1, 1, 2], [2, 3])):
        write_lines(tmp_path / "in" / f"{number}.jsonl", [{"ts": number, "k": k} for k in ks])
        places: dict[str, Any] = {"sources": {"r": str(tmp_path / "in")}, "sinks": {"s": table}}
        run(query, Options(once=True, checkpoint=str(tmp_path / "checkpoint"), **places), spark=sail)
    tuples = opened_table(table).to_pyarrow_table().to_pylist()
    assert sorted((row["k"], row["n"], row["provisional"]) for row in tuples) == [
        (1, 2, True),
        (2, 2, True),
        (3, 1, True),
    ]


def test_an_epoch_is_one_version(sail: SparkSession, tmp_path: Path, bucket: str) -> None:
    """Also where others write, and under the other name of the scheme; no file says anything of the account."""
    table = f"{bucket}/lake/r"
    write_lines(tmp_path / "in" / "1.jsonl", [{"k": 1, "t": 77.0}, {"$punctuation": "[k < 1]"}])
    run_writer(sail, tmp_path, table)
    append(table, {"k": 100, "t": 0.0})
    write_lines(tmp_path / "in" / "2.jsonl", [{"$accent": "[[unit(t, degC)]]"}, {"k": 2, "t": 25.0}])
    run_writer(sail, tmp_path, table)
    assert rows(table) == rows(table.replace("s3:", "s3a:")) == [(1, 25.0), (2, 25.0), (100, 0.0)]
    epochs = [commit.get("cedilla.epoch") for commit in opened_table(table).history()]
    assert epochs == ["1", None, "0"]
    assert [
        marker_row["text"] for marker_row in opened_table(f"{table}_markers").to_pyarrow_table().to_pylist()
    ] == ["[k < 1]"]
    assert SECRET not in "".join(
        file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()
    )


@pytest.mark.parametrize("done", [0, 1])
def test_an_epoch_that_is_published_again_is_there_once(
    sail: SparkSession, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The run dies after the commit record, before or after the version."""
    table = f"{bucket}/r"
    whole = DeltaSink.append

    def dies(sink: DeltaSink, *arguments: Any) -> None:
        if done:
            whole(sink, *arguments)
        raise KeyboardInterrupt

    write_lines(tmp_path / "in" / "1.jsonl", [{"k": 1, "t": 32.0}])
    with monkeypatch.context() as patch:
        patch.setattr(DeltaSink, "append", dies)
        with pytest.raises(KeyboardInterrupt):
            run_writer(sail, tmp_path, table)
    write_lines(tmp_path / "in" / "2.jsonl", [{"k": 2, "t": 32.0}])
    run_writer(sail, tmp_path, table)
    assert rows(table) == [(1, 0.0), (2, 0.0)]


def test_a_version_whose_answer_was_lost_is_there_once(
    sail: SparkSession, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library puts it once more, finds it there, and knows the transaction: that is no failure."""
    table = f"{bucket}/r"
    put = deltalake.write_deltalake

    def twice(path: str, new: Any, **options: Any) -> None:
        new = new.read_all()
        before = opened_table(path)
        put(path, new, **options)
        put(before or path, new, **{**options, "storage_options": None if before else storage_options(path)})

    write_lines(tmp_path / "in" / "1.jsonl", [{"k": 1, "t": 32.0}])
    run_writer(sail, tmp_path, table)
    write_lines(tmp_path / "in" / "2.jsonl", [{"k": 2, "t": 32.0}])
    with monkeypatch.context() as patch:
        patch.setattr(deltalake, "write_deltalake", twice)
        run_writer(sail, tmp_path, table)
    assert rows(table) == [(1, 0.0), (2, 0.0)]


def test_what_the_store_refuses_is_told_without_the_account(
    sail: SparkSession, tmp_path: Path, bucket: str
) -> None:
    write_lines(tmp_path / "in" / "1.jsonl", [{"k": 1, "t": 32.0}])
    with pytest.raises(DiagnosticError) as raised:
        run_writer(sail, tmp_path, "s3://cedilla-of-nobody/r")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "RQ431"
    assert diagnostic.message.startswith("the table s3://cedilla-of-nobody/r cannot be used: ")
    assert "404" in diagnostic.message
    assert SECRET not in str(raised.value)


@pytest.mark.rest
def test_versions_are_read_once(sail: SparkSession, tmp_path: Path, bucket: str) -> None:
    """Those that a query has written, too; one that takes rows back ends the query."""
    table = f"{bucket}/lake/r"

    def read() -> list[tuple[int, float]]:
        chosen = Options(
            once=True,
            sources={"r": table},
            sinks={"r": str(tmp_path / "out")},
            checkpoint=str(tmp_path / "reads"),
        )
        run(READS, chosen, spark=sail)
        tuples = [item for item in read_output(tmp_path / "out") if is_tuple(item)]
        return sorted((row["k"], row["t"]) for row in tuples)

    append(table, {"k": 1, "t": 1.0})
    append(table, {"k": 2, "t": 2.0}, {"k": 3, "t": 3.0})
    assert read() == [(1, 1.0), (2, 2.0), (3, 3.0)]
    write_lines(tmp_path / "in" / "1.jsonl", [{"k": 4, "t": 32.0}])
    run_writer(sail, tmp_path, table)
    assert read()[3:] == [(4, 0.0)]
    assert read()[3:] == [(4, 0.0)]
    opened_table(table).delete("k = 2")
    append(table, {"k": 5, "t": 5.0})
    with pytest.raises(DiagnosticError, match="RQ438"):
        read()
    assert SECRET not in "".join(
        file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()
    )


def test_a_table_that_is_not_there_is_told_at_the_start(
    sail: SparkSession, tmp_path: Path, bucket: str
) -> None:
    chosen = Options(once=True, sources={"r": f"{bucket}/r"}, sinks={"r": str(tmp_path / "out")})
    with pytest.raises(DiagnosticError, match=r"RQ401.*s3://.*/r of stream `r` does not exist"):
        run(READS, chosen, spark=sail)


@pytest.mark.soak
def test_spark_reads_and_writes_them_without_clients_of_its_own(tmp_path: Path, bucket: str) -> None:
    """In a process whose environment has the account: so do tasks."""
    text = READS.replace("emit r to json", "emit r to delta")
    (tmp_path / "q.rq").write_text(text)
    append(f"{bucket}/in", {"k": 1, "t": 1.0}, {"k": 2, "t": 2.0})
    command = [
        sys.executable,
        "-m",
        "cedilla.runtime.hosts.cli.main",
        "run",
        "q.rq",
        "--once",
        "--engine",
        "spark",
    ]
    command += ["--source", f"r={bucket}/in", "--sink", f"r={bucket}/out"]
    for count in (2, 3):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr
        assert len(rows(f"{bucket}/out")) == count
        append(f"{bucket}/in", {"k": 3, "t": 3.0})
