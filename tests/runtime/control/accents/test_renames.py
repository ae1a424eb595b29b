"""Attributes that tuples bring by other names (theory N2): by every format and engine, the oracle is the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession

from cedilla import read
from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.ingest.file_statistics import proven_valid
from tests.kit.command import cedilla
from tests.kit.compare import values_of
from tests.kit.lines import write_lines
from tests.kit.query import Query, canonical_rows
from tests.kit.reference import stepped
from tests.kit.stream import Item, decode
from tests.kit.tiers import rest, tiered
from tests.runtime.control.accents.streams_in_formats import MARKERS, TUPLES, quarantine, stream

DECLARED = "n: long, s: int in {1, 2, 3}, t: double, city?: string"
QUERY = f"""
stream r({DECLARED}) from json "r" markers "ops";
emit r to json "out/r";
emit aggregate[avg(t) as t, count(city) as n by s](r) to json "out/groups";
"""
CODES = {5: "RQ313", 6: "RQ313", 7: "RQ312", 8: "RQ302", 11: "RQ313"}
NAMES = ("n", "s", "t", "city")
ITEMS = [item for markers, rows in zip(MARKERS, TUPLES, strict=True) for item in (*markers, *rows)]


def test_the_reference_undoes_renames() -> None:
    expected = stepped(QUERY, ITEMS)
    assert expected.codes("n") == CODES
    assert {row["n"]: float(row["t"]) for row in expected.canonical("r")} == {
        1: 10,
        2: 20,
        3: 30,
        4: 40,
        9: 45,
        10: 10,
        12: 6,
    }
    assert [row.get("city") for row in expected.canonical("r")] == ["A", "B", "C", None, "D", "E", "F"]


@pytest.mark.parametrize("format_", ["json", "csv", "parquet", "xml"])
@pytest.mark.parametrize("files_per_epoch", tiered([None, 1]))
@pytest.mark.either_engine
def test_every_format_brings_names(
    spark: SparkSession, tmp_path: Path, format_: str, files_per_epoch: int | None
) -> None:
    options = evolve(stream(tmp_path, format_), files_per_epoch=files_per_epoch)
    run(QUERY.replace('from json "r"', f'from {format_} "r"'), options, spark=spark)
    expected = stepped(QUERY, ITEMS)
    assert values_of(read(str(tmp_path / "out/r")).rows(), *NAMES) == values_of(
        expected.canonical("r"), *NAMES
    )
    assert quarantine(tmp_path) == expected.codes("n")


@pytest.mark.parametrize("per_file", [len(ITEMS), rest(1)])
@pytest.mark.either_engine
def test_names_change_at_their_lines(spark: SparkSession, tmp_path: Path, per_file: int) -> None:
    """In the middle of files; an epoch of one line each is a recovery in the middle of everything, too."""
    query = QUERY.replace(' markers "ops"', "")
    run_ = Query(spark, tmp_path, query)
    for start in range(0, len(ITEMS), per_file):
        run_.write("r", ITEMS[start : start + per_file])
        if start % 3 == 0:
            run_.go_on(run_.executor(), start)  # a fresh one: what it knows is in the checkpoint
    run_.go_on(run_.executor(), len(ITEMS))
    expected = stepped(QUERY, ITEMS)
    assert values_of(run_.canonical("r"), *NAMES) == values_of(expected.canonical("r"), *NAMES)
    actual = {json.loads(line["raw"])["n"]: line["code"] for line in run_.quarantine("r")}
    # A rename also decides about earlier tuples of its epoch (limits); there are none here.
    assert actual == expected.codes("n")


def test_files_vouch_for_their_names(
    sail: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose tuples all have right names is read once; a tuple with a wrong name is found."""
    vouched: list[bool] = []

    def noted(*args: Any) -> Any:
        result = proven_valid(*args)
        vouched.append(result is not None)
        return result

    monkeypatch.setattr(intake, "proven_valid", noted)
    run_ = Query(sail, tmp_path, 'stream r(n: long, s: int, t: double) from json "r"; emit r to json "out";')
    run_.write("r", [{"$accent": "[[rename(temp, t)]]"}, {"n": 1, "s": 1, "temp": 1.0}])
    run_.go_on(run_.executor(), 0)
    run_.write("r", [{"n": 2, "s": 1, "temp": 2.0}, {"n": 3, "s": 2, "temp": 2.0}])
    run_.go_on(run_.executor(), 1)
    run_.write("r", [{"n": 4, "s": 1, "t": 2.0}])
    run_.go_on(run_.executor(), 2)
    assert vouched == [True, True, False]
    assert [row["t"] for row in run_.output("r")] == [1.0, 2.0, 2.0]
    assert [line["code"] for line in run_.quarantine("r")] == ["RQ313"]


@pytest.mark.parametrize(
    ("before", "accent", "code"),
    [
        ([], "[[rename(city, t)]]", "RQ460"),  # taken by another attribute
        (["[[s = 1, rename(temp, t)]]"], "[[s = 2, rename(temp, city)]]", "RQ460"),
        (["[[rename(temp, t)]]"], "[[+(temp: double)]]", "RQ460"),
        (["[[rename(temp, t)]]", "[[rename(t, t)]]"], "[[+(temp: double)]]", "RQ460"),
        (["[[s = 1, rename(temp, t)]]"], "[[rename(temp, t)]]", "RQ461"),  # renamed already
        ([], "[[rename(t, t)]]", "RQ461"),  # it comes by its own name
        (["[[rename(temp, t)]]"], "[[rename(temp, temp)]]", "RQ461"),
        ([], "[[rename(temp, cities)]]", "RQ207"),
        (["[[-(city)]]"], "[[rename(town, city)]]", "RQ206"),
        ([], "[[t > 5, rename(temp, t)]]", "RQ201"),
        (["[[rename(temp, t)]]"], "[[temp > 5, alter(t, y -> y * 2)]]", "RQ201"),
        (["[[t > 5, rename(town, city)]]"], '[[town = "X", alter(t, y -> y * 2)]]', "RQ201"),
        ([], "[[s = 9, rename(temp, t)]]", "RQ216"),
    ],
)
def test_wrong_renames_end_the_query(before: list[str], accent: str, code: str) -> None:
    reference = Reference(compile_query(QUERY).plan)
    for text in before:
        reference.step([("r", {"$accent": text})])
    with pytest.raises(DiagnosticError, match=code):
        reference.step([("r", {"$accent": accent})])


def test_a_rename_of_closed_tuples_to_their_only_name_is_nothing(sail: SparkSession, tmp_path: Path) -> None:
    run_ = Query(
        sail, tmp_path, 'stream r(n: long, s: int in {1, 2}, t: double) from json "r"; emit r to json "out";'
    )
    run_.write("r", [{"$punctuation": "[s = 1]"}, {"$accent": "[[s = 1, rename(t, t)]]"}])
    run_.write("r", [{"n": 1, "s": 2, "t": 1.0}, {"n": 2, "s": 1, "t": 1.0}, {"n": 3, "s": 3, "t": 1.0}])
    run_.process()
    assert [row["n"] for row in decode(run_.output("r"))] == [1]
    assert [line["code"] for line in run_.quarantine("r")] == ["RQ305", "RQ303"]


@pytest.mark.parametrize("accent", ["[[rename(address, p)]]", "[[+(address: string)]]"])
def test_a_field_is_a_value_or_an_object_that_is_read(accent: str) -> None:
    """Here no tuple could ever bring it."""
    declared = 'n: long, city: string from "address.city", p?: double'
    reference = Reference(compile_query(f'stream r({declared}) from json "r"; emit r to json "out";').plan)
    with pytest.raises(DiagnosticError, match=r"RQ460.*inside of it, address\.city"):
        reference.step([("r", {"$accent": accent})])


def test_what_is_read_from_inside_comes_by_a_name_outside(sail: SparkSession, tmp_path: Path) -> None:
    """A rename brings a field of the tuple, and back what the path leads to."""
    declared = 'n: long, city: string from "address.city", p?: double'
    query = f'stream r({declared}) from json "r"; emit r to json "out";'
    items: list[Item] = [
        {"n": 1, "address": {"city": "A"}},
        {"$accent": "[[rename(town, city)]]"},
        {"n": 2, "town": "B"},
        {"n": 3, "address": {"city": "C"}},  # by the old name
        {"n": 4, "town": "D", "address": {"city": "other"}},
        {"n": 8, "town": "D", "address": {"city": "D"}},  # one value under both names
        {"n": 5, "town": "E", "address": {"zip": "1"}, "city": "no field of this stream"},
        {"$accent": '[[town = "E", alter(p, y -> y * 2)]]'},
        {"n": 6, "town": "E", "p": 4.0},
        {"$accent": "[[rename(city, city)]]"},
        {"n": 7, "address": {"city": "E"}, "p": 4.0},
    ]
    run_ = Query(sail, tmp_path, query)
    run_.write("r", items)
    run_.process()
    actual = [(row["n"], row["city"], row.get("p")) for row in decode(run_.output("r"))]
    assert sorted(actual) == [
        (1, "A", None),
        (2, "B", None),
        (5, "E", None),
        (6, "E", 2.0),
        (7, "E", 2.0),
        (8, "D", None),
    ]
    codes = {json.loads(line["raw"])["n"]: line["code"] for line in run_.quarantine("r")}
    assert codes == {3: "RQ313", 4: "RQ312"}
    write_lines(tmp_path / "r.jsonl", items)
    of = ["validate", str(tmp_path / "r.jsonl"), "--schema", declared, "--format", "json"]
    findings = json.loads(cedilla(*of).output)["findings"]
    assert [finding["code"] for finding in findings] == ["RQ313", "RQ312", "RQ306"]  # `address.zip`


def test_a_rename_of_a_rename_and_back() -> None:
    """The attribute is said by the name of the query, or by the one that tuples have."""
    reference = Reference(compile_query(QUERY).plan)
    items: list[Item] = [
        {"$accent": "[[s = 1, rename(temp, t)]]"},
        {"$accent": "[[rename(temperature, temp)]]"},  # of s = 1 alone
        {"n": 1, "s": 1, "temperature": 1.0},
        {"n": 2, "s": 2, "t": 2.0},
        {"$accent": "[[temperature < 9, rename(town, city)]]"},
        {"n": 3, "s": 1, "temperature": 3.0, "town": "A"},
        {"n": 4, "s": 2, "t": 4.0, "city": "B"},
        {"$accent": "[[s = 1, rename(t, t)]]"},
        {"n": 5, "s": 1, "t": 5.0, "town": "C"},  # which town is in force depends on values
    ]
    rows = [row for item in items for out in reference.step([("r", item)]) for row in out["r"].canonical]
    assert not reference.rejected
    assert [(row["n"], row["t"], row.get("city")) for row in rows] == [
        (1, 1, None),
        (2, 2, None),
        (3, 3, "A"),
        (4, 4, "B"),
        (5, 5, "C"),
    ]


def test_one_stream_tools_know_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.rq").write_text(QUERY.replace(' markers "ops"', ""))
    write_lines(tmp_path / "r.jsonl", ITEMS)
    result = cedilla("validate", "r.jsonl", "--schema", DECLARED, "--format", "json")
    codes = [finding["code"] for finding in json.loads(result.output)["findings"]]
    assert codes == list(CODES.values())
    traced = cedilla("trace", "q.rq", "--on", "r", "[[s = 2, rename(temp, t)]]")
    assert traced.exit_code == 0, traced.output
    assert "undone at the source (N2, N3, N11)" in traced.output
    simulated = cedilla("simulate", "q.rq", "--source", "r=r.jsonl", "--sink", "r=sim")
    assert simulated.exit_code == 0, simulated.output
    assert values_of(canonical_rows(tmp_path / "sim"), *NAMES) == values_of(
        stepped(QUERY, ITEMS).canonical("r"), *NAMES
    )


def test_status_plan_and_verify_know_renames(sail: SparkSession, tmp_path: Path) -> None:
    run_ = Query(sail, tmp_path, QUERY.replace(' markers "ops"', ""))
    run_.write("r", ITEMS[:9])
    run_.go_on(run_.executor(), 0)
    result = cedilla("status", str(tmp_path / "checkpoint"))
    assert "rename(temp, t) where s = 2" in result.output
    # A name that renames have brought is no name of a new attribute.
    run_.query = run_.query.replace("city?: string", "city?: string, temp?: double")
    with pytest.raises(DiagnosticError, match="an accent has renamed `t` to `temp`"):
        run_.executor()
    # An edit that leaves the names alone goes on.
    run_.query = run_.query.replace(", temp?: double", ", rain?: double")
    run_.yes = True
    run_.write("r", ITEMS[9:])
    run_.go_on(run_.executor(), 1)
    assert values_of(run_.canonical("r"), *NAMES) == values_of(stepped(QUERY, ITEMS).canonical("r"), *NAMES)


def test_an_inferred_attribute_keeps_its_name() -> None:
    """An attribute that `drift = infer` has added stays one: the rename came too late."""
    reference = Reference(compile_query(f"set drift = infer; {QUERY}").plan)
    reference.step([("r", {"n": 1, "s": 1, "t": 1.0, "temp": 2.0})])
    with pytest.raises(DiagnosticError, match="RQ460"):
        reference.step([("r", {"$accent": "[[rename(temp, t)]]"})])


def test_a_rename_in_a_cycle_is_told_of_the_swap() -> None:
    """A log of DDL has x to tmp, y to x, tmp to y; what the hint says reads the tuples."""
    plan = compile_query('stream r(id: int, x: string, y: string) from json "r"; emit r to json "out";').plan
    reference = Reference(plan)
    reference.step([("r", {"$accent": "[[rename(tmp, x)]]"})])
    with pytest.raises(DiagnosticError) as caught:
        reference.step([("r", {"$accent": "[[rename(x, y)]]"})])
    assert "`swap(y, x)`" in (caught.value.diagnostics[0].help or "")
    reference = Reference(plan)
    reference.step([("r", {"$accent": "[[swap(y, x)]]"})])
    (output,) = reference.step([("r", {"id": 2, "y": "in-x", "x": "in-y"})])
    assert output["r"].tuples == ({"id": 2, "x": "in-x", "y": "in-y"},)
