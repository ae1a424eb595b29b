"""Names of files and folders are names on every engine, whatever signs they have."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import evolve
from pyarrow import parquet
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime.engines.spark.frames import is_connect
from cedilla.runtime.epochs.options.options import Options
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.stream import is_tuple, read_output

PLAIN = (
    "a b",
    "a%20b",
    "a#b",
    "a:b",
    "a\\b",
    "ü",
    "a\u00a0b",
    "a\u2028b",
    "a\x85b",
    "a'b",
    'a"b',
    "a`b",
    "a=b",
    "a,b",
)
PATTERNS = ("sales?", "export[1]", "{a}", "*", "[1]:b", "a\nb")
"""Names that Spark takes for patterns, and one that Sail does not read; in the names of sources all engines read them.
"""
QUERY = """
stream r(k: long, v: double) from parquet "r" punctuated on k;
stream p(k: long, n: string) from json "p" punctuated on k;
w := window[1000 on k as g](r join p on k);
a := aggregate[sum(v) as v, count() as c by g](w);
emit a to json "a";
b := select[v > 0](r);
emit b to parquet "b";
"""


def _write(root: Path, k: int, name: str) -> None:
    """A tuple of each stream, in a file of that name."""
    table = pa.table({"k": pa.array([k], pa.int64()), "v": pa.array([float(k)], pa.float64())})
    for source, ending in (("r", "parquet"), ("p", "jsonl")):
        path = root / source / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if source == "r":
            with path.open("wb") as stream:
                parquet.write_table(table, stream)
        else:
            path.write_text(json.dumps({"k": k, "n": "x"}) + "\n")
        os.utime(path, (k, k))


def _close(root: Path) -> None:
    (root / "p" / "z.jsonl").write_text('{"$punctuation": "[]"}\n')
    end = {"k": pa.array([None], pa.int64()), "v": pa.array([None], pa.float64()), "$punctuation": ["[]"]}
    parquet.write_table(pa.table(end), root / "r" / "z.parquet")


def _options(sources: Path, home: Path, **more: int) -> Options:
    return Options(
        once=True,
        checkpoint=str(home / "checkpoint"),
        sources={name: str(sources / name) for name in "rp"},
        sinks={name: str(home / name) for name in "ab"},
        **more,  # type: ignore[arg-type]
    )


def _rows(home: Path) -> int:
    files = [f for f in (home / "b").rglob("*.parquet") if "tuples" in f.name]
    return sum(parquet.read_metadata(file).num_rows for file in files)


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [None, 3])
def test_each_file_of_a_source_is_read_once_whatever_it_is_called(
    spark: SparkSession, tmp_path: Path, files_per_epoch: int | None
) -> None:
    sources, home = tmp_path / "in[1]", tmp_path / "home"
    names = (*PLAIN, *PATTERNS, "sales1", "b/sales?", "export1")
    more = {} if files_per_epoch is None else {"files_per_epoch": files_per_epoch}
    for k, name in enumerate(names, 1):
        _write(sources, k, name)
        if k == len(names) // 2:
            run(QUERY, _options(sources, home, **more), spark=spark)
    _close(sources)
    run(QUERY, _options(sources, home, **more), spark=spark)
    total = sum(range(len(names) + 1))
    want = [{"g": 0, "v": float(total), "c": len(names)}]
    assert [item for item in read_output(home / "a") if is_tuple(item)] == want
    assert _rows(home) == len(names)
    copied = Options(sources={"p": str(sources / "p")}, sinks={"p": str(tmp_path / "simulated")})
    simulate('stream p(k: long, n: string) from json "p";\nemit p to json "p";\n', copied)
    simulated = [item["k"] for item in read_output(tmp_path / "simulated") if is_tuple(item)]
    assert sorted(simulated) == [*range(1, len(names) + 1)]


@pytest.mark.either_engine
@pytest.mark.parametrize("name", ["".join(PLAIN), "ck[1]{b}?:*"])
def test_checkpoints_and_outputs_are_where_their_paths_say(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Or they are refused before anything runs, by an engine that would look elsewhere."""
    home = tmp_path / name
    for k in (1, 2):
        _write(tmp_path / "in", k, str(k))
        if is_connect(spark) and "*" in name:
            with pytest.raises(DiagnosticError, match="RQ434"):
                run(QUERY, _options(tmp_path / "in", home), spark=spark)
            assert not home.exists()
            return
        run(QUERY, _options(tmp_path / "in", home), spark=spark)
    _close(tmp_path / "in")
    run(QUERY, _options(tmp_path / "in", home), spark=spark)
    assert [item for item in read_output(home / "a") if is_tuple(item)] == [{"g": 0, "v": 3.0, "c": 2}]
    assert _rows(home) == 2


def test_paths_that_sail_does_not_read_are_refused(sail: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, 1, "1")
    with pytest.raises(DiagnosticError, match=r"RQ434.*`\\n`"):
        run(QUERY, _options(tmp_path, tmp_path / "a\nb"), spark=sail)


@pytest.mark.either_engine
def test_names_that_are_not_utf8_are_read(spark: SparkSession, tmp_path: Path) -> None:
    for k, name in enumerate((b"a\xff", b"a"), 1):
        _write(tmp_path, k, os.fsdecode(name))
    run(QUERY, _options(tmp_path, tmp_path / "home"), spark=spark)
    assert _rows(tmp_path / "home") == 2


OLD = os.fsdecode(b"gr\xf6\xdfe")
"""A name in Latin-1, as old archives have them."""


def test_a_query_whose_name_is_not_utf8_runs(sail: SparkSession, here: Path) -> None:
    _write(here, 1, "first")
    query = here / f"{OLD}.rq"
    query.write_text(QUERY)
    assert cedilla("compile", str(query)).exit_code == 0
    run(query, Options(once=True), spark=sail)
    assert [path.name for path in (here / ".cedilla").iterdir()] == ["gr\ufffd\ufffde"]
    assert " = help: .cedilla/gr\ufffd\ufffde, unless" in cedilla("status", str(query)).stderr
    assert len(read_output(here / "b")) > 0


@pytest.mark.parametrize(
    ("options", "code"), [(Options(checkpoint=OLD), "RQ411"), (Options(sinks={"a": OLD}), "RQ405")]
)
def test_what_no_engine_writes_is_refused_before_it_starts(here: Path, options: Options, code: str) -> None:
    _write(here, 1, "first")
    assert code_of(lambda: run(QUERY, evolve(options, once=True))) == code


@pytest.mark.parametrize("name", ["a[1]", "a%20b", "a\\b"])
def test_a_table_of_delta_whose_path_its_library_misreads_is_refused(
    sail: SparkSession, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("deltalake")
    _write(tmp_path, 1, "1")
    (tmp_path / name).mkdir()
    text = QUERY.replace('to parquet "b"', 'to delta "b"')
    options = _options(tmp_path, tmp_path / "home")
    sinks = {**options.sinks, "b": str(tmp_path / name / "b")}
    with pytest.raises(DiagnosticError, match="RQ434"):
        run(text, evolve(options, sinks=sinks), spark=sail)
