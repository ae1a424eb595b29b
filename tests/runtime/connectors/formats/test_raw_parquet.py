"""Values of Parquet columns of another type than their attribute, as pandas writes them: exact or set aside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.records.parquet_lines import parquet_lines
from tests.kit.lines import time_text
from tests.kit.query import Query
from tests.kit.tiers import rest
from tests.runtime.connectors.records.value_lines import of_double

pytestmark = pytest.mark.either_engine

START = datetime(1970, 1, 1, tzinfo=UTC)
DOUBLES = (
    *(
        0.0,
        -0.0,
        5.0,
        -7.0,
        5.5,
        0.1,
        1.25,
        1.005,
        -0.01,
        1e-3,
        99.99,
        99999999.99,
        123456789.12,
        2.0**31 - 1,
    ),
    *(
        2.0**31,
        -(2.0**31),
        -(2.0**31) - 1,
        2.0**53 - 1,
        2.0**53,
        -(2.0**53),
        1e15,
        1e16,
        1e17,
        2.0**63,
        1e300,
    ),
    *(5e-324, math.inf, -math.inf, math.nan, None, 0.1 + 0.2, 4503599627370496.5, 12345678901234.5),
)
TYPES = ("int", "long", "decimal(10,2)", "decimal(38,0)", "decimal(38,20)", "decimal(5,4)")


def write_table(root: Path, table: Any, number: int = 1, **options: Any) -> None:
    folder = root / "in" / "r"
    folder.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, folder / f"{number}.parquet", **options)


def passed(run: Query) -> dict[int, Any]:
    """`v` of the tuples that are passed on, by `n`; undefined is `None`."""
    return {item["n"]: item.get("v") for item in run.output("r") if "n" in item}


def set_aside(run: Query) -> dict[int, str]:
    """The reason of each row that is set aside, by its place."""
    assert {row["code"] for row in run.quarantine("r")} <= {"RQ301"}
    return {row["position"]["line"]: row["reason"] for row in run.quarantine("r")}


def query_of_type(type_: str) -> str:
    return f'stream r(n: long, v?: {type_}) from parquet "r"; emit r to json "out";'


@pytest.mark.parametrize("width", [pa.float64(), rest(pa.float32())])
@pytest.mark.parametrize("name", TYPES)
def test_doubles_are_whole_numbers_and_decimals_where_they_are_exact(
    spark: SparkSession, tmp_path: Path, name: str, width: pa.DataType
) -> None:
    column = pa.array(DOUBLES, pa.float64()).cast(width)
    values, type_ = column.cast(pa.float64()).to_pylist(), Type.parse(name)
    write_table(tmp_path, pa.table({"n": range(len(values)), "v": column}))
    run = Query(spark, tmp_path, query_of_type(name))
    run.process()
    expected = {n: of_double(type_, value) for n, value in enumerate(values)}
    bad = {n for n, value in enumerate(values) if value is not None and expected[n] is None}
    actual = passed(run)
    assert {n: v if v is None else Fraction(str(v)) for n, v in actual.items()} == {
        n: v for n, v in expected.items() if n not in bad
    }
    assert set_aside(run).keys() == bad
    assert all(f" {type_}, found " in reason for reason in set_aside(run).values())


def test_a_column_of_pandas_that_lacks_a_value_is_of_whole_numbers(
    spark: SparkSession, tmp_path: Path
) -> None:
    """pandas makes doubles of it, and nulls of its NaN."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [0, 1, 2, 3], "v": [1, None, 3, 4.5]})
    (tmp_path / "in" / "r").mkdir(parents=True)
    frame.to_parquet(tmp_path / "in" / "r" / "1.parquet")
    run = Query(spark, tmp_path, query_of_type("int"))
    run.process()
    assert passed(run) == {0: 1, 1: None, 2: 3}
    assert set_aside(run) == {3: "`v` must be an int, found 4.5"}


NANOSECONDS = (
    *(0, 1, 999, 1000, -1, -999, -1000, -1001, 1577934245123456789, -2208988800000000001),
    *(-(2**63) + 1, 2**63 - 1, None),
)


@pytest.mark.parametrize("zone", [None, "UTC", rest("Europe/Berlin")])
def test_nanoseconds_are_cut_to_microseconds(spark: SparkSession, tmp_path: Path, zone: str | None) -> None:
    """The default of pandas; earlier than 1970, too, they are rounded down."""
    column = pa.array(NANOSECONDS, pa.int64()).cast(pa.timestamp("ns", zone))
    write_table(tmp_path, pa.table({"n": range(len(NANOSECONDS)), "v": column}))
    run = Query(spark, tmp_path, query_of_type("timestamp"))
    run.process()
    assert passed(run) == {
        n: None if value is None else time_text(START + timedelta(microseconds=value // 1000))
        for n, value in enumerate(NANOSECONDS)
    }
    assert set_aside(run) == {}


def test_nanoseconds_of_a_required_attribute_in_a_window(spark: SparkSession, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2020-01-01T00:59:59.999999999", "2020-01-01T01:00:00.000000001"])
    (tmp_path / "in" / "r").mkdir(parents=True)
    pandas.DataFrame({"at": times.astype("datetime64[ns]"), "k": [1, 2]}).to_parquet(
        tmp_path / "in" / "r" / "1.parquet"
    )
    query = 'stream r(at: timestamp, k: int) from parquet "r"; w := window[1 hour on at as w](r); emit w to json "o";'
    run = Query(spark, tmp_path, query)
    run.process()
    first, second = sorted(run.output("w"), key=lambda item: item["k"])
    assert second["w"] == first["w"] + 1


ENDS: Mapping[str, tuple[Any, list[int], list[bool]]] = {
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [-62135596800000001, -62135596800000000, 0, 253402300799999999, 253402300800000000, 2**60],
        [False, True, True, True, False, False],
    ),
    "date": (pa.date32(), [-719163, -719162, 0, 2932896, 2932897], [False, True, True, True, False]),
}


@pytest.mark.parametrize("statistics", [True, rest(False)])
@pytest.mark.parametrize("name", ENDS)
def test_moments_beyond_the_years_are_set_aside(
    spark: SparkSession, tmp_path: Path, name: str, statistics: bool
) -> None:
    """A file whose statistics show that it has none is not searched."""
    kind, values, taken = ENDS[name]
    whole = pa.int32() if name == "date" else pa.int64()
    write_table(
        tmp_path,
        pa.table({"n": range(len(values)), "v": pa.array(values, whole).cast(kind)}),
        write_statistics=statistics,
    )
    run = Query(spark, tmp_path, query_of_type(name))
    run.process()
    assert sorted(passed(run)) == [n for n, is_taken in enumerate(taken) if is_taken]
    assert sorted(set_aside(run)) == [n for n, is_taken in enumerate(taken) if not is_taken]
    assert all(f" {name}, found " in reason for reason in set_aside(run).values())


@pytest.mark.parametrize("zone", ["+05:00", "America/New_York"])
def test_the_first_and_last_moment_are_read_from_a_column_of_a_zone(tmp_path: Path, zone: str) -> None:
    """There they are in the years 0 and 10000, which Python does not have."""
    _, values, taken = ENDS["timestamp"]
    write_table(tmp_path, pa.table({"v": pa.array(values, pa.timestamp("us", zone))}))
    (file,) = tmp_path.rglob("*.parquet")
    rows = [line.item or {} for line in parquet_lines(file)]
    assert [isinstance(row["v"], str) for row in rows] == taken


@pytest.mark.parametrize("files", [1, rest(2)])
def test_a_reason_names_the_attribute_whose_column_is_of_another_type(
    spark: SparkSession, tmp_path: Path, files: int
) -> None:
    columns = {"n": [1], "v": pa.array([1e17])}, {"n": [2], "v": pa.array([date(2020, 1, 2)])}
    for number, table in enumerate(columns):
        write_table(tmp_path, pa.table(table), number)
    run = Query(spark, tmp_path, query_of_type("long"))
    run.process(files_per_epoch=files)
    reasons = sorted(row["reason"] for row in run.quarantine("r"))
    assert reasons == [
        '`v` must be a long, found "2020-01-02"',
        "`v` must be a long, found a value of a column of type double",
    ]


@pytest.mark.parametrize("restarts", [rest(False), True])
def test_a_column_may_be_whole_in_one_file_and_of_doubles_in_the_next(
    spark: SparkSession, tmp_path: Path, restarts: bool
) -> None:
    """In one epoch, and file by file with a new process for each."""
    query = """
    stream r(n: long, v?: long) from parquet "r" punctuated on n;
    total := aggregate[sum(v) as v, max(n) as n](r);
    emit total to json "out";
    """
    odd = 2**53 + 1
    columns = [[odd, 2], [3.0, None], [5.0, 4.5], [7, None]]
    kinds = [pa.int64(), pa.float64(), pa.float32(), pa.int16()]
    run = Query(spark, tmp_path, query)
    for number, (values, kind) in enumerate(zip(columns, kinds, strict=True)):
        rows = pa.table({"n": [2 * number, 2 * number + 1], "v": pa.array(values, kind)})
        write_table(tmp_path, rows, 2 * number)
        if number == 3:
            write_table(tmp_path, pa.table({"$punctuation": ["[]"]}), 2 * number + 1)
        if restarts:
            run.go_on(run.executor(), number)
    if not restarts:
        run.process()
    assert [item for item in run.output("total") if "v" in item] == [{"v": odd + 2 + 3 + 5 + 7, "n": 7}]
    assert list(set_aside(run).values()) == ["`v` must be a long, found 4.5"]
