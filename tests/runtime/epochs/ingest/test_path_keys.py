"""Keys in the names of folders, `region=n/day=2020-01-01`, are fields of the tuples below them."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.records.path_keys import keys_in
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

TYPES = "s?: string, i?: int, l?: long, d?: double, p?: decimal(9, 2), b?: boolean, day?: date, t?: timestamp"
TEXTS = {
    "s": "a%2Fb %25%C3%BC",
    "i": "-7",
    "l": "4294967296",
    "d": "2.5e3",
    "p": "1.5",
    "b": "true",
    "day": "2020-01-31",
    "t": "2020-01-31 12%3A30%3A00",
}
VALUES: Item = {
    "s": "a/b %ü",
    "i": -7,
    "l": 4294967296,
    "d": 2500.0,
    "p": 1.5,
    "b": True,
    "day": "2020-01-31",
    "t": "2020-01-31T12:30:00.000000Z",
}
"""What the texts mean."""


def _write(run: Query, format_: str, rows: Sequence[Item], *keys: str) -> None:
    """Writes rows below folders with keys, as a file of a format."""
    folder = run.root.joinpath("in", "r", *keys)
    folder.mkdir(parents=True, exist_ok=True)
    at = "/".join((*keys, f"{run._count}"))
    match format_:
        case "parquet":
            number = len([*run.root.rglob("*.parquet")]) + 1
            run.write_table("r", pa.Table.from_pylist(list(rows)), number).rename(
                folder / f"{number}.parquet"
            )
        case "csv":
            header = [*rows[0]]
            lines = [
                ",".join("" if row.get(name) is None else str(row[name]) for name in header) for row in rows
            ]
            run.write("r", [",".join(header), *lines], f"{at}.csv")
        case "xml":
            elements = ["".join(f"<{name}>{value}</{name}>" for name, value in row.items()) for row in rows]
            run.write("r", [f"<r>{element}</r>" for element in elements], f"{at}.xml")
        case _:
            run.write("r", rows, f"{at}.jsonl")


def _query(run_format: str, declared: str) -> str:
    return f'stream r(k: int, {declared}) from {run_format} "r";\nemit r to json "out";\n'


def _sorted(rows: Sequence[Item]) -> list[Item]:
    return sorted(rows, key=lambda row: row["k"])


def test_keys_are_the_names_of_folders_below_the_source() -> None:
    assert keys_in("file:/d/y/", "file:/d/y/a%3Db=n%20/c=2=3/1.json") == {"a=b": "n ", "c": "2=3"}
    assert keys_in("file:/d/y/a=1", "file:/d/y/a=1/f.json") == {}
    assert keys_in("file:/d/y/a=1/f.json", "file:/d/y/a=1/f.json") == {}
    assert keys_in("/d", "/d/a=1/a=2/x/b=/=c/__HIVE_DEFAULT_PARTITION__/f=1.json") == {"a": "2", "b": ""}
    assert keys_in("/d", "/d/a=__HIVE_DEFAULT_PARTITION__/f.json") == {"a": None}
    assert keys_in("/d", "/d/a=1/epoch=000000000012/f.json") == {}
    assert keys_in("/d", "/d/epoch=12/f.json") == {"epoch": "12"}


@pytest.mark.either_engine
@pytest.mark.parametrize("format_", tiered(["json", "csv", "parquet", "xml"]))
def test_each_type_is_read_from_paths(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    """In one epoch, and file by file after a restart; a file without a key, and one of no value."""
    run = Query(spark, tmp_path, _query(format_, TYPES))
    _write(run, format_, [{"k": 1}, {"k": 2}], *(f"{name}={text}" for name, text in TEXTS.items()))
    _write(run, format_, [{"k": 3}], *(f"{name}=__HIVE_DEFAULT_PARTITION__" for name in TEXTS))
    run.run()
    assert _sorted(run.output("r")) == [{"k": 1, **VALUES}, {"k": 2, **VALUES}, {"k": 3}]
    _write(run, format_, [{"k": 4}])
    _write(run, format_, [{"k": 5}], "s=x", "i=5")
    run.run(files_per_epoch=1)
    assert _sorted(run.output("r"))[3:] == [{"k": 4}, {"k": 5, "s": "x", "i": 5}]
    if format_ in ("json", "csv"):
        assert _sorted(run.simulate().output("r")) == _sorted(run.output("r"))


@pytest.mark.either_engine
def test_bad_values_and_other_values_set_tuples_aside(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, _query("json", "day?: date, n?: int"))
    _write(run, "json", [{"k": 1}], "n=1", "day=abc")
    _write(run, "json", [{"k": 2, "n": 2}, {"k": 3, "n": 3}, {"k": 4}], "n=2")
    _write(run, "json", [{"k": 5, "n": 5}], "n=__HIVE_DEFAULT_PARTITION__")
    rows, rejections = run.agreed()
    assert _sorted(rows) == [{"k": 2, "n": 2}, {"k": 4, "n": 2}, {"k": 5, "n": 5}]
    assert [(rejection.line, rejection.text) for rejection in rejections] == [
        (1, 'RQ301 `day` must be a date, found "abc", in the path of the file'),
        (2, "RQ349 `n` has another value in the path of its file"),
    ]


@pytest.mark.either_engine
def test_a_column_beside_the_key_in_parquet(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, _query("parquet", "n: int in {1, 2}"))
    _write(run, "parquet", [{"k": 1, "n": 1}], "n=1")
    _write(run, "parquet", [{"k": 2, "n": 1}], "n=2")
    _write(run, "parquet", [{"k": 3}], "n=3")
    run.process()
    assert run.output("r") == [{"k": 1, "n": 1}]
    assert sorted(item["code"] for item in run.quarantine("r")) == ["RQ303", "RQ349"]


@pytest.mark.either_engine
def test_accents_units_and_names_apply_to_keys(spark: SparkSession, tmp_path: Path) -> None:
    """A description over a key, an alter and a rename of one, an added one, a unit from one, and a name by `from`."""
    declared = 'site: string from "Site", n?: int, u: string, v: double unit from u in {m, km}'
    run = Query(spark, tmp_path, _query("json", declared))
    _write(run, "json", [{"k": 1, "v": 1.0}], "Site=a", "u=km", "n=1")
    _write(run, "json", [{"k": 2, "v": 1.0}], "Site=b", "u=m", "n=1")
    accents = ['[[site = "a", alter(n, n -> n * 10)]]', "[[+(z: long)]]", "[[rename(nn, n)]]"]
    _write(run, "json", [{"$accent": accent} for accent in accents])
    _write(run, "json", [{"k": 3, "v": 2.0}], "Site=a", "u=km", "nn=20", "z=4")
    _write(run, "json", [{"k": 4, "v": 2.0}], "Site=b", "u=km", "nn=20")
    _write(run, "json", [{"k": 5, "v": 2.0}], "Site=b", "u=ft", "nn=20")
    rows, rejections = run.agreed(files_per_epoch=1)
    assert [rejection.text for rejection in rejections] == [
        "RQ311 `v` is in a unit that its declaration does not name"
    ]
    assert [(row["k"], row["site"], row.get("z")) for row in rows] == [
        (1, "a", None),
        (2, "b", None),
        (3, "a", 4),
        (4, "b", None),
    ]
    assert [(row["v"], row["n"]) for row in run.rows("r")] == [
        (1000.0, 1),
        (1.0, 1),
        (2000.0, 2),
        (2000.0, 20),
    ]


@pytest.mark.either_engine
def test_keys_that_no_attribute_reads_are_told_once_a_run(spark: SparkSession, tmp_path: Path) -> None:
    """By `simulate`, by a run, and by the next one if there are new files."""
    run = Query(spark, tmp_path, _query("json", "region?: string"))
    _write(run, "json", [{"k": 1}], "region=n")
    for region in "ns":
        _write(run, "json", [{"k": 1}], f"region={region}", "day=1", "Region=2")
    message = "folders of `r` have keys in their names, `day`, `Region`, that no attribute reads"
    warnings = [(warning.code, warning.message) for warning in run.simulate().warnings]
    assert warnings == [("RQ347", message)]
    (warning,) = run.simulated.warnings
    assert warning.help is not None
    assert warning.help.startswith("did you mean `region` by `Region`? ")
    for day in (2, 3):
        run.reports.clear()
        run.run(files_per_epoch=1)
        codes = [w.code for report in run.reports for w in report.warnings]
        assert codes == ["RQ347"]
        _write(run, "json", [{"k": 1}], "region=n", f"day={day}")


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_tools_that_read_streams_read_keys(tmp_path: Path, format_: str) -> None:
    """As a run: typed, by each attribute that has the name; another value of the tuple is one of two."""
    query = Query.without_engine(tmp_path, _query(format_, TYPES))
    _write(query, format_, [{"k": 1}, {"k": 2}], *(f"{name}={text}" for name, text in TEXTS.items()))
    schema, path = declared_schema(f"k: int, {TYPES}"), str(query.root / "in" / "r")
    assert validate(stream_lines(path), schema).valid
    output = io.StringIO()
    canonize(stream_lines(path), schema, output)
    canonical = Query.without_engine(tmp_path / "canonical", _query("json", TYPES))
    canonical.write("r", output.getvalue().splitlines())
    assert canonical.simulate().rows("r") == query.simulate().rows("r")
    bad = Query.without_engine(tmp_path / "bad", _query(format_, TYPES))
    for row, key in (({"k": 3, "i": 5}, "i=6"), ({"k": 3, "i": 6}, "i=6"), ({"k": 4}, "day=abc")):
        _write(bad, format_, [row], key)
    findings = validate(stream_lines(str(bad.root / "in" / "r")), schema).findings
    assert findings == Counter(rejection.code for rejection in bad.simulate().rejections)
    assert findings == {"RQ349": 1, "RQ301": 1}
