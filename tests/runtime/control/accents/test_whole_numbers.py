"""Whole numbers beyond 2^53 beside Alters: kept to the last digit, or refused with RQ310, and never changed."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.facts.marker_parser import read_accent
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.edits.source_changes import compare_source
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.tools.inspect import verify as verifying
from cedilla.runtime.tools.simulation.simulation import simulate
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.lines import as_lines, write_lines
from tests.kit.query import Query, save_parquet
from tests.kit.stream import Item, decode, read_output
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

ODD = 2**53 + 1
KEPT = 2**53 - 1
STREAM = "stream r(k: int, n: long) from json 'r' punctuated on k;"
ALTER: Item = {"$accent": "[[k = 1, alter(n, y -> y * 1000)]]"}
END: Item = {"$punctuation": "[]"}

MIXED: list[Item] = [
    {"k": 1, "n": ODD},  # before the Alter: as it is
    {"k": 2, "n": 2**63 - 1},
    ALTER,
    {"k": 2, "n": ODD},  # not described, and a double now
    {"k": 1, "n": ODD * 1000},
    {"k": 1, "n": ODD},  # altered, and as it is written beyond
    {"k": 2, "n": -(2**63)},
    {"k": 2, "n": KEPT},
    {"k": 2, "n": -KEPT},
    {"k": 1, "n": 5000},
    {"$punctuation": f"[n > {ODD}]"},
    {"k": 2, "n": 7},
    END,
]
REFUSED = [3, 4, 5, 6]
TAKEN = [(1, ODD), (2, 2**63 - 1), (2, KEPT), (2, -KEPT), (1, 5), (2, 7)]


def decoded(output: Sequence[Item]) -> list[tuple[int, Any]]:
    """The tuples of an output in canonical units, in order; none is written in new ones before the end."""
    switches = [i for i, item in enumerate(output) if "1000" in item.get("$accent", "")]
    tuples = [(i, item) for i, item in enumerate(output) if "k" in item]
    return [
        (item["k"], item["n"] / 1000 if item["k"] == 1 and switches and i > switches[0] else item["n"])
        for i, item in tuples
    ]


def stepped(query: str, steps: Sequence[Sequence[tuple[str, Item]]]) -> tuple[list[Item], list[str]]:
    reference = Reference(compile_query(query).plan)
    (emit,) = reference.plan.emits
    output = [
        item for step in steps for outputs in reference.step(step) for item in outputs[emit.name].items()
    ]
    assert {code for _, code, _ in reference.rejected} <= {"RQ310"}
    return output, [json.dumps(item) for _, _, item in reference.rejected]


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_whole_number_is_kept_or_refused_however_the_input_is_cut(size: int) -> None:
    stream = [("r", item) for item in MIXED]
    steps = [stream[i : i + size] for i in range(0, len(stream), size)]
    output, rejected = stepped(f"{STREAM} emit r to json 'out';", steps)
    assert decoded(output) == TAKEN
    assert rejected == [json.dumps(MIXED[i]) for i in REFUSED]


SPLIT: list[Item] = [
    {"k": 1, "n": 7},
    {"k": 1, "n": 2.5},  # no `int` yet
    {"k": 1, "n": 2**31},
    {"k": 2, "n": 2**31 - 1},
    {"$accent": "[[k = 1, alter(n, y -> y / 2)]]"},
    {"k": 1, "n": 2.5},
    {"k": 2, "n": 2**31},
    END,
]
WHOLE = [(1, 5), (1, 7), (2, 2**31 - 1), (2, 2**31)]
INT = "stream r(k: int, n: int) from json 'r' punctuated on k; emit r to json 'out';"


@pytest.mark.parametrize("size", [1, 4, 100])
def test_an_int_has_no_decimals_before_its_alter_however_the_input_is_cut(size: int) -> None:
    reference = Reference(compile_query(INT).plan)
    steps = [SPLIT[i : i + size] for i in range(0, len(SPLIT), size)]
    output = [
        o
        for step in steps
        for outputs in reference.step([("r", i) for i in step])
        for o in outputs["r"].items()
    ]
    assert sorted((row["k"], row["n"]) for row in decode(output)) == WHOLE
    assert [(code, item["n"]) for _, code, item in reference.rejected] == [("RQ301", 2.5), ("RQ301", 2**31)]
    diagnostics: list[Any] = []
    lines = as_lines(SPLIT)
    validate(lines, declared_schema("k: int, n: int"), diagnostics.append)
    assert [(diagnostic.code, diagnostic.notes[-1].split(": ")[0]) for diagnostic in diagnostics] == [
        ("RQ301", "s:2"),
        ("RQ301", "s:3"),
    ]


def test_a_whole_number_has_decimals_in_a_larger_unit() -> None:
    """A service counts whole milliseconds and then sends seconds. The printed N12 refuses a number that is not whole
    in milliseconds."""
    query = 'stream r(k: int, n: int unit ms) from json "r"; emit r to json "out" in original units;'
    items: list[Item] = [{"k": 1, "n": 233}, {"$accent": "[[unit(n, s)]]"}, {"k": 1, "n": 0.2335}]
    output, rejected = stepped(query, [[("r", item)] for item in items])
    assert [row["n"] for row in output if "n" in row] == [233, 233.5]
    assert not rejected


def test_without_an_alter_nothing_is_refused() -> None:
    items: list[Item] = [{"k": 1, "n": n} for n in (ODD, -ODD, 2**63 - 1, -(2**63))]
    output, rejected = stepped(f"{STREAM} emit r to json 'out';", [[("r", item)] for item in [*items, END]])
    assert [item for item in output if "k" in item] == items
    assert not rejected


def test_validate_and_canonize_say_the_same() -> None:
    lines = as_lines(MIXED)
    schema = declared_schema("k: int, n: long")
    diagnostics: list[Any] = []
    validate(lines, schema, diagnostics.append)
    assert [diagnostic.code for diagnostic in diagnostics] == ["RQ310"] * 4
    assert [diagnostic.notes[-1].split(": ")[0] for diagnostic in diagnostics] == [
        f"s:{i + 1}" for i in REFUSED
    ]
    with pytest.raises(DiagnosticError) as failure:
        canonize(lines, schema, io.StringIO())
    assert failure.value.diagnostics[0].code == "RQ310"
    kept = io.StringIO()
    canonize([line for i, line in enumerate(lines) if i not in REFUSED], schema, kept)
    tuples = [json.loads(line) for line in kept.getvalue().splitlines() if '"k": ' in line]
    assert [(t["k"], t["n"]) for t in tuples] == TAKEN


@pytest.mark.parametrize("type_", ["int", "long", "decimal(38, 0)"])
def test_every_type_of_whole_numbers_is_refused_beyond(type_: str) -> None:
    steps: list[list[tuple[str, Item]]] = [
        [("r", i)] for i in (ALTER, {"k": 2, "n": ODD}, {"k": 2, "n": KEPT})
    ]
    output, rejected = stepped(f"stream r(k: int, n: {type_}) from json 'r'; emit r to json 'out';", steps)
    assert decoded(output) == [(2, KEPT)]
    assert rejected == [json.dumps({"k": 2, "n": ODD})]


def test_a_double_is_taken_as_ever() -> None:
    steps: list[list[tuple[str, Item]]] = [[("r", i)] for i in (ALTER, {"k": 2, "n": ODD})]
    output, rejected = stepped("stream r(k: int, n: double) from json 'r'; emit r to json 'out';", steps)
    assert decoded(output) == [(2, float(ODD))]
    assert not rejected


KEEPING = {
    "join": "a := r join (project[k as j, n as m](r)) on k = j; emit a to json 'out';",
    "max": "a := aggregate[max(n) as m by k](r); emit a to json 'out';",
    "sum": "a := aggregate[sum(n) as m by k](r); emit a to json 'out';",
    "window": "a := aggregate[first(n) as m by w](window[10 on k as w](r)); emit a to json 'out';",
    "union": "a := r union s; emit a to json 'out';",
}
SECOND = "stream s(k: int, n: long) from json 's' punctuated on k;"


def kept_before(case: str) -> list[tuple[str, Item]]:
    """A value beyond 2^53 that waits in state, or comes from an input without an Alter, meets doubles."""
    if case == "union":
        return [
            *(("r", {"k": 2, "n": 7}), ("s", ALTER), ("s", {"k": 1, "n": 1})),
            *(("r", {"k": 2, "n": ODD}), ("r", END), ("s", END)),
        ]
    return [("r", i) for i in ({"k": 2, "n": ODD}, ALTER, {"k": 2, "n": 7}, END)]


@pytest.mark.parametrize("case", KEEPING)
def test_what_waits_in_state_ends_the_query_rather_than_change(case: str) -> None:
    query = f"{STREAM} {SECOND if case == 'union' else ''} {KEEPING[case]}"
    with pytest.raises(DiagnosticError) as failure:
        stepped(query, [[item] for item in kept_before(case)])
    (diagnostic,) = failure.value.diagnostics
    assert diagnostic.code == "RQ310"
    assert diagnostic.help


def test_what_waits_in_state_is_rounded_only_as_it_is_written() -> None:
    """A value that a double keeps may have more digits in the units in which it is written."""
    value = 2**50 + 1
    query = f"{STREAM} a := r join (project[k as j, n as m](r)) on k = j; emit a to json 'out';"
    items: list[Item] = [
        *({"k": 1, "n": value}, {"$accent": "[[alter(n, y -> y * 1001)]]"}),
        *({"k": 1, "n": 1001}, END),
    ]
    reference = Reference(compile_query(query).plan)
    outputs_of_steps = [
        output for item in items for outputs in reference.step([("r", item)]) for output in outputs.values()
    ]
    canonical = {(row["n"], row["m"]) for output in outputs_of_steps for row in output.canonical}
    assert canonical == {(a, b) for a in (1, value) for b in (1, value)}
    doubles = {row["n"] for output in outputs_of_steps for row in output.tuples if row["n"] > 2**53}
    assert doubles == {float(value * 1001)} != {value * 1001}


# --- Spark ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files", tiered([[MIXED[:5], MIXED[5:]], [MIXED], [[item] for item in MIXED]]), ids=len
)
def test_run_and_simulate_agree_on_whole_numbers(
    spark: SparkSession, tmp_path: Path, files: list[list[Item]]
) -> None:
    run = Query(spark, tmp_path, f"{STREAM} emit r to json 'out';")
    for items in files:
        run.write("r", items)
    run.process(1)
    assert sorted(decoded(run.output("r"))) == sorted(TAKEN)
    lines = [(line["code"], json.loads(line["raw"])) for line in run.quarantine("r")]
    assert lines == [("RQ310", MIXED[i]) for i in REFUSED]
    aside: list[Item] = []
    options = Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")})
    simulate(compile_query(run.query), options, lambda line, code: aside.append(dict(line.item)))
    assert sorted(decoded(read_output(tmp_path / "simulated"))) == sorted(TAKEN)
    assert aside == [MIXED[i] for i in REFUSED]


@pytest.mark.parametrize("files", tiered([[SPLIT], [SPLIT[:2], SPLIT[2:]]]), ids=len)
def test_an_int_has_no_decimals_before_its_alter_on_spark(
    spark: SparkSession, tmp_path: Path, files: list[list[Item]]
) -> None:
    run = Query(spark, tmp_path, INT)
    for items in files:
        run.write("r", items)
    run.process()
    assert sorted((row["k"], row["n"]) for row in decode(run.output("r"))) == WHOLE
    lines = [(line["code"], json.loads(line["raw"])["n"]) for line in run.quarantine("r")]
    assert lines == [("RQ301", 2.5), ("RQ301", 2**31)]


def test_verify_counts_no_refused_tuple(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r").mkdir()
    write_lines(tmp_path / "r" / "1.jsonl", MIXED)
    real = verifying.start
    monkeypatch.setattr(
        verifying, "start", lambda p, f, o, report, **options: real(p, f, o, report, spark, **options)
    )
    plan, flow = load(compile_query(f"{STREAM} emit r to json 'out';"))
    here = Options(sources={"r": str(tmp_path / "r")})
    assert [verdict.text() for verdict in verifying.verify(plan, flow, here)] == [
        f"r: {len(TAKEN)} tuples, decode(out) = query(decode(in))"
    ]


def test_files_in_parquet_do_not_vouch_for_what_is_beyond(spark: SparkSession, tmp_path: Path) -> None:
    """The statistics of a file of small values do, so its values are not checked."""
    run = Query(spark, tmp_path, f"{STREAM.replace('json', 'parquet')} emit r to json 'out';")
    folder = tmp_path / "in" / "r"
    schema = "`$accent` string, k int, n long"
    parts = [[(ALTER["$accent"], None, None)], [(None, 2, KEPT)], [(None, 2, ODD), (None, 1, 5000)]]
    for number, rows in enumerate(parts):
        save_parquet(spark.createDataFrame(rows, schema), folder / f"{number}.parquet")
    run.process(1)
    assert decoded(run.output("r")) == [(2, KEPT), (1, 5)]
    assert [line["code"] for line in run.quarantine("r")] == ["RQ310"]


@pytest.mark.parametrize("case", tiered(KEEPING))
def test_spark_ends_the_query_as_the_reference_does(spark: SparkSession, tmp_path: Path, case: str) -> None:
    query = f"{STREAM} {SECOND if case == 'union' else ''} {KEEPING[case]}"
    run = Query(spark, tmp_path, query)
    for source, item in kept_before(case):
        run.write(source, [item])
    with pytest.raises(DiagnosticError) as failure:
        run.process(1)
    assert failure.value.diagnostics[0].code == "RQ310"
    with pytest.raises(DiagnosticError):  # nothing of the epoch counted, so it is the same again
        run.process(1)


NOISY: list[Item] = [
    {"k": 57, "v": 1.0},
    {"$accent": "[[alter(k, y -> y / 100)]]"},
    {"k": 0.57, "v": 2.0},  # 0.57 * 100 is 56.99999999999999 in doubles
    {"k": 0.58, "v": 3.0},
    {"k": 0.575, "v": 4.0},  # finer than before: it keeps its digits
    {"$punctuation": "[k < 0.57]"},
    {"k": 0.57, "v": 5.0},  # not late
    END,
]


def query_of_keys(type_: str) -> str:
    """A selection, a set and a join of altered keys, each told by the numbers of its tuples."""
    return (
        f"stream r(k: {type_}, v: double) from json 'r' punctuated on k punctuated on v;"
        f"table names(k: {type_}, name: string) from json 'names';"
        "chosen := project[v](select[k = 57](r)); emit chosen to json 'chosen';"
        "named := project[v, name](r join names on k = k); emit named to json 'named';"
        "counts := aggregate[count() as n by k](r); sizes := project[n](counts); emit sizes to json 'sizes';"
    )


CHOSEN = [1.0, 2.0, 5.0]
SIZES = [1, 1, 3]


@pytest.mark.parametrize("type_", ["int", "long", "decimal(10, 2)"])
def test_an_altered_whole_number_is_equal_to_itself(type_: str) -> None:
    """D0: a value that was 57 is 57 in every unit, or a selection, a join and a punctuation would miss it."""
    reference = Reference(compile_query(query_of_keys(type_)).plan)
    outputs = reference.step([("names", {"k": 57, "name": "a"}), *(("r", item) for item in NOISY)])
    rows = {
        n: [row for output in outputs for row in output[n].canonical] for n in ("chosen", "named", "sizes")
    }
    assert sorted(row["v"] for row in rows["chosen"]) == CHOSEN
    assert sorted(row["v"] for row in rows["named"]) == CHOSEN
    assert sorted(row["n"] for row in rows["sizes"]) == SIZES
    assert reference.rejected == []
    diagnostics: list[Any] = []
    schema = declared_schema(f"k: {type_}, v: double")
    validate(as_lines(NOISY), schema, diagnostics.append)
    assert diagnostics == []


@pytest.mark.parametrize("type_", ["long", "decimal(10, 2)"])
def test_an_altered_whole_number_is_equal_to_itself_on_spark(
    spark: SparkSession, tmp_path: Path, type_: str
) -> None:
    run = Query(spark, tmp_path, query_of_keys(type_))
    run.write("names", [{"k": 57, "name": "a"}])
    run.write("r", NOISY)
    run.process()
    assert sorted(item["v"] for item in run.output("chosen") if "v" in item) == CHOSEN
    assert sorted(item["v"] for item in run.output("named") if "v" in item) == CHOSEN
    assert sorted(item["n"] for item in run.output("sizes") if "n" in item) == SIZES
    assert run.quarantine("r") == []


def test_an_edited_query_forgets_all_of_an_altered_attribute() -> None:
    """The next epoch would look for its column, and an attribute declared again as a double would have the old
    digits."""
    text = "stream r(k: int{}) from json 'r' punctuated on k; emit r to json 'out';"
    old, new = (compile_query(text.format(rest)).plan for rest in (", n: long", ""))
    state = SourceState.start(old.sources[0], old.droppable["r"])
    state = with_accent(state, read_accent("[[alter(n, y -> y * 1000)]]", state.types), 0).next_epoch()
    assert (state.numbers.doubled, dict(state.numbers.digits)) == ({"n"}, {"n": 0})
    left = compare_source(old.sources[0], new, "r", state, 1).state
    assert (left.numbers.doubled, dict(left.numbers.digits)) == (set(), {})


# --- what is computed from them ---

COMPUTED = """
stream r(k: int, n: long) from json 'r';
thirds := project[k, n / 3 as third](distinct(r));
emit thirds to json 'thirds';
emit sample[1 in 1 by third](thirds) to json 'chosen';
"""


def test_a_quotient_of_altered_whole_numbers_is_a_double(spark: SparkSession, tmp_path: Path) -> None:
    """The program was written for whole numbers and doubles, not for the decimals that altered ones are: quotients
    ended after eleven digits, and Sail failed where they were compared with an infinite double (RQ325)."""
    run = Query(spark, tmp_path, COMPUTED)
    run.write(
        "r", [{"$accent": "[[alter(n, y -> y * 1000000)]]"}, {"k": 1, "n": 1000000}, {"k": 2, "n": 7000000}]
    )
    run.process()
    expected = {1: repr(1 / 3), 2: repr(7 / 3)}
    for emit in ("thirds", "sample"):
        rows = read_output(tmp_path / "out" / emit, str)
        assert {row["k"]: row["third"] for row in rows if "third" in row} == expected
