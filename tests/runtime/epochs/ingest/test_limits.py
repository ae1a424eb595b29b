"""Lines that are not written by hand: numbers beyond all bounds, nesting without end, lines that fill the memory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.csv.batches import RecordBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvPart
from cedilla.runtime.connectors.formats.lines.blocks import Block, Part, lines_at
from cedilla.runtime.connectors.records.csv_records import Header
from cedilla.runtime.connectors.records.file_lines import lines_in
from cedilla.runtime.connectors.records.lines import LONGEST_LINE
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers import unannounced
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.failures import failures_told
from tests.kit.errors import code_of, error_text
from tests.kit.processes import java_below
from tests.kit.query import Query
from tests.kit.stream import is_tuple, read_output
from tests.kit.work import calls

QUERY = """
stream r(k: long, x?: double, n?: long, m?: decimal(9, 2), s?: string) from json "r";
emit r to json "o";
"""
HUGE = ["1e99999999999999999999", "-1e99999999999999999999", "1e999999999", "9" * 5000, "1" + "0" * 320]
SMALL = ["1e-99999999999999999999", "1e-999999999", "0e99999999999999999999", "0." + "0" * 5000 + "1"]
DEEP = [depth * opening for depth in (300, 100_000) for opening in ("[", '{"a":')]
NESTED = ["[" * 300 + "]" * 300, '{"a":' * 5000 + "1" + "}" * 5000]


@pytest.mark.either_engine
def test_numbers_beyond_all_bounds_are_told_from_tuples(spark: SparkSession, tmp_path: Path) -> None:
    """Beside a bad line, so that lines are read one by one, too."""
    lines = ["no json"]
    lines += [f'{{"k": {n}, "x": {number}}}' for n, number in enumerate([*HUGE[:3], *SMALL[:3]])]
    lines += [
        f'{{"k": 1, "{name}": {number}}}' for number in [*HUGE[:3], SMALL[1]] for name in ("n", "m", "k")
    ]
    run = Query(spark, tmp_path, QUERY)
    run.write("r", lines)
    kept, aside = run.agreed()
    assert [row["x"] for row in kept] == [0, 0, 0]
    assert [row.code for row in aside] == ["RQ301"] * 16


@pytest.mark.rest
@pytest.mark.either_engine
def test_lines_without_end_leave_the_others_alone(spark: SparkSession, tmp_path: Path) -> None:
    good = ['{"k": 1, "s": "a"}', '{"k": 2, "s": "b"}']
    long = ['{"k": 3, "s": "' + "x" * LONGEST_LINE + '"}', '{"k": 4, "s": "c"}' + " " * LONGEST_LINE]
    deep = [f'{{"k": 5, "y": {opening}' for opening in DEEP]
    deep += [f'{{"k": 5, "{name}": {value}}}' for value in NESTED for name in ("y", "s")]
    good += [
        f'{{"k": 6, "y": {"[" * 190 + "]" * 190}, "s": "{"[" * 999}"}}',
        f'{{"k": 7, "y": [{"[{}]," * 999} 1]}}',
    ]
    run = Query(spark, tmp_path, QUERY)
    run.write("r", [good[0], *long, *deep, *good[1:]])
    kept, aside = run.agreed()
    assert sorted(row["k"] for row in kept) == [1, 2, 6, 7]
    reasons = {row.line: row.reason for row in aside}
    assert {row.code for row in aside} == {"RQ301"}
    assert reasons[2] == reasons[3] == "the line is longer than 16 MiB, the setting `longest_line`"
    assert [*reasons] == [*range(2, 12)]


@pytest.mark.either_engine
def test_a_deep_line_is_set_aside_among_good_ones(spark: SparkSession, tmp_path: Path) -> None:
    """The parser of blocks would take it."""
    lines = [f'{{"k": {n}, "y": [{n}]}}' for n in range(50)]
    run = Query(spark, tmp_path, QUERY)
    run.write("r", [*lines, f'{{"k": 50, "y": {NESTED[0]}}}'])
    kept, aside = run.agreed()
    assert sorted(row["k"] for row in kept) == [*range(50)]
    assert [row.code for row in aside] == ["RQ301"]


SHORT = 'set longest_line = 2 KiB; stream r(k: long, s?: string) from {} "r"{}; emit r to json "o";'
LENGTHS = [100, 2047, 2048, 2049, 2050, 9000, 100, 200_000, 5, 2049, 2049, 40]


def line_of(format_: str, number: int, length: int) -> str:
    """A line of `length` bytes."""
    before, after = {"json": (f'{{"k": {number}, "s": "', '"}'), "csv": (f"{number},", "")}[format_]
    return before + "é" * ((length - len(before) - len(after)) // 2) + "x" * (length % 2) + after


@pytest.mark.either_engine
@pytest.mark.parametrize("format_", ["json", "csv"])
def test_the_longest_line_is_a_setting(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    lines = [line_of(format_, n, length) for n, length in enumerate(LENGTHS)]
    lines = [
        line.ljust(length) if format_ == "json" else line for line, length in zip(lines, LENGTHS, strict=True)
    ]
    lengths = [len(line.encode()) for line in lines]
    head = ["k,s"] if format_ == "csv" else []
    run = Query(spark, tmp_path, SHORT.format(format_, ""))
    run.write("r", [*head, *lines])
    kept, aside = run.agreed()
    assert sorted(row["k"] for row in kept) == [n for n, length in enumerate(lengths) if length <= 2048]
    long = [n for n, length in enumerate(lengths, 1 + len(head)) if length > 2048]
    assert [row.line for row in aside] == long
    assert {row.reason for row in aside} == {"the line is longer than 2 KiB, the setting `longest_line`"}


@pytest.mark.rest
@pytest.mark.either_engine
def test_a_longer_line_than_usual_is_read_by_a_setting(spark: SparkSession, tmp_path: Path) -> None:
    lines = [line_of("json", n, length) for n, length in enumerate([50, LONGEST_LINE + 50, 50])]
    run = Query(spark, tmp_path, SHORT.format("json", "").replace("2 KiB", "17 MiB"))
    run.write("r", lines)
    kept, aside = run.agreed()
    assert (len(kept), aside) == (3, [])


@pytest.mark.either_engine
@pytest.mark.parametrize("blanks", ["before", "after", "only"])
def test_a_line_of_many_blanks_is_too_long_and_not_nothing(
    spark: SparkSession, tmp_path: Path, blanks: str
) -> None:
    line = {"before": " " * 2048 + '{"k": 1}', "after": '{"k": 1}' + " " * 2048, "only": " " * 2049}[blanks]
    run = Query(spark, tmp_path, SHORT.format("json", ""))
    run.write("r", ['{"k": 0}', line, '{"k": 2}'])
    kept, aside = run.agreed()
    assert [row["k"] for row in kept] == [0, 2]
    assert [row.line for row in aside] == [2]


@pytest.mark.either_engine
@pytest.mark.parametrize("marker", ['{"$accent": "[[+(p: long)]]"', '{"$punctuation": "[k < 5]"'])
@pytest.mark.parametrize("padding", [" " * 2048 + "}", "}" + " " * 2048])
def test_a_marker_in_a_line_that_is_too_long_ends_the_query(
    spark: SparkSession, tmp_path: Path, marker: str, padding: str
) -> None:
    run = Query(spark, tmp_path, SHORT.format("json", ""))
    run.write("r", ['{"k": 0}', marker + padding, '{"k": 2}'])
    assert code_of(run.process) == code_of(run.simulate) == "RQ212"


@pytest.mark.either_engine
def test_a_first_line_of_csv_that_is_too_long_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, SHORT.format("csv", ""))
    run.write("r", ["k,s," + "x" * 2048, "1,a,b"])
    for act in (run.process, run.simulate):
        assert re.match("RQ426 .*its first line is longer than 2 KiB", error_text(act))


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("0 MiB", "`longest_line` cannot be 0 MiB", "from 1 KiB to 256 MiB"),
        ("257 MiB", "`longest_line` cannot be 257 MiB", "from 1 KiB to 256 MiB"),
        ("16", "`16` is not a size", "a whole number of KiB or MiB, as in `set longest_line = 16 MiB;`"),
        ("16 MB", "`16 MB` is not a size", "a whole number of KiB or MiB"),
        ("1.5 MiB", "`1.5 MiB` is not a size", "a whole number of KiB or MiB"),
        ("many", "`many` is not a size", "a whole number of KiB or MiB"),
    ],
)
def test_a_wrong_size_is_told(value: str, message: str, hint: str) -> None:
    query = f'set longest_line = {value}; stream r(k: long) from json "r"; emit r to json "o";'
    with pytest.raises(DiagnosticError) as of_query:
        compile_query(query)
    plan = compile_query(query.partition(";")[2]).plan
    with pytest.raises(DiagnosticError) as of_option:
        Options(settings={"longest_line": value}).check(plan)
    assert [error.diagnostics[0].code for error in (of_query.value, of_option.value)] == ["RQ004", "RQ477"]
    for error in (of_query.value, of_option.value):
        assert message in error.diagnostics[0].message
        assert hint in str(error.diagnostics[0].help)


@pytest.mark.rest
def test_a_file_of_csv_without_line_ends_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    with path.open("wb") as file:
        file.write(b"k,s\n1,a\n2,")
        file.truncate(4 * LONGEST_LINE)
        file.seek(0, os.SEEK_END)
        file.write(b"\r\n3,c\r\n")
    actual = list(CsvPart(str(path), 0).blocks())
    assert max(len(block.text) for block in actual) <= LONGEST_LINE + costs.BLOCK
    assert [row for block in actual for row in block_rows(block) if len(row[1]) < 9] == [
        (4, b"1,a"), (4 * LONGEST_LINE + 2, b"3,c")
    ]  # fmt: skip
    assert [line.fault != "" for line in lines_in(path)] == [False, True, False]


@pytest.mark.parametrize("begin", [0, 5, 3 * LONGEST_LINE])
def test_a_file_without_line_ends_is_not_held_in_memory(begin: int, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        file.write(b'{"k": 1}\n{"k":')
        file.truncate(4 * LONGEST_LINE)
        file.seek(0, os.SEEK_END)
        file.write(b'\r\n{"k": 2}\n')
    blocks = list(Part(str(path), 0, begin).blocks())
    assert max(len(block.text) for block in blocks) <= LONGEST_LINE + costs.BLOCK
    rows = [row for block in blocks for row in block_rows(block)]
    assert rows[-1] == (4 * LONGEST_LINE + 2, b'{"k": 2}')
    assert len(rows) == (3 if begin == 0 else 2 if begin == 5 else 1)
    if begin == 0:
        assert [number for _, number in lines_at(Part(str(path), 0), [position for position, _ in rows])] == [
            1,
            2,
            3,
        ]


def block_rows(block: Block) -> list[tuple[int, bytes]]:
    starts, ends = block.lines()
    return [(block.place + a, block.text[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


@pytest.mark.java
@pytest.mark.rest
@pytest.mark.faults
def test_a_java_that_dies_is_told_and_the_next_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text('stream r(k: long, x: double) from json "r"; emit r to json "o";')
    (tmp_path / "r").mkdir()
    for n in range(30):
        path = tmp_path / "r" / f"{n:02}.jsonl"
        path.write_text("".join(f'{{"k": {10 * n + k}, "x": {k}}}\n' for k in range(10)))
        os.utime(path, (n, n))
    words = ["run", "q.rq", "--engine", "spark", "--once", "--files-per-epoch", "1"]
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *words]
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    ends = time.monotonic() + 120
    while not (tmp_path / "o" / "epoch=000000000001").exists() and time.monotonic() < ends:
        time.sleep(0.05)
    os.kill(java_below(running.pid)[0], signal.SIGKILL)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "error[RQ324]: the Java that runs Spark has ended, by signal 9" in output
    assert "Traceback" not in output
    again = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert sorted(row["k"] for row in read_output(tmp_path / "o") if is_tuple(row)) == [*range(300)]


@pytest.mark.either_engine
def test_what_an_engine_says_that_nobody_knows_is_a_diagnostic(spark: SparkSession) -> None:
    with (
        pytest.raises(DiagnosticError, match=r"RQ325.*the engine has failed") as caught,
        failures_told(spark),
    ):
        spark.sql("SELECT raise_error('as it is')").collect()
    assert isinstance(caught.value.__cause__, PySparkException)


@pytest.mark.rest
@pytest.mark.either_engine
def test_five_hundred_new_fields_of_one_line_are_inferred(spark: SparkSession, tmp_path: Path) -> None:
    query = 'set drift = infer; stream r(k: long) from json "r"; emit r to json "o";'
    fields = ", ".join(f'"f{n}": {n}.5' for n in range(500))
    run = Query(spark, tmp_path, query)
    run.write("r", ['{"k": 1}', f'{{"k": 2, {fields}}}'])
    kept, aside = run.agreed()
    assert sorted(len(row) for row in kept) == [1, 501]
    assert aside == []


@pytest.mark.either_engine
def test_keys_that_are_values_make_no_more_attributes_than_a_stream_may_have(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was inferred before stays, also in later epochs; tuples without a new field are taken."""
    monkeypatch.setattr(unannounced, "MAX_INFERRED", 3)
    query = 'set drift = infer; stream r(k: long) from json "r"; emit r to json "o";'
    run = Query(spark, tmp_path, query)
    run.write("r", [{"k": 1, "m1": 5, "m2": 6}])
    run.write("r", [{"k": 2, "m1": 7}, {"k": 3, "m3": 1}, {"k": 4, "m4": 1}, {"k": 5, "m4": 2}])
    run.write("r", [{"k": 6, "m5": 1}, {"k": 7, "m3": 2}])
    kept, aside = run.agreed("r", 1)
    assert [row["k"] for row in kept] == [1, 2, 3, 7]
    assert [(rejection.line, rejection.code) for rejection in aside] == [
        (3, "RQ363"),
        (4, "RQ363"),
        (1, "RQ363"),
    ]


@pytest.mark.parametrize("number", [*HUGE, *SMALL])
def test_no_number_of_a_record_ends_the_process(number: str) -> None:
    """pyarrow 26 reads beyond a table where a decimal has the exponent -999999999."""
    types = {"k": Type("long"), "m": Type("decimal", (9, 2))}
    rows = f"1,{number}\n{number},2\n3,4\n".encode()
    places = np.array([0, rows.index(b"\n") + 1, len(rows) - 4])
    batches = RecordBatches(types, Header(("k", "m")))
    ends = np.append(places[1:], len(rows)) - 1
    assert batches.parse_block(rows, places, ends) is None
    faults = batches.parse_rows(rows, places, ends)[2].to_pylist()
    assert faults[2] is None
    assert faults[1] is not None or number.startswith("0e")


DIGITS = "123456789" * 33
ALTERS = 'stream r(k: long, t: double) from json "r"; emit r to json "o";'


@pytest.mark.either_engine
def test_alters_of_long_fractions_end_with_a_code_at_their_place(spark: SparkSession, tmp_path: Path) -> None:
    alters = [f"[[alter(t, y -> y * 0.{DIGITS} + 0.{n}{DIGITS})]]" for n in range(300)]
    run = Query(spark, tmp_path, ALTERS)
    path = run.write("r", ['{"k": 1, "t": 2.5}', *(json.dumps({"$accent": text}) for text in alters)])
    for act in (run.process, lambda: simulate(ALTERS, Options(sources={"r": str(path)}))):
        with pytest.raises(DiagnosticError) as caught:
            act()
        (error,) = caught.value.diagnostics
        assert error.code == "RQ009"
        assert any(path.name in note for note in error.notes)
    assert [row["k"] for row in run.output("r") if is_tuple(row)] == [1]


@pytest.mark.either_engine
def test_hundreds_of_calibrations_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    """Their function has numbers of some thousand digits, which no double holds."""
    alters = [f"[[alter(t, y -> y * 1.00{n % 90 + 10} - 0.{n + 1})]]" for n in range(250)]
    lines = ['{"k": 1, "t": 2.5}', *(json.dumps({"$accent": text}) for text in alters), '{"k": 2, "t": 2.5}']
    value = Fraction(5, 2)
    for n in reversed(range(250)):
        value = (value + Fraction(f"0.{n + 1}")) / Fraction(f"1.00{n % 90 + 10}")
    query = 'stream r(k: long, t: double) from json "r"; emit r to json "r" in original units;'
    run = Query(spark, tmp_path, query)
    run.write("r", lines)
    kept, aside = run.agreed()
    assert aside == []
    assert {row["k"]: row["t"] for row in kept} == {1: 2.5, 2: pytest.approx(float(value), rel=1e-9)}


@pytest.mark.rest
@pytest.mark.parametrize("last", [None, 20])
def test_accents_on_ranges_cost_what_their_pieces_cost(last: int | None) -> None:
    """Twice as many cost less than four times as many calls."""
    plan = compile_query(ALTERS).plan

    def cost(count: int) -> int:
        ends = [f">= {n}" if last is None else f"in [{n}, {n + last})" for n in range(count)]
        texts = [f"[[k {end}, alter(t, y -> y + {n + 1})]]" for n, end in enumerate(ends)]
        markers = [MarkerLine("accent", text, n, next=n + 1) for n, text in enumerate(texts)]
        states = {s.name: SourceState.start(s, plan.droppable[s.name]) for s in plan.sources}
        stops = list[object]()
        count = calls(lambda: stops.extend(advance(plan, states, {"r": markers}).stops))
        assert not stops
        return count

    few, many = cost(40), cost(80)
    assert many < 4 * few
