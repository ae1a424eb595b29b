"""Markers about attributes that a query does not declare are passed over, by every command alike; results are those
without them. A marker that may be a mistake, or would change the tuples of the query, stays an error."""

from __future__ import annotations

import random
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit, load_commit
from cedilla.runtime.epochs.checkpoint.edits.plan_changes import changes_text
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.command import cedilla
from tests.kit.lines import as_lines, marker
from tests.kit.query import Query
from tests.kit.sensor_streams import random_stream
from tests.kit.stream import Item, decode, is_tuple
from tests.kit.tiers import rest, tiered
from tests.runtime.epochs.checkpoint.plan_edits import commit_of, edited

DECLARED = "ts: long, s: int in {1, 2, 3}, t: double, mode?: string"
QUERY = f"""
stream r({DECLARED}) from json "r" punctuated on ts;
emit aggregate[avg(t) as t, count() as n by s, w](window[10 on ts as w](r)) to json "out/a";
emit r to json "out/r";
"""
ACCENTS = [
    "[[-(signal)]]",
    "[[s = 1, alter(signal, y -> y * 2)]]",
    "[[fw = 2, unit(signal, mW)]]",
    "[[rename(rssi, signal)]]",
    '[[s = 2, recode(colour, {"a": "b"})]]',
    "[[grow(kind, {3})]]",
]
PUNCTUATIONS = ["[signal < 5]", "[ts < 90, kind = 3]"]


def outputs_and_warnings(
    items: list[Item], query: str = QUERY
) -> tuple[dict[str, list[Item]], list[Diagnostic]]:
    """Returns the outputs of the reference, item by item, and its warnings."""
    reference = Reference(compile_query(query).plan)
    items_by_name: dict[str, list[Item]] = {}
    for item in items:
        for step in reference.step([("r", item)]):
            for name, output in step.items():
                items_by_name.setdefault(name, []).extend(output.items())
    return items_by_name, [warning for warning, _ in reference.warnings]


@pytest.mark.parametrize("text", ACCENTS + PUNCTUATIONS)
def test_a_marker_about_what_is_not_declared_changes_nothing(text: str) -> None:
    row: Item = {"ts": 5, "s": 1, "t": 1.5, "signal": 7}
    before, after = (
        outputs_and_warnings([row, marker("[]")]),
        outputs_and_warnings([row, marker(text), row | {"ts": 6}, marker(text), marker("[]")]),
    )
    assert [d.code for d in after[1]] == ["RQ233"], "it is noted once for an attribute"
    assert [d.severity for d in after[1]] == ["note"]
    assert before[1] == []
    assert outputs_and_warnings([row, row | {"ts": 6}, marker("[]")])[0] == after[0]


def with_strangers(stream: list[Item], chance: random.Random) -> Iterator[Item]:
    """A stream with markers and values of undeclared attributes between its own."""
    for item in stream:
        if chance.random() < 0.3:
            yield marker(chance.choice(ACCENTS + PUNCTUATIONS))
        yield {**item, "signal": chance.random()} if is_tuple(item) and chance.random() < 0.5 else item


@pytest.mark.parametrize("seed", tiered(range(12), 3))
def test_a_query_sees_a_stream_without_what_it_does_not_declare(seed: int) -> None:
    stream = random_stream(random.Random(seed), 60)
    assert (
        outputs_and_warnings([*with_strangers(stream, random.Random(seed))])[0]
        == outputs_and_warnings(stream)[0]
    )


@pytest.mark.either_engine
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_an_engine_passes_them_over(spark: SparkSession, tmp_path: Path, files_per_epoch: int | None) -> None:
    """In one epoch, file by file, and after a restart, which notes nothing again."""
    run, other = (Query(spark, tmp_path / name, QUERY) for name in ("with", "without"))
    chance = random.Random(3)
    stream = random_stream(chance, 60)
    for part in (stream[:20], stream[20:40], stream[40:]):
        run.write("r", [marker(text) for text in ACCENTS] + [*with_strangers(part, chance)])
        other.write("r", part)
    executor = run.process(files_per_epoch)
    other.process(files_per_epoch)
    assert load_commit(dump_commit(executor.last)).sources == executor.last.sources
    codes = [warning.code for report in run.reports for warning in report.warnings]
    assert codes.count("RQ233") == 3, "signal, colour, kind"
    for name in ("aggregate", "r"):
        rows = [sorted(map(str, decode(one.output(name)))) for one in (run, other)]
        assert rows[0] == rows[1] != []
    run.write("r", [marker(ACCENTS[0])])
    run.go_on(run.executor(), 1)
    assert "RQ233" not in [warning.code for warning in run.reports[-1].warnings]


STAYS: dict[str, tuple[list[str], str, str]] = {
    "a slip": ([], "[[-(tt)]]", "RQ207"),
    "a longer name": ([], "[[alter(mode_of_operation, y -> y * 2)]]", "RQ207"),
    "a slip in a punctuation": ([], "[tss < 5]", "RQ207"),
    "a description of what is declared": ([], "[[fw = 2, alter(t, y -> y * 2)]]", "RQ207"),
    "an add for what cannot be told": ([], "[[fw = 2, +(p: double)]]", "RQ207"),
    "turned round": ([], "[[unit(degC, t)]]", "RQ207"),
    "renamed to what is declared": ([], "[[rename(t, signal)]]", "RQ207"),
    "renamed to a name in use": (["[[rename(temp, t)]]"], "[[rename(temp, signal)]]", "RQ207"),
    "what was added": (["[[+(signal: double)]]", "[[-(signal)]]"], "[[-(signal)]]", "RQ206"),
    "no accent": ([], "[[-(signal]]", "RQ001"),
}


@pytest.mark.parametrize("case", STAYS)
def test_what_may_concern_the_query_stays_an_error(case: str) -> None:
    before, text, code = STAYS[case]
    with pytest.raises(DiagnosticError) as caught:
        outputs_and_warnings([*map(marker, before), marker(text)])
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_fields_that_the_query_reads_under_other_names_are_declared() -> None:
    query = """stream r(ts: long, t: double from "state.reading", h: double from "humidity") from json "r";
    emit r to json "o";"""
    for text in ("[[-(state)]]", "[[rename(status, state)]]", "[[alter(humidity, y -> y * 2)]]"):
        with pytest.raises(DiagnosticError, match="RQ207"):
            outputs_and_warnings([marker(text)], query)
    assert [d.code for d in outputs_and_warnings([marker("[[-(signal)]]")], query)[1]] == ["RQ233"]


def test_where_attributes_come_as_they_are_met_an_accent_before_them_is_an_error() -> None:
    """Else the values of some tuples would be taken in the units of others."""
    query = f"set drift = infer; {QUERY}"
    with pytest.raises(DiagnosticError, match="RQ207"):
        outputs_and_warnings([marker("[[s = 1, alter(signal, y -> y * 2)]]")], query)
    assert [d.code for d in outputs_and_warnings([marker("[signal < 5]")], query)[1]] == ["RQ233"]


def test_a_wildcard_says_nothing_of_an_attribute() -> None:
    row: Item = {"ts": 5, "s": 1, "t": 1.5}
    plain = [row, marker("[[alter(t, y -> y * 2)]]"), row, marker("[ts < 10]")]
    wild = [row, marker("[[signal = *, alter(t, y -> y * 2)]]"), row, marker("[ts < 10, signal = *]")]
    assert outputs_and_warnings(plain) == outputs_and_warnings(wild)


def test_an_add_afterwards_brings_the_attribute() -> None:
    items = [
        marker("[[-(signal)]]"),
        marker("[[+(signal: double)]]"),
        {"ts": 1, "s": 1, "t": 1.0, "signal": 2.5},
    ]
    assert [row.get("signal") for row in decode(outputs_and_warnings(items)[0]["r"])] == [2.5]


# --- other commands ---


def test_validate_and_canonize_pass_them_over_too() -> None:
    row: Item = {"ts": 5, "s": 1, "t": 1.5}
    items = [row, *map(marker, ACCENTS + PUNCTUATIONS), marker("[ts < 10]")]
    diagnostics: list[Diagnostic] = []
    verdict = validate(as_lines(items), declared_schema(DECLARED), diagnostics.append)
    assert verdict.valid
    assert [d.code for d in diagnostics] == ["RQ233"] * 3
    assert (verdict.accents, verdict.punctuations) == (len(ACCENTS), len(PUNCTUATIONS) + 1)
    canonical, plain = StringIO(), StringIO()
    canonize(as_lines(items), declared_schema(DECLARED), canonical)
    canonize(as_lines([row, marker("[ts < 10]")]), declared_schema(DECLARED), plain)
    assert canonical.getvalue() == plain.getvalue()


def test_trace_says_that_a_marker_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(QUERY)
    for text in ("[[-(signal)]]", "[signal < 5]"):
        done = cedilla("trace", str(tmp_path / "q.rq"), "--on", "r", text)
        assert done.exit_code == 0, done.output
        assert "note[RQ233]" in done.output
        assert "has no effect" in done.output or "closes nothing" in done.output


# --- edits of the query ---


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("[[-(signal)]]", False),
        ("[signal < 5]", False),
        ("[[s = 1, alter(signal, y -> y * 2)]]", True),
        ("[[rename(rssi, signal)]]", True),
    ],
)
def test_an_attribute_whose_accents_were_passed_over_cannot_be_declared_later(
    text: str, is_refused: bool
) -> None:
    """Its values come in other units, or by another name, than they did at first."""
    reference = Reference(compile_query(QUERY).plan)
    reference.step([("r", marker(text))])
    assert load_commit(dump_commit(commit_of(reference, 7))).sources["r"].notes.undeclared
    changes, _ = edited(reference, QUERY.replace("mode?: string", "mode?: string, signal?: double"))
    assert ("new checkpoint" in changes_text(changes)) == is_refused


def test_an_altered_attribute_that_was_removed_cannot_be_declared_again() -> None:
    reference = Reference(compile_query(QUERY.replace("mode?", "extra?: double, mode?")).plan)
    reference.step([("r", marker("[[alter(extra, y -> y * 2)]]"))])
    changes, later = edited(reference, QUERY)
    assert "new checkpoint" not in changes_text(changes)
    again, _ = edited(later, QUERY.replace("mode?", "extra?: double, mode?"))
    assert "new checkpoint" in changes_text(again)
