"""Files of every shape in a source's folder: Spark, the reference and the stream tools read the same of each."""

from __future__ import annotations

import bz2
import gzip
import json
import math
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import DOUBLE
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.connectors.formats.listing import ByName, in_order, listed_files
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.options.places import check_places
from cedilla.runtime.tools.inspect.verify import _verdict, decoded
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.compare import texts
from tests.kit.errors import error_text
from tests.kit.lines import text_of, write_files
from tests.kit.query import Query
from tests.kit.stream import Item, packed_zstd
from tests.runtime.connectors.formats.json_values import BLANKS, STRINGS, json_value

QUERY = 'stream r(ts: long, s?: string) from json "r"; emit r to json "out";'


def line(ts: int, **more: object) -> bytes:
    return json.dumps({"ts": ts, **more}).encode() + b"\n"


DEEP = {
    "b/1.jsonl": line(1),
    "a.jsonl": line(2),
    "b/c=1/2.jsonl": line(3),
    "b/_hidden.jsonl": line(90),
    "b/.hidden.jsonl": line(91),
    "_aside/3.jsonl": line(92),
    ".aside/c/3.jsonl": line(93),
    "_a=b/3.jsonl": line(94),
    "b/_metadata": line(95),
    "_metadata/3.jsonl": line(96),
    "b/4.jsonl._COPYING_": line(97),
    "epoch=000000000001/1-tuples.jsonl": line(4),
    "epoch=000000000001/_5.jsonl": line(98),
    "epoch=000000000000/1-tuples.jsonl": line(5),
}
IN_ORDER = ["epoch=000000000000/1-tuples.jsonl", "epoch=000000000001/1-tuples.jsonl"]
IN_ORDER += ["b/1.jsonl", "a.jsonl", "b/c=1/2.jsonl"]


def test_files_in_folders_below_are_read_in_order_and_hidden_ones_are_not(tmp_path: Path) -> None:
    """A `_` in what leads to the folder hides nothing."""
    source = write_files(tmp_path / "_in" / "r", DEEP)
    names = [file.path.removeprefix(f"file:{source}/") for file in listed_files(Files(), str(source))]
    assert names == [str(file.relative_to(source)) for file in files_of(str(source))] == IN_ORDER


@pytest.mark.parametrize("by_name", [False, True])
def test_markers_beside_tuples_are_at_their_places(tmp_path: Path, by_name: bool) -> None:
    """An output in Parquet has such files; its readers pass over names that begin with `_`."""
    names = [
        "epoch=000000000000/_0-adds.jsonl",
        "epoch=000000000000/1-tuples-00000.parquet",
        "epoch=000000000000/_2-punctuations.jsonl",
        "epoch=000000000001/_3-alters.jsonl",
        "epoch=000000000001/_4-drops.jsonl",
        "epoch=000000000002/1-tuples-00000.parquet",
    ]
    aside = [
        "_staging/run=000002/epoch=000000000003/_0-adds.jsonl",
        "epoch=000000000002/_1-tuples.jsonl",
        "_0-adds.jsonl",
    ]
    source = write_files(
        tmp_path / "in" / "r", {name: line(n) for n, name in enumerate([*names[::-1], *aside])}
    )
    order = ByName(f"file:{source}/") if by_name else None
    actual = in_order(Files().tree(str(source)), by_name=order)
    assert [file.path.removeprefix(f"file:{source}/") for file in actual] == names
    assert [file.is_markers for file in actual] == [name.endswith(".jsonl") for name in names]
    assert [str(file.relative_to(source)) for file in files_of(str(source), by_name=by_name)] == names


def test_run_reads_files_in_folders_below(spark: SparkSession, tmp_path: Path) -> None:
    write_files(tmp_path / "in" / "r", DEEP)
    run = Query(spark, tmp_path, QUERY)
    run.run()
    simulated = run.simulate()
    assert [item["ts"] for item in run.rows("r")] == [1, 2, 3, 4, 5]
    assert texts(run.output("r")) == texts(simulated.output("r"))
    assert run.rejections() == simulated.rejections


def test_a_query_does_not_read_what_it_writes(tmp_path: Path) -> None:
    def code(source: Path, sink: Path, checkpoint: Path) -> str | None:
        text = QUERY.replace('"r"', f'"{source}"').replace('"out"', f'"{sink}"')
        try:
            plan = compile_query(text).plan
            check_places(plan, str(checkpoint))
        except DiagnosticError as error:
            return error.diagnostics[0].code
        return None

    (tmp_path / "r").mkdir()
    r, out, checkpoint = (tmp_path / name for name in ("r", "out", "checkpoint"))
    assert code(r, out, checkpoint) is None
    assert code(r, r / "out", checkpoint) == code(r, r, checkpoint) == "RQ116"
    assert code(r, out, r / "checkpoint") == "RQ411"
    assert code(r, r / "_out", r / ".checkpoint") is None


STRINGS += ['"\\"+INF{"']


@pytest.mark.rest
def test_a_value_is_the_same_for_all_readers(spark: SparkSession, tmp_path: Path) -> None:
    """Random JSON values, for a string, which gets their text, and for a double: by `run`, `simulate` and `validate`;
    and what `run` has written is read back by each."""
    query = 'stream r(ts: long, s?: string, x?: double) from json "r"; emit r to json "out";'
    chance = Random(12)
    lines = [
        f'{{"ts": {ts},{chance.choice(BLANKS)}"{chance.choice("sx")}":{json_value(chance)}}}\n'
        for ts in range(2000)
    ]
    source = write_files(tmp_path / "in" / "r", {"1.jsonl": "".join(lines).encode()})
    run = Query(spark, tmp_path, query)
    run.run()
    simulated, texts_out = run.simulate(), texts(run.output("r"))
    expected = texts(simulated.output("r"))
    assert sorted({*texts_out} - {*expected}) == []
    assert texts_out == expected
    assert run.rejections() == simulated.rejections
    assert len(texts_out) > 500
    assert len(run.rejections()) > 200
    schema = declared_schema("ts: long, s?: string, x?: double")
    refused: list[Diagnostic] = []
    validate(stream_lines(str(source)), schema, refused.append)
    places = {
        (rejection.code, rejection.notes[-1].partition(": ")[0].rpartition("/")[2]) for rejection in refused
    }
    assert places == {(rejection.code, rejection.place) for rejection in run.rejections()}
    output, again = tmp_path / "out" / "r", Query.without_engine(tmp_path / "again", query)
    (tmp_path / "again" / "in").mkdir(parents=True)
    (tmp_path / "again" / "in" / "r").symlink_to(output)
    assert texts(again.simulate().output("r")) == texts_out
    assert again.simulated.rejected == []
    assert validate(stream_lines(str(output)), schema).valid
    tuples = run.output("r")
    assert len({str(item.get("x")) for item in tuples} & {"NaN", "Infinity", "-Infinity"}) == 3
    assert sorted(row["ts"] for row in run.rows("r")) == sorted(item["ts"] for item in tuples)


PLAIN = b"".join(line(ts, s=f"{ts * 7919 % 10007}") for ts in range(20_000))
DAMAGED = {
    "cut.jsonl.gz": gzip.compress(PLAIN)[:-1000],
    "text.jsonl.gz": PLAIN,
    "bytes.jsonl.GZ": gzip.compress(PLAIN)[:5000] + bytes(5000),
    "cut.jsonl.bz2": bz2.compress(PLAIN)[:-1000],
    "text.jsonl.bz2": PLAIN,
    "cut.jsonl.zst": packed_zstd(PLAIN)[:-1000],
    "text.jsonl.zstd": PLAIN,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_ends_the_query(tmp_path: Path, name: str) -> None:
    """Python ends with an EOFError, an OSError or a zlib.error."""
    source = write_files(tmp_path / "in" / "r", {name: DAMAGED[name]})
    message = f"RQ308 the compressed file {source / name} is cut off or damaged"
    assert error_text(Query.without_engine(tmp_path, QUERY).simulate).startswith(f"{message}; ")
    schema = declared_schema("ts: long, s?: string")
    assert error_text(lambda: validate(stream_lines(str(source)), schema)).startswith(f"{message}; ")


def test_a_damaged_file_ends_a_run_with_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    """Tuples that Spark has read before it stay."""
    source = write_files(tmp_path / "in" / "r", {"1.jsonl": line(1), "a b.jsonl.gz": DAMAGED["cut.jsonl.gz"]})
    message = f"RQ308 the compressed file {source / 'a b.jsonl.gz'} is cut off or damaged"
    text = error_text(Query(spark, tmp_path, QUERY).run)
    assert text.startswith(f"{message}; ")
    assert text == error_text(Query.without_engine(tmp_path, QUERY).simulate)
    (source / "a b.jsonl.gz").write_bytes(gzip.compress(line(2)))
    run = Query(spark, tmp_path, QUERY)
    run.run()
    assert [item["ts"] for item in run.rows("r")] == [1, 2]


@pytest.mark.parametrize("end", ["lz4", "snappy", "deflate", "gzip", "LZ4"])
def test_what_programs_compress_in_different_ways_is_refused(tmp_path: Path, end: str) -> None:
    """`run` reads by the same code; it is tried below."""
    source = write_files(tmp_path / "in" / "r", {f"1.jsonl.{end}": line(1)})
    message = f"RQ309 {source}/1.jsonl.{end} is compressed in a way that is not read here"
    assert error_text(Query.without_engine(tmp_path, QUERY).simulate).startswith(f"{message}; ")
    assert error_text(lambda: validate(stream_lines(str(source)), declared_schema("ts: long"))).startswith(
        f"{message}; "
    )


def test_run_refuses_it_with_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    source = write_files(tmp_path / "in" / "r", {"1.jsonl": line(1), "2.jsonl.lz4": line(2)})
    message = f"RQ309 {source}/2.jsonl.lz4 is compressed in a way that is not read here"
    assert error_text(Query(spark, tmp_path, QUERY).run).startswith(f"{message}; ")


@pytest.mark.rest
@pytest.mark.parametrize("name", ["b.jsonl.gz", "b.jsonl.lz4"])
def test_a_task_that_finds_it_is_told_in_the_same_words(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Tasks search where there is much; what they raise comes back as the text of a job's failure."""
    monkeypatch.setattr(costs, "SEARCHED_BY_DRIVER", 0)
    write_files(tmp_path / "in" / "r", {"a.jsonl": line(1), name: DAMAGED["cut.jsonl.gz"]})
    message = error_text(Query.without_engine(tmp_path, QUERY).simulate)
    assert message
    assert message.startswith("RQ30")
    assert error_text(Query(spark, tmp_path, QUERY).run) == message


def test_what_verify_compares_has_nan_and_infinities(tmp_path: Path) -> None:
    """An Alter leaves them as they are; NaN comes after all numbers, so a description of greater ones has it."""
    lines = [
        {"x": 5.0},
        {"$accent": "[[x > 1, alter(x, y -> 2 * y)]]"},
        {"x": "NaN"},
        {"x": "-Infinity"},
        {"x": 8.0},
    ]
    write_files(tmp_path, {"1.jsonl": text_of(lines).encode()})
    actual = decoded(str(tmp_path), {"x": DOUBLE})
    assert actual == [{"x": 5.0}, {"x": "NaN"}, {"x": "-Infinity"}, {"x": 4}]
    expected: list[Item] = [{"x": math.nan}, {"x": -math.inf}, {"x": 4.0}, {"x": 5.0}]
    assert _verdict("out", actual, expected, {"x": DOUBLE}).holds
