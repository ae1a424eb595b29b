"""`cedilla init --from`: the query that it writes runs, its test passes, and its comments are true of the data."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import Result
from pyarrow import csv, parquet

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.tools.first_query import samples
from cedilla.runtime.tools.first_query.names import base_name, unit_in
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.change_events import captured, event, flattened
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.stream import Item
from tests.kit.tiers import rest

BEGIN = datetime(2021, 5, 1, tzinfo=UTC)


def _at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _lake(folder: Path) -> None:
    columns = {
        "event_time": pa.array([BEGIN + timedelta(seconds=10 * n) for n in range(2020)]),
        "meter": [f"m{n % 20}" for n in range(2020)],
        "power_kw": [1 + n % 17 / 10 for n in range(2020)],
        "odd name": range(2020),
        "s": [{"a": 1}] * 2020,
    }
    folder.mkdir()
    parquet.write_table(pa.table(columns).slice(0, 1010), folder / "1.parquet")
    parquet.write_table(pa.table(columns).slice(1010), folder / "2.parquet")


def _table(folder: Path) -> None:
    import deltalake

    _lake(folder)
    whole = parquet.read_table(folder).drop_columns(["s", "odd name"])
    for file in folder.iterdir():
        file.unlink()
    for start in (0, 1010):
        deltalake.write_deltalake(str(folder), whole.slice(start, 1010), mode="append")


def _csv(folder: Path) -> None:
    rows = (
        f"2021-05-01 {n // 60:02}:{n % 60:02};G{n % 3};{20 + n % 5},{n % 10};{'NA' if n % 9 == 0 else n}"
        for n in range(600)
    )
    folder.mkdir()
    text = "\n".join(["Zeit;Gerät;Temperatur (°C);Status", *rows]) + "\n"
    (folder / "1.csv").write_text(text, "utf-8")


def _keyed(suffix: str) -> Callable[[Path], None]:
    """Returns a writer of a folder whose files lie below keys, one of them without a value."""

    def write(folder: Path) -> None:
        for day in (1, 2):
            for region in ("eu%2Fwest", "__HIVE_DEFAULT_PARTITION__"):
                inner = folder / f"region={region}" / f"day=2026-01-0{day}"
                inner.mkdir(parents=True)
                times = [BEGIN + timedelta(days=day, seconds=10 * n) for n in range(200)]
                columns = {"ts": times, "meter": [f"m{n % 5}" for n in range(200)], "power_kw": [1.5] * 200}
                table, file = pa.table(columns), inner / f"1.{suffix}"
                if suffix == "parquet":
                    parquet.write_table(table, file)
                else:
                    csv.write_csv(table, file)
                os.utime(file, (day, day))

    return write


def _xml(folder: Path) -> None:
    rows = (f"<Q><T>{_at(60 * n)}</T><S>a{n % 2}</S><P>{n}.5</P></Q>" for n in range(60))
    folder.mkdir()
    (folder / "1.xml").write_text(f"<all>{''.join(rows)}</all>", "utf-8")


def _point(number: int) -> Item:
    nanoseconds = str(10**9 * (1_620_000_000 + number * 10))
    service = {"key": "service.name", "value": {"stringValue": ("cart", "web")[number % 2]}}
    point = {"timeUnixNano": nanoseconds, "count": str(number % 7 + 1), "sum": 5.5 * number}
    histogram = {"aggregationTemporality": 1, "dataPoints": [point]}
    metric = {"name": "http.server.duration", "unit": "ms", "histogram": histogram}
    of_resource = {"resource": {"attributes": [service]}, "scopeMetrics": [{"metrics": [metric]}]}
    return {"resourceMetrics": [of_resource]}


def _json(rows: Iterator[Item], *more: Item | str) -> Callable[[Path], None]:
    """Returns a writer of a folder in JSON Lines: thirds of some rows, then further lines."""
    items: list[Item | str] = [*rows, *more]
    third = -(-len(items) // 3)

    def write(folder: Path) -> None:
        for number in range(3):
            write_lines(folder / f"{number}.jsonl", items[number * third : (number + 1) * third], number + 1)

    return write


def _two_units() -> Iterator[Item]:
    for n in range(600):
        degrees = 20 + n % 17 / 10
        named = {"temp_c": degrees} if n < 400 else {"temp_f": round(degrees * 9 / 5 + 32, 2)}
        yield {"ts": _at(60 * n), "device": f"d-{n % 7}", **named, "room": {"floor": n % 3}}


NUMBERED = _json(
    {"ts": 1_620_000_000_000 + n * 1000, "id": n % 5, "v": n if n % 50 else "oops"} for n in range(1, 999)
)
RENAMED = _json(
    {"ts": _at(n), "speed" if n < 300 else "speed_value": n * 1.5, "s": n % 3} for n in range(600)
)
MARKED = _json(
    item
    for n in range(60)
    for item in ({"ts": n, "s": n % 3, "t": 20.0 + n}, {"$punctuation": f"[ts < {n}]"})
)
MIXED = _json(({"ts": _at(n), "x": [n, str(n), {"k": 1}, None, True][n % 5]} for n in range(50)), "no json")
JUMPED = _json(
    {
        "ts": _at(n),
        "s": n % 2,
        "t": (20 + n * 7 % 13 / 10) * (1 if n < 400 else 1000),
        "firmware": f"{n % 2 + 1}.0",
        "release": str(n % 2),
    }
    for n in range(800)
)
HOME = _json(
    {
        "entity_id": f"s{n % 3}",
        "state": "unavailable" if n == 7 else f"{20 + n % 9}.5",
        "attributes": {"unit_of_measurement": "°F" if n > 70 and n % 3 == 1 else "°C"},
        "last_updated": _at(60 * n),
    }
    for n in range(100)
)


def _events() -> Iterator[Item]:
    for n in range(60):
        row: Item = {"customer": f"c{n % 4}", "order_id": n, "used_kwh": n * 1.5}
        row |= {"phone": None if n % 2 else "1"} if n > 30 else {}
        yield event("c", row, lsn=1_700_000_000 + n)
        if n % 7 == 0:
            yield event("u", row, before=row, lsn=1_700_000_000 + n)
        if n % 9 == 0:
            yield event("d", None, before=row, lsn=1_700_000_000 + n)


def _flattened() -> Iterator[Item]:
    for n in range(40):
        amount = {"total" if n < 20 else "amount": n}
        yield flattened("u" if n == 7 else "c", {"at": _at(n), "k": n % 3, "nr": n, **amount})


CASES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "lake": (_lake, [
        "# `lake`: the first 2,000 rows in 2 files of parquet.",
        "event_time: timestamp,  # the time, in order in 100% of the rows;",
        "power_kw: double unit kW",
        "# `odd name` is left out: no name of the language",
        "# `s` is left out: a column of type struct<a:bigint>, which no attribute reads",
        "aggregate[avg(power_kw) as power_kw, count() as n by meter, begin, end]",
    ]),
    "table": (_table, ["in 2 files of delta", "meter: string,  # the key; 20 values"]),
    "csv": (_csv, [
        'Temperatur_C: double decimal "," from "Temperatur (°C)" unit degC',
        'Status?: long)  # 1 to 599; mixed: 533 numbers and 67 other values, such as "NA", which mean no value',
        'none {"NA"};',
        "without an offset they are read in UTC",
    ]),
    "keyed": (_keyed("parquet"), [
        "region?: string",
        '# one value, "eu/west"; a key in the names of folders; 400 of 800 rows lack it',
        "day: date",
        "# 2026-01-01 to 2026-01-02; a key in the names of folders",
    ]),
    "keyed_csv": (_keyed("csv"), ["day: date", "region?: string"]),
    "xml": (_xml, ["P: double)  # 0.5 to 59.5", "heartbeat T delay 1 minute;"]),
    "otlp": (_json(map(_point, range(200))), [
        'service_name: string from resource "service.name"',
        'temporality: string in {"delta"}',
        "sum: double unit from unit in {ms}",
        "sum(sum) as total",
        "by metric, service_name, begin, end",
    ]),
    "two_units": (_json(_two_units()), [
        "# `temp_f` is likely `temp_c` in another unit by its name: no row has both.",
        'floor: long from "room.floor"',
        "coalesce(temp_c, temp_f) as temp",
        "avg(temp) as temp",
    ]),
    "numbered": (NUMBERED, [
        "ts: long unit ms",
        "which are set aside (RQ301)",
        "# Of these rows, `numbered` sets aside RQ301: 19",
        "timestamp_millis(begin) as begin",
    ]),
    "renamed": (RENAMED, [
        'speed: double from "speed" or "speed_value"',
        "row 301 is the first with `speed_value`",
    ]),
    "marked": (MARKED, ["# 60 punctuations are among the rows", "punctuated on ts;", "window[10 on ts as [begin,"]),
    "mixed": (MIXED, [
        "# No tuples: 1 x the line is not a JSON object.",
        "an object in 10 rows, which are set aside (RQ301)",
        "x?: string)  # mixed: 10 numbers and 20 other values",
    ]),
    "jumped": (JUMPED, [
        "# `t` changes as by",
        "and no accent says so: [[",
        'firmware: version,  # 2 values: "1.0", "2.0"',
        "release: string",
    ]),
    "home": (HOME, [
        'state: double from text "state" unit from unit_of_measurement in {"°C", "°F"}',
        'numbers in texts; set aside (RQ301): 1, such as "unavailable"',
        "avg(state) as state",
    ]),
    "events": (_json(_events()), [
        "# Change events: inserted rows are tuples; updates and deletes are set aside (RQ540).",
        "# No tuples: 9 x an update of a row.",
        "# Of these rows, `events` sets aside RQ540: 16 (",
        "customer: string,  # the key; 4 values",
        "order_id: long,  # likely the key of the table; 0 to 59",
        'time: timestamp from change "time")  # the time, in order in 100% of the rows',
        "# `phone` is left out: 31 of 60 rows lack the column, and would be set aside (RQ541)",
        'from json "events" format debezium by order_id',
    ]),
    "daily": (lambda folder: _json(_events())(folder / "day=2026-01-01"), [
        "day: date",
        'from json "daily" format debezium by order_id',
    ]),
    "flattened": (_json(_flattened()), [
        "at: timestamp,  # the time",
        'total: long from "total" or "amount")  # 0 to 19; two versions',
        "format debezium by nr",
    ]),
    "captured": (_json(iter(()), *captured()), [
        'name: string from "name" or "full_name",',
        "born?: date,",
        "format debezium by id",
    ]),
    "timeless": (_json({"a": n, "b": "x"} for n in range(10)), ["# Most rows have no time"]),
}  # fmt: skip

IN_PLAIN_RUN = ["lake", "csv", "two_units", "mixed"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _begun(name: str, path: str) -> tuple[Result, str]:
    """Returns what `init` says, and the query that it has written; it is right, and its test passes."""
    done = cedilla("init", "--from", path)
    assert done.exit_code == 0, done.output
    query = Path(f"{name}.rq").read_text("utf-8")
    checked = cedilla("check", "--strict", f"{name}.rq")
    assert checked.exit_code == 0, checked.output
    assert cedilla("fmt", "--check", f"{name}.rq").exit_code == 0
    tested = cedilla("test")
    assert tested.output == "1 of 1 tests pass\n"
    return done, query


@pytest.mark.parametrize("name", [*IN_PLAIN_RUN, *(rest(name) for name in CASES if name not in IN_PLAIN_RUN)])
def test_a_query_over_data_runs_and_says_what_was_seen(root: Path, name: str) -> None:
    write, expected = CASES[name]
    write(root / name)
    done, query = _begun(name, name)
    for text in expected:
        assert text in query
    assert f"next: cedilla simulate {name}.rq; cedilla test" in done.stdout
    simulated = cedilla("simulate", f"{name}.rq")
    assert simulated.exit_code == 0, simulated.output
    assert any('"n": ' in line or '"a": ' in line for line in simulated.stdout.splitlines())


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_columns_may_have_the_names_that_the_query_gives(root: Path, form: str) -> None:
    """A format without paths cannot give an attribute another name than its column's."""
    (root / "r").mkdir()
    rows = [{"ts": 1_577_836_800 + 10 * i, "n": i, "end": i, "x": i / 2} for i in range(40)]
    match form:
        case "parquet":
            typed = [{**row, "ts": BEGIN + timedelta(seconds=row["n"])} for row in rows]
            parquet.write_table(pa.Table.from_pylist(typed), root / "r" / "1.parquet")
        case "csv":
            lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
            (root / "r" / "1.csv").write_text("\n".join(lines) + "\n", "utf-8")
        case _:
            (root / "r" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    _, query = _begun("r", "r")
    assert ("as window_n" if form == "parquet" else "as n ") in query


def test_a_file_and_data_elsewhere_are_read_with_permission(root: Path) -> None:
    RENAMED(root / "data")
    _begun("stream_0", "data/0.jsonl")
    done = cedilla("init", "p q", "--from", "data")
    last = done.stdout.splitlines()[-1]
    assert last == "next: cd 'p q'; cedilla simulate data.rq --allow-path ../data; cedilla test"
    os.chdir(root / "p q")
    assert cedilla("simulate", "data.rq", "--allow-path", "../data").exit_code == 0
    assert cedilla("test").output == "1 of 1 tests pass\n"


def test_each_path_is_a_stream_of_one_query(root: Path) -> None:
    RENAMED(root / "a")
    NUMBERED(root / "b")
    done = cedilla("init", "--from", "a", "--from", "b")
    assert done.exit_code == 0, done.output
    query = (root / "a.rq").read_text()
    assert "emit a_by_minute to" in query
    assert "emit b_by_minute_moments to" in query
    assert cedilla("test").output == "1 of 1 tests pass\n"


class _Topic:
    """A topic of two partitions, one of them empty."""

    partitions = (0, 1)

    def __init__(self, address: Any) -> None:
        self._name = address.topic.name

    def ends(self, partition: int) -> tuple[int, int]:
        return (5, 5) if partition else (3, 5003)

    def lines(self, partition: int, begin: int, end: int) -> Iterator[Line]:
        for n in range(begin, end):
            yield Line(json.dumps({"ts": _at(n), "k": n % 3, "v": 1.5}), f"{self._name}/{partition}:{n}")


def test_a_topic_gives_a_bounded_sample(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "RecordedTopic", _Topic)
    _, query = _begun("readings", "host:9092/readings")
    assert "# `readings`: the first 1,000 rows in 2 partitions of kafka." in query
    assert 'from kafka "host:9092/readings"' in query


@pytest.mark.parametrize(
    ("files", "code", "text"),
    [
        ({}, "RQ468", "data has no tuple"),
        ({"1.jsonl": b""}, "RQ468", "data has no tuple"),
        ({"1.jsonl": b'{"$punctuation": "[]"}\n'}, "RQ468", "data has no tuple"),
        ({"1.jsonl": b"no json\n"}, "RQ468", "data has no tuple: the line is not a JSON object"),
        ({"1.jsonl": b"\x1f\x8b\x08\0"}, "RQ468", "it is packed by gzip"),
        ({"1.jsonl": b'{"a": 1}\n', "2.csv": b"a\n1\n"}, "RQ468", "files of csv and json"),
        ({"1.csv": b"a,a\n1,2\n"}, "RQ426", "names `a` twice"),
        ({"1.jsonl": b"[\n{}\n]\n"}, "RQ404", "an array over several lines"),
        ({"1.parquet": b"PAR1 and no more"}, "RQ414", "cannot be read as Parquet"),
        ({"1.jsonl.gz": b"no gzip"}, "RQ308", "cut off or damaged"),
        (None, "RQ410", "data does not exist"),
    ],
)
def test_data_that_is_no_beginning_is_refused(
    root: Path, files: dict[str, bytes] | None, code: str, text: str
) -> None:
    if files is not None:
        (root / "data").mkdir()
        for name, content in files.items():
            (root / "data" / name).write_bytes(content)
    done = cedilla("init", "--from", "data")
    assert (done.exit_code, f"error[{code}]" in done.stderr) == (1, True), done.output
    assert text in done.stderr
    assert sorted(path.name for path in root.iterdir()) == (["data"] if files is not None else [])


def test_nothing_is_overwritten_and_no_text_of_the_data_becomes_code(root: Path) -> None:
    name = 'x", y: int) from json "/etc"; # \n"'
    write_lines(
        root / "data" / "1.jsonl", [{name: "```\n# 1\n*/", "ts": _at(n), "k": "\x1b[2J"} for n in range(9)]
    )
    _, query = _begun("data", "data")
    assert "\x1b" not in query
    assert len(compile_query(query).plan.sources[0].attributes) == 3
    assert [source.path for source in compile_query(query).plan.sources] == ["data"]
    assert "error[RQ455]" in cedilla("init", "--from", "data").stderr


@pytest.mark.parametrize(
    ("name", "unit", "base"),
    [
        ("latency_ms", "ms", "latency"),
        ("tempF", "degF", "temp"),
        ("Power (kW)", "kW", "power"),
        ("room_temp_c", "degC", "room_temp"),
        ("T [°C]", "degC", "t"),
        ("litres", "L", "litres"),
        ("status", "", "status"),
        ("vitamin_c", "", "vitamin_c"),
        ("id", "", "id"),
    ],
)
def test_names_have_units_at_their_ends(name: str, unit: str, base: str) -> None:
    assert (unit_in(name), base_name(name)) == (unit, base)
    if unit:
        assert declared_schema(f"x: double unit {unit}").source.attributes[0].unit
