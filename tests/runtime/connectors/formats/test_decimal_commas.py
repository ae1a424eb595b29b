"""Numbers with a decimal comma, `x: double decimal ","`: at once and line by line, on engines and without one."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan.field_paths import CommaPath
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.pipeline.load import load
from tests.kit.command import cedilla
from tests.kit.query import Query
from tests.kit.stream import Item, decode, is_tuple
from tests.runtime.connectors.formats.decimal_commas import MADE, PATHS, TYPES, file_rows, write_formats
from tests.runtime.epochs.checkpoint.plan_edits import edited, ran

TYPES |= {"e": Type("double"), "f": Type("decimal", (6, 3))}
READ = [
    *(("3,5", 3.5), ("-0,25", -0.25), ("+1,5", 1.5), (",5", 0.5), ("5,", 5.0), ("17", 17.0), ("007,10", 7.1)),
    *((" 2,5 ", 2.5), ("1,5e1", 15.0), ("1234,56", 1234.56)),
]
REFUSED = [
    "3.5",
    "1.234,5",
    "1,234,5",
    "1.000",
    "3,5 kg",
    "1 234,5",
    ",",
    "-",
    "0x1,5",
    "1,5e",
    "3;5",
    "true",
    "٣,5",
]
WITH_EITHER = [
    *(("3,5", 3.5), ("3.5", 3.5), ("-0,125", -0.125), ("0.125", 0.125), ("17", 17.0), ("1234,567", 1234.567)),
    *(("1,25", 1.25), ("1.2345", 1.2345), (" +,5", 0.5), ("1,234e0", 1.234), ("1000", 1000.0)),
]
UNCLEAR = [
    "1,234",
    "1.234",
    "-12.345",
    "+999,000",
    " 1,234 ",
    "1.234,5",
    "1,234.5",
    "1,234,567",
    "1.234.567",
    "1 234",
]


@pytest.mark.parametrize("format_", MADE)
def test_all_at_once_is_the_same_as_line_by_line(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, bad = Random(format_), 0
    odd = [text for text, _ in READ + WITH_EITHER] + REFUSED + UNCLEAR
    for _ in range(20):
        share = chance.choice([0, 0.05, 0.5])
        items = [
            {
                "ts": str(n),
                **{
                    x: chance.choice(odd if chance.random() < share else ["3,5", "-1,25", "4"])
                    for x in sorted(PATHS)
                },
                "s": "1,5",
            }
            for n in range(chance.choice([1, 40]))
        ]
        if format_ == "json":
            items = [{**item, "ts": int(item["ts"])} for item in items]  # type: ignore[dict-item]
        actual = file_rows(tmp_path, format_, items)
        with monkeypatch.context() as patch:
            patch.setattr(MADE[format_][2], "parsed", lambda *_: None)
            patch.setattr(XmlBatches, "_columns", lambda *_: None)
            expected = file_rows(tmp_path, format_, items)
        assert repr(actual) == repr(expected)
        assert len(actual) == len(items)
        bad += sum(row["$corrupt"] is not None for row in actual)
    assert bad > 20


@pytest.mark.parametrize("format_", MADE)
def test_texts_with_a_comma_are_numbers_and_others_are_refused(format_: str, tmp_path: Path) -> None:
    ts: Any = 1 if format_ == "json" else "1"
    items = [
        {"ts": ts, "t": text, "d": "-1,25", "s": "1,5"} for text in [*(text for text, _ in READ), *REFUSED]
    ]
    rows = file_rows(tmp_path, format_, items)
    read, refused = rows[: len(READ)], rows[len(READ) :]
    assert [(row["t"], row["$corrupt"]) for row in read] == [(value, None) for _, value in READ]
    assert {(row["d"], row["s"]) for row in read} == {(Decimal("-1.25"), "1,5")}
    assert [row["$corrupt"] for row in refused] == [
        f"`t` must be a double, found {json.dumps(text, ensure_ascii=False)}, without a decimal comma"
        for text in REFUSED
    ]


@pytest.mark.parametrize("format_", MADE)
def test_texts_with_either_sign_are_numbers_where_they_are_no_thousands(format_: str, tmp_path: Path) -> None:
    ts: Any = 1 if format_ == "json" else "1"
    items = [
        {"ts": ts, "e": text, "f": "-1,25", "s": "1,5"}
        for text in [*(text for text, _ in WITH_EITHER), *UNCLEAR]
    ]
    rows = file_rows(tmp_path, format_, items)
    read, refused = rows[: len(WITH_EITHER)], rows[len(WITH_EITHER) :]
    assert [(row["e"], row["$corrupt"]) for row in read] == [(value, None) for _, value in WITH_EITHER]
    assert {row["f"] for row in read} == {Decimal("-1.25")}
    reasons = [str(row["$corrupt"]) for row in refused]
    assert all(
        reason.endswith(", which has no decimal comma or point, or may be thousands") for reason in reasons
    )


def test_numbers_of_json_stay_numbers_beside_texts(tmp_path: Path) -> None:
    values: list[Any] = [3.5, "3,5", 4, None, True]
    items: list[Any] = [{"ts": 1, "t": value, "d": value} for value in values]
    rows = file_rows(tmp_path, "json", items)
    assert [row["t"] for row in rows] == [3.5, 3.5, 4.0, None, None]
    assert [row["d"] for row in rows] == [Decimal("3.5"), Decimal("3.5"), Decimal(4), None, None]
    exact = file_rows(
        tmp_path, "json", [{"ts": 1, "e": 1.234}, {"ts": 1, "e": "1,5"}, {"ts": 1, "e": "1,234"}]
    )
    assert [row["e"] for row in exact] == [1.234, 1.5, None]
    assert [row["$corrupt"] is None for row in rows] == [True, True, True, True, False]
    plain: list[Any] = [{"ts": 1, "t": value, "d": value} for value in (3.5, 4, 1.25)]
    assert [row["d"] for row in file_rows(tmp_path, "json", plain)] == [
        Decimal("3.5"),
        Decimal(4),
        Decimal("1.25"),
    ]


QUERY = """
stream r(ts: long, t?: double decimal "," unit degC, d?: decimal(6, 2) decimal "," from "Preis/EUR")
  from csv "in/r" none {"-"};
stream x(ts: long, t: double decimal ",") from xml "in/x";
stream j(ts: long, t: double decimal "," from "o.t" in [0, 50), w?: double decimal "." or "," from "o.w")
  from json "in/j" punctuated on ts;
emit r to json "out/r";
emit x to json "out/x";
emit j to json "out/j";
"""
REASONS = {
    "r": [
        '`t` must be a double, found "3.5", without a decimal comma',
        '`d` must be a decimal(6,2), found "1.234,56", without a decimal comma (read from Preis/EUR)',
    ],
    "x": ['`t` must be a double, found "3.5", without a decimal comma'],
    "j": [
        '`t` must be a double, found "3.5", without a decimal comma (read from o.t)',
        '`w` must be a double, found "1,234", which has no decimal comma or point, or may be thousands (read from o.w)',
    ],
}


def tuples(items: list[Item]) -> list[Item]:
    return [item for item in items if is_tuple(item)]


def check_lines(records: list[Item], lines: list[Item]) -> None:
    first, second = tuples(records)
    assert (first["t"], first["d"], second["t"], second.get("d")) == (3.5, 1.25, 4.5, None)
    actual = [(item["ts"], float(item["t"]), item.get("w")) for item in decode(lines)]
    assert actual == [(1, 3.5, 1.5), (2, 3.5, None), (4, 3.75, 2.25)]


@pytest.mark.either_engine
def test_decimal_commas_on_an_engine(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, QUERY)
    write_formats(run)
    run.process()
    check_lines(run.output("r"), run.output("j"))
    assert [item["t"] for item in tuples(run.output("x"))] == [3.5]
    assert {name: [rejected["reason"] for rejected in run.quarantine(name)] for name in REASONS} == REASONS


def test_decimal_commas_without_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "\n".join(line for line in QUERY.splitlines() if " x" not in line)
    run = Query.without_engine(tmp_path, query)
    write_formats(run)
    actual = run.simulate()
    check_lines(actual.output("r"), actual.output("j"))
    assert actual.codes == ["RQ301"] * 4
    monkeypatch.chdir(tmp_path)
    checked = cedilla("validate", "in/j", "--schema", 'ts: long, t: double decimal "," from "o.t"')
    assert REASONS["j"][0] in checked.output


def test_a_program_keeps_the_clause() -> None:
    plan, _ = load(compile_query(QUERY))
    assert [str(attribute) for attribute in plan.sources[2].attributes] == [
        "ts: long",
        't: double decimal "," from "o.t" in [0, 50)',
        'w?: double decimal "," or "." from "o.w"',
    ]
    assert plan.sources[0].paths["t"] == CommaPath(("t",))


@pytest.mark.parametrize(
    ("declared", "format_"),
    [
        ('x: long decimal ","', "csv"),
        ('x: string decimal ","', "json"),
        ('x: double decimal "."', "csv"),
        ('x: double decimal "," or ","', "csv"),
        ('x: double decimal "," or ";"', "csv"),
        ('x: double decimal ","', "parquet"),
        ('x: double decimal "," from "value"', "otlp"),
    ],
)
def test_a_decimal_comma_is_for_numbers_in_texts(declared: str, format_: str) -> None:
    with pytest.raises(DiagnosticError, match="RQ164"):
        compile_query(f'stream r({declared}) from {format_} "r"; emit r to json "o";')


@pytest.mark.parametrize("accent", ["swap(t, u)", "swap(u, t)", "swap(t, e)"])
def test_no_accent_brings_it_by_a_field_that_is_read_otherwise(accent: str) -> None:
    declared = (
        'n: long, t?: double decimal ",", u?: double, w?: double decimal ",", e?: double decimal "," or "."'
    )
    plan = compile_query(f'stream r({declared}) from csv "r"; emit r to json "o";').plan
    with pytest.raises(DiagnosticError, match=r"RQ318.*`t`"):
        Reference(plan).step([("r", {"$accent": f"[[{accent}]]"})])
    Reference(plan).step([("r", {"$accent": "[[swap(t, w)]]"})])


def test_an_edit_may_say_how_texts_are_written_from_now_on() -> None:
    text = 'stream r(n: long, t?: double%s) from json "r"; emit r to json "o";'
    comma = ' decimal ","'
    for old, new in (("", comma), (comma, ""), (comma, f'{comma} or "."')):
        changes, _ = edited(ran(compile_query(text % old).plan, []), text % new)
        assert changes.effect == "at once"
        assert f"t?: double{old} → t?: double{new}" in [change.what for change in changes.items]
    renamed = ran(compile_query(text % "").plan, [("r", {"$accent": "[[rename(v, t)]]"})])
    changes, after = edited(renamed, text % comma)
    assert changes.effect == "at once"
    after.step([("r", {"n": 1, "v": "3,5"})])
    assert after.rejected == []
    two = 'stream r(n: long, t?: double%s, u?: double) from json "r"; emit r to json "o";'
    swapped = ran(compile_query(two % "").plan, [("r", {"$accent": "[[swap(t, u)]]"})])
    changes, _ = edited(swapped, two % comma)
    assert changes.effect == "new checkpoint"
    assert "RQ318" in str([change.why for change in changes.items])
