"""Streams `format debezium by id`, on an engine as by the reference: rows, what is set aside, and renamed columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.kit.change_events import captured, compact, event, flattened, with_schema
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.query import Query
from tests.kit.stream import Item
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

COLUMNS = "id,name,born,at,seen,paid,anyn,t,b,g,j,u,iv,arr,d"
CAPTURED = """
stream r(id: long, name?: string, born?: date, at?: timestamp zone "Europe/Berlin", seen?: timestamp,
         paid?: decimal(10, 2), anyn?: decimal(9, 3), t?: string, x?: double from "g.x", arr?: list of string,
         iv?: long, columns: string from change "columns", lsn: long from change "source.lsn")
  from json "r" format debezium by id;
emit r to json "r";
"""
RENAMED = f'accent r [[columns = "{COLUMNS.replace("name", "full_name")}", rename(full_name, name)]];'
NO_ROWS = ["an update of a row", "a delete of a row", "a truncate of the table"]


def test_what_debezium_has_written_is_read_by_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    """A renamed column is set aside until an accent says so; then it can be sent again."""
    run = Query(spark, tmp_path, CAPTURED)
    run.write("r", captured())
    rows, rejections = run.agreed()
    assert [row["name"] for row in rows] == ["n1", "n2", "x"]
    assert {n: v for n, v in rows[0].items() if n not in ("columns", "lsn")} == {
        "id": 1,
        "name": "n1",
        "born": "2000-01-02",
        "t": "03:04:05.000000",
        "x": 1.0,
        "arr": ["a", "b"],
        "at": "2026-01-02T02:04:05.123456Z",
        "seen": "2026-01-02T02:04:05.500000Z",
        "paid": 12.3,
        "anyn": 1.5,
        "iv": 86_400_000_000,
    }
    assert rows[2].keys() == {"id", "name", "columns", "lsn"}
    assert [row["columns"] for row in rows] == [COLUMNS] * 3
    update, delete, truncate = (f"RQ540 {what} is not a new tuple" for what in NO_ROWS)
    renamed = "RQ541 the row has no column `name`; no attribute reads `full_name`, `b`, `j`, `u`, `d`"
    assert [r.text for r in rejections] == [update, delete, renamed, truncate]
    assert rejections[2].raw == captured()[5]

    run.query = CAPTURED + RENAMED
    sent = cedilla("replay", tmp_path / "checkpoint", "--code", "RQ541")
    assert sent.exit_code == 0, sent.output
    run.run(yes=True)
    assert sorted((row["id"], row["name"]) for row in run.rows("r"))[2:] == [(3, "x"), (4, "z")]


def test_renamed_columns_have_one_meaning_whatever_the_epochs(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of both shapes are interleaved, and come file by file, too."""
    query = """
    stream r(id: long, name?: string, columns: string from change "columns") from json "r" format debezium by id;
    accent r [[columns = "id,label", rename(label, name)]];
    emit r to json "r";
    """
    events = [
        event("c", {"id": n, ("label" if n % 3 else "name"): f"n{n}" if n % 4 else None}) for n in range(12)
    ]
    expected = [{"id": n, **({"name": f"n{n}"} if n % 4 else {})} for n in range(12)]
    for size in (12, 1):
        run = Query(spark, tmp_path / str(size), query)
        for begin in range(0, 12, size):
            run.write("r", events[begin : begin + size])
        rows, rejections = run.agreed(files_per_epoch=1)
        assert rejections == []
        assert [{n: row[n] for n in ("id", "name") if n in row} for row in rows] == expected


def test_the_new_name_of_a_column_is_not_inferred(spark: SparkSession, tmp_path: Path) -> None:
    """An accent could not rename a column that is an attribute already; other new columns become attributes."""
    query = """
    set drift = infer;
    stream r(id: long, name?: string, columns: string from change "columns") from json "r" format debezium by id;
    emit r to json "r";
    """
    run = Query(spark, tmp_path, query)
    renamed = event("c", {"id": 2, "full_name": "b", "p": 1})
    run.write("r", [event("c", {"id": 1, "name": "a", "p": 5}), renamed])
    rows, rejections = run.agreed()
    assert [row.get("p") for row in rows] == [5]
    assert [r.text for r in rejections] == [
        "RQ541 the row has no column `name`; no attribute reads `full_name`"
    ]
    run.query = query.replace(
        "emit", 'accent r [[columns = "id,full_name,p", rename(full_name, name)]]; emit'
    )
    assert "sent again" in cedilla("replay", tmp_path / "checkpoint", "--code", "RQ541").output
    run.run(yes=True)
    assert sorted((row["id"], row["name"], row["p"]) for row in run.rows("r") if "id" in row) == [
        (1, "a", 5),
        (2, "b", 1),
    ]


SHAPES: dict[str, tuple[str, Item, str]] = {
    "a column is gone": ("", {"id": 1}, "RQ541 the row has no column `name`"),
    "a column has another name": (
        "",
        {"id": 1, "nam": "a"},
        "RQ541 the row has no column `name`; no attribute reads `nam`",
    ),
    "the key is gone": ("", {"name": "a"}, "RQ541 the row has no column `id`"),
    "the key is null": ("", {"id": None, "name": "a"}, "RQ302 `id` is required, but missing"),
    "a null": ("", {"id": 1, "name": None}, ""),
    "a column is dropped": ('[[columns = "id", -(name)]]', {"id": 1}, ""),
    "it is dropped elsewhere": ('[[columns = "id", -(name)]]', {"id": 1, "name": "a"}, ""),
    "a column is added": ('[[columns = "id,name,p", +(p: int)]]', {"id": 1, "name": "a", "p": 5}, ""),
    "another has its name": (
        '[[columns = "id,label", rename(label, name)]]',
        {"id": 1, "name": "a", "label": "b"},
        "RQ312 `name` has two of its names at once, with two values",
    ),
}


@pytest.mark.parametrize("what", tiered(SHAPES, 3))
def test_a_missing_column_is_no_null(spark: SparkSession, tmp_path: Path, what: str) -> None:
    accent, row, reason = SHAPES[what]
    run = Query(
        spark,
        tmp_path,
        'stream r(id: long, name?: string, columns: string from change "columns") from json "r" format debezium by id;'
        + (f"accent r {accent};" if accent else "")
        + 'emit r to json "r";',
    )
    run.write("r", [event("c", row)])
    rows, rejections = run.agreed()
    assert [rejection.text for rejection in rejections] == ([reason] if reason else [])
    assert [{n: v for n, v in one.items() if n != "columns"} for one in rows] == (
        [] if reason else [{n: v for n, v in row.items() if v is not None}]
    )


@pytest.mark.parametrize("form", tiered(["bare", "with a schema", "flattened"]))
def test_updates_among_many_rows_are_set_aside_alone(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """With markers among the events; a run that aborts names the first of them."""

    def line(number: int, operation: str) -> str:
        row = {"id": number, "v": number / 4}
        bare = event(operation, row, lsn=number + 1)
        types: Any = {"id": {"type": "int64"}, "v": {"type": "double"}}
        of_form = {
            "bare": bare,
            "with a schema": with_schema(bare, types),
            "flattened": flattened(operation, row),
        }
        return compact(of_form[form])

    query = 'stream r(id: long, v: double unit degF) from json "r" format debezium by id;'
    query += 'emit r to json "r" with v in degF;'
    run = Query(spark, tmp_path, query)
    lines = [line(n, "u" if n % 5 == 3 else "c") for n in range(60)]
    accent = '{"$accent": "[[unit(v, degC)]]"}'
    run.write("r", [*lines[:30], accent, *lines[30:]])
    rows, rejections = run.agreed()
    kept = [n for n in range(60) if n % 5 != 3]
    assert [row["id"] for row in rows] == kept
    assert rows[-1]["v"] == pytest.approx(59 / 4 * 9 / 5 + 32)
    assert {r.code for r in rejections} == {"RQ540"}
    assert [r.line for r in rejections] == [n + 1 + (n >= 30) for n in range(60) if n % 5 == 3]

    run = Query(spark, tmp_path / "aborts", query)
    run.write("r", lines)
    with pytest.raises(Exception, match="12 rejected, the first: an update of a row is not a new tuple"):
        run.process(settings={"invalid": "abort"})


def test_drift_adds_columns_and_no_fields_of_events(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(
        spark,
        tmp_path,
        """
        set drift = infer;
        stream r(id: long, lsn: long from change "source.lsn") from json "r" format debezium by id;
        emit r to json "r";
        """,
    )
    run.write("r", [event("c", {"id": 1}), event("c", {"id": 2, "city": "Oslo"}, lsn=2)])
    rows, rejections = run.agreed()
    assert rejections == []
    assert rows == [{"id": 1, "lsn": 1}, {"id": 2, "lsn": 2, "city": "Oslo"}]


def test_a_declaration_may_list_both_names_of_a_column(spark: SparkSession, tmp_path: Path) -> None:
    """A row has to have one of them."""
    query = 'stream r(id: long, name?: string from "name" or "label") from json "r" format debezium by id;'
    run = Query(spark, tmp_path, query + 'emit r to json "r";')
    run.write("r", [event("c", {"id": n, name: "a"}) for n, name in enumerate(("name", "label", "title"))])
    rows, rejections = run.agreed()
    assert rows == [{"id": 0, "name": "a"}, {"id": 1, "name": "a"}]
    assert [r.text for r in rejections] == ["RQ541 the row has no column `label`; no attribute reads `title`"]


def test_a_table_and_keys_in_paths_have_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(
        spark,
        tmp_path,
        """
        table places(id: long, name?: string) from json "places" format debezium by id;
        stream r(id: long, shop?: string) from json "r" format debezium by id;
        j := r join places on id;
        emit j to json "r";
        """,
    )
    run.write("places", [event("r", {"id": 1, "name": "Oslo"})])
    run.write("r", [event("c", {"id": 1}), event("c", {"id": 2})], "shop=a/1.jsonl")
    run.process()
    assert run.rows("j") == run.simulate().rows("j") == [{"id": 1, "name": "Oslo", "shop": "a"}]
    assert run.rejections("r") == run.rejections("places") == run.simulated.rejections == []


# --- last states of the rows of a table ---

STATES = """
table places(id: long, name?: string, unit?: double unit degF) from json "places"
  format debezium by id as latest by id;
stream r(n: int, id: long) from json "r" punctuated on id;
j := r join places on id;
emit j to json "j" with unit in degF;
emit places to json "places" with unit in degF;
"""


def place(operation: str, id_: int, name: str, unit: float = 50.0) -> Item:
    row = {"id": id_, "name": name, "unit": unit}
    if operation == "d":  # with the key only, as PostgreSQL logs it
        return event("d", None, before={"id": id_, "name": None, "unit": None})
    return event(operation, row, before={"id": id_, "name": "old", "unit": 0.0} if operation == "u" else None)


def test_a_table_has_the_last_state_of_each_row(spark: SparkSession, tmp_path: Path) -> None:
    """A delete ends a row, which may begin again; over files and accents, and with updates among bare rows."""
    run = Query(spark, tmp_path, STATES)
    run.write("places", [place("r", n, f"p{n}") for n in range(5)])
    run.write("places", [place("u", 1, "new"), place("d", 2, ""), place("c", 7, "c"), place("d", 7, "")])
    accent = {"$accent": "[[unit(unit, degC)]]"}
    later = [place("u", 1, "newest", 10.0), place("d", 3, ""), place("c", 3, "again", 20.0)]
    run.write("places", [accent, *later])
    run.write("r", [{"n": n, "id": n} for n in range(8)])
    run.process(files_per_epoch=1)
    states = {0: ("p0", 50.0), 1: ("newest", 50.0), 3: ("again", 68.0), 4: ("p4", 50.0)}
    expected = [{"id": n, "name": name, "unit": unit} for n, (name, unit) in states.items()]
    simulated = run.simulate()
    assert run.rows("places") == simulated.rows("places") == sorted(expected, key=str)
    assert [row["id"] for row in run.rows("j")] == [row["id"] for row in simulated.rows("j")] == [*states]
    assert run.rejections("places") == simulated.rejections == []
    run.write("r", [{"n": 8, "id": n} for n in (1, 2)])
    run.run()
    assert [row["name"] for row in run.rows("j") if row["n"] == 8] == ["newest"]


def test_the_last_states_are_a_domain(spark: SparkSession, tmp_path: Path) -> None:
    """Without the values of deleted rows and of earlier states."""
    query = """
    table places(id: long, name: string) from json "places" format debezium by id as latest by id;
    stream r(name: string in places.name) from json "r";
    emit r to json "r";
    """
    run = Query(spark, tmp_path, query)
    run.write("places", [place("r", 1, "a"), place("r", 2, "b"), place("u", 1, "c"), place("d", 2, "")])
    run.write("r", [{"name": name} for name in "abc"])
    rows, rejections = run.agreed()
    assert rows == [{"name": "c"}]
    assert [rejection.code for rejection in rejections] == ["RQ303"] * 2


def test_the_keys_of_last_states_are_a_domain(spark: SparkSession, tmp_path: Path) -> None:
    """The engine sorts the states by position, and Sail refuses to take distinct values of such rows up to a number."""
    query = """
    table places(id: long, name: string) from json "places" format debezium by id as latest by id;
    stream r(id: long in places.id) from json "r";
    emit r to json "r";
    """
    run = Query(spark, tmp_path, query)
    run.write("places", [place("r", 1, "a"), place("r", 2, "b"), place("d", 2, "")])
    run.write("r", [{"id": 1}, {"id": 2}])
    rows, rejections = run.agreed()
    assert rows == [{"id": 1}]
    assert [rejection.code for rejection in rejections] == ["RQ303"]


BAD: dict[str, tuple[Item, str]] = {
    "a renamed column": (event("u", {"id": 1, "label": "a", "unit": 1.0}), "RQ541"),
    "a value of another type": (event("u", {"id": 1, "name": "a", "unit": "x"}), "RQ301"),
    "a value that was not logged": (place("u", 1, "__debezium_unavailable_value"), "RQ301"),
    "a delete without its row": (event("d", None), "RQ301"),
    "a delete without its key": (event("d", None, before={"id": None}), "RQ302"),
    "a truncate": (event("t", None), "RQ540"),
}


@pytest.mark.parametrize("what", tiered(BAD))
def test_an_event_that_cannot_be_read_leaves_no_older_state(
    spark: SparkSession, tmp_path: Path, what: str
) -> None:
    bad, code = BAD[what]
    run = Query(spark, tmp_path, STATES)
    run.write("places", [place("r", 1, "a"), bad])
    run.write("r", [{"n": 1, "id": 1}])
    for error in (error_of(run.process), error_of(run.simulate)):
        assert (error.code, "would be an older one" in str(error.help)) == (code, True)
        assert "; or" not in str(error.help), "there is no other way"
    assert not [*(tmp_path / "out").glob("*/epoch=*")]


def test_a_marker_that_ends_an_epoch_amid_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, STATES)
    dropped = ["[[-(name)]]", "[[+(name: string)]]"]
    run.write("places", [place("r", 1, "a"), *({"$accent": text} for text in dropped), place("u", 1, "b")])
    run.write("r", [{"n": 1, "id": 1}])
    assert error_of(run.process).code == "RQ545"
