"""A domain that comes from a table, and grows with its files, on Spark (theory N1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from tests.kit.query import Query, save_parquet
from tests.kit.stream import is_tuple

pytestmark = pytest.mark.either_engine

QUERY = """
table fleet(pump: int, since: timestamp) from json "in";
stream pumps(ts: long, pump: int in fleet.pump, litres: double) from json "in" punctuated on ts;
minutes := window[60 on ts as minute](pumps);
flow := aggregate[avg by minute except ts, pump](minutes);
emit flow to json "out";
"""
ALTER = "[[pump in {1, 2}, alter(litres, y -> y / 1000)]]"


def pump_row(pump: int) -> dict[str, object]:
    return {"pump": pump, "since": f"2020-01-0{pump}T00:00:00Z"}


def tuples_of_minute(minute: int, **litres: float) -> list[dict[str, object]]:
    """A minute's tuples, by pump, and its end."""
    rows: list[dict[str, object]] = [
        {"ts": minute * 60, "pump": int(name[1:]), "litres": value} for name, value in litres.items()
    ]
    return [*rows, {"$punctuation": f"[ts < {minute * 60 + 60}]"}]


def test_new_files_let_it_grow_while_it_runs_and_at_the_next_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, QUERY)
    first = run.write("fleet", [pump_row(1), pump_row(2), {"since": "2020-01-01T00:00:00Z"}])
    run.write("pumps", [*tuples_of_minute(0, p1=100.0, p2=140.0, p3=1.0), {"$accent": ALTER}])
    executor = run.executor()
    run.go_on(executor, 0)
    assert executor.last.counters == {"RQ302": 1, "RQ303": 1}

    # While it runs. The announcement of all members holds for the new one, too: its litres are converted.
    run.write("fleet", [pump_row(3)])
    run.write("pumps", tuples_of_minute(1, p1=0.1, p2=0.1, p3=400.0))
    run.go_on(executor, 1)
    assert "`fleet` has pump = 3, which is new" in run.reports[-1].notes
    assert executor.last.counters == {"RQ302": 1, "RQ303": 1}

    # At the next start. A file that has gone takes nothing away.
    first.unlink()
    run.write("fleet", [pump_row(2), pump_row(4)])
    run.write("pumps", [*tuples_of_minute(2, p1=0.1, p4=100.0), {"$accent": ALTER.replace("1, 2", "3, 4")}])
    executor = run.executor()
    run.go_on(executor, 2)
    report = run.reports[-1]
    assert "`fleet` has pump = 4, which is new" in report.notes
    assert [warning.code for warning in report.warnings] == ["RQ418"]
    assert report.warnings[0].message == "`fleet` has no pump = 1 any more, but the domain keeps it"
    assert executor.last.counters == {"RQ302": 1, "RQ303": 1}
    run.write("pumps", tuples_of_minute(3, p4=0.3))
    run.go_on(executor, 3)
    assert run.reports[-1].notes == run.reports[-1].warnings == ()
    assert [i for i in run.output("flow") if is_tuple(i)] == [
        {"minute": 0, "litres": 120.0},
        {"minute": 1, "litres": 0.2},
        {"minute": 2, "litres": 0.1},
        {"minute": 3, "litres": 0.3},
    ]
    accents = [i["$accent"] for i in run.output("flow") if "$accent" in i]
    assert accents == ["[[alter(litres, y -> y / 1000)]]"]


def test_a_rewritten_file_is_read_again_and_formats_and_types_do_not_matter(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = QUERY.replace(
        'fleet(pump: int, since: timestamp) from json "in"', 'fleet(at: timestamp) from parquet "in"'
    )
    query = query.replace("ts: long, pump: int in fleet.pump", "ts: long, pump: timestamp in fleet.at")
    run = Query(spark, tmp_path, query)
    table, one, two = tmp_path / "in" / "fleet" / "1.parquet", "2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"
    save_parquet(spark.sql(f"SELECT timestamp '{one}' AS at"), table)
    rows = [{"ts": 0, "pump": at, "litres": 1.0} for at in (one, two)]
    run.write("pumps", rows)
    executor = run.executor()
    run.go_on(executor, 0)
    assert executor.last.counters == {"RQ303": 1}
    table.unlink()
    save_parquet(spark.sql(f"SELECT explode(array(timestamp '{one}', timestamp '{two}')) AS at"), table)
    run.write("pumps", rows)
    run.go_on(executor, 1)
    assert executor.last.counters == {"RQ303": 1}


def test_two_streams_that_are_joined_on_it_grow_together(spark: SparkSession, tmp_path: Path) -> None:
    query = """
    table fleet(pump: int) from json "in";
    stream pumps(ts: long, pump: int in fleet.pump, litres: double) from json "in" punctuated on ts;
    stream places(pump: int in fleet.pump, place: string) from json "in" punctuated on pump;
    emit pumps join places on pump to json "out";
    """
    run = Query(spark, tmp_path, query)
    run.write("fleet", [{"pump": 1}])
    run.write("places", [{"pump": 1, "place": "hall"}])
    run.write("pumps", [{"ts": 0, "pump": 1, "litres": 1.0}])
    executor = run.executor()
    run.go_on(executor, 0)
    run.write("fleet", [{"pump": 2}])
    run.write("places", [{"pump": 2, "place": "yard"}])
    run.write("pumps", [{"ts": 1, "pump": 2, "litres": 2.0}, {"ts": 2, "pump": 1, "litres": 3.0}])
    run.go_on(executor, 1)
    assert executor.last.counters == {}
    actual = [i for i in run.output("join") if is_tuple(i)]
    assert sorted((i["ts"], i["place"]) for i in actual) == [(0, "hall"), (1, "yard"), (2, "hall")]


def test_where_an_operator_could_not_go_on_a_running_query_ends_and_the_next_start_asks(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = """
    table fleet(pump: int) from json "in";
    stream pumps(ts: long, pump: int in fleet.pump, litres: double) from json "in";
    stream places(pump: int, place: string) from json "in";
    emit pumps join places on pump to json "out";
    """
    run = Query(spark, tmp_path, query)
    run.write("fleet", [{"pump": 1}])
    run.write("places", [{"pump": pump, "place": "hall"} for pump in (1, 2)])
    run.write("pumps", [{"ts": 0, "pump": 1, "litres": 1.0}])
    executor = run.executor()
    run.go_on(executor, 0)
    run.write("fleet", [{"pump": 2}])
    run.write("pumps", [{"ts": 1, "pump": 2, "litres": 2.0}])
    with pytest.raises(DiagnosticError) as caught:
        run.go_on(executor, 1)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ222"
    assert diagnostic.message.startswith(
        "the domain `fleet.pump` cannot grow: Join `join` cannot continue: it has kept nothing"
    )
    with pytest.raises(DiagnosticError) as caught:
        run.executor()
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["RQ402"]
    run.yes = True
    executor = run.executor()
    run.go_on(executor, 1)  # what the batch brought then, once more
    run.write("places", [{"pump": 2, "place": "yard"}])
    run.go_on(executor, 2)
    found_rows = [i for i in run.output("join") if is_tuple(i)]
    assert sorted((i["ts"], i["place"]) for i in found_rows) == [(0, "hall"), (1, "yard")]


def test_a_table_without_a_value_or_with_a_bad_marker_ends_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Query(spark, tmp_path, QUERY)
    run.write("pumps", tuples_of_minute(0, p1=1.0))
    with pytest.raises(DiagnosticError) as caught:
        run.executor()
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["RQ416"]
    run.write("fleet", [pump_row(1)])
    executor = run.executor()
    run.go_on(executor, 0)
    bad = run.write("fleet", [{"$accent": "[[grow(pump)]]"}])
    run.write("pumps", tuples_of_minute(1, p1=2.0))
    with pytest.raises(DiagnosticError) as caught:
        run.go_on(executor, 1)
    assert f"{bad}: [[grow(pump)]]" in caught.value.diagnostics[0].notes[-1]
    bad.unlink()
    run.go_on(executor, 1)
    assert [i["litres"] for i in run.output("flow") if is_tuple(i)] == [1.0, 2.0]
