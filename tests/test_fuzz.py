"""Mutated queries, markers and lines: nothing but coded diagnostics comes of them, each within five seconds.

`make soak` takes a million; `FUZZ=N` takes another number.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.connectors.formats.csv.batches import CsvBatches
from cedilla.runtime.connectors.formats.csv.blocks import CsvPart
from cedilla.runtime.connectors.formats.jsonl.batches import JsonBatches
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in as json_markers
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.connectors.formats.xml.blocks import XmlPart
from cedilla.runtime.connectors.formats.xml.markers import markers_in as xml_markers
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit import fuzz
from tests.kit.fuzz import in_time
from tests.kit.fuzz_targets import TUPLES, TYPES, check_codes, follow, marker_line, take_query, write_file
from tests.kit.query import Query

ALL = int(os.environ.get("FUZZ", "1000000"))
SEED = int(os.environ.get("SEED", "1"))


def shares(sample: int, share: float) -> pytest.MarkDecorator:
    """How many texts: a few in each run of the tests, else a share of all."""
    return pytest.mark.parametrize(
        "count", [sample, pytest.param(int(ALL * share), marks=pytest.mark.soak)], ids=["sample", "all"]
    )


# --- queries -------------------------------------------------------------------------------------------------


@shares(150, 0.02)
def test_queries(count: int) -> None:
    rng = Random(SEED)
    for text in fuzz.mutations(rng, fuzz.queries(), count):
        with in_time(text):
            take_query(text)


# --- markers and lines, one by one ---------------------------------------------------------------------------

MARKERS = [
    "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]",
    "[[s in {1, 3} and ts > 5, +(p: double unit hPa)]]",
    '[[k = "north", -(m)]]',
    "[[grow(s, {4, 5})]]",
    "[[ts in [3, 17), unit(t, degF)]]",
    "[[rename(temp, t)]]",
    '[[recode(k, {"north": "n", "south": "s"})]]',
    "[ts <= 600, s = 2]",
    "[ts in [5, 10), k in {a, b}]",
    "[at < 2020-01-02T03:04:05Z, d = 2020-01-02]",
]


@shares(1500, 0.08)
def test_markers(count: int) -> None:
    rng = Random(SEED)
    seeds = [*MARKERS, *fuzz.markers()]
    follow(rng, (marker_line(text) for text in fuzz.mutations(rng, seeds, count)))


@shares(1500, 0.1)
def test_lines_of_a_stream(count: int) -> None:
    rng = Random(SEED)
    follow(rng, fuzz.mutations(rng, [*TUPLES, *map(marker_line, MARKERS)], count))


# --- lines in blocks -----------------------------------------------------------------------------------------

ROWS = {
    "json": [*TUPLES, *map(marker_line, MARKERS)],
    "csv": [
        "17,1,20.5,north,true,1.25,2020-01-02T03:04:05Z,2020-01-02",
        '18,2,-3,"a ""b"", c",false,0.5,,',
        "19,3,NaN,,True,1e2,2020-01-02 03:04:05.123,2020-02-29",
    ],
    "xml": [
        "<r><ts>17</ts><s>1</s><t>20.5</t><k>north</k><b>true</b><m>1.25</m><d>2020-01-02</d></r>",
        "<r><ts>18</ts><s>2</s><t>-3</t><k>&#233; &lt;</k><at>2020-01-02T03:04:05Z</at></r>",
        "<punct:r><ts>[,600]</ts><s>2</s></punct:r>",
        "<accent:r>[[s = 2, alter(t, y -> y * 2)]]</accent:r>",
    ],
}
PARTS: dict[str, type[Part]] = {"json": Part, "csv": CsvPart, "xml": XmlPart}
AT_ONCE = 400


@pytest.mark.parametrize("name", ROWS)
@shares(4000, 0.24)
def test_lines_in_blocks(name: str, count: int, tmp_path: Path) -> None:
    rng = Random(SEED)
    types = {a.name: a.type for a in declared_schema(TYPES).source.attributes}
    makers: dict[str, Any] = {"json": JsonBatches(types), "csv": CsvBatches(types), "xml": XmlBatches(types)}
    markers: dict[str, Callable[[Any], Any]] = {"json": json_markers, "xml": xml_markers}
    for _ in range(-(-count // AT_ONCE)):
        lines = [*fuzz.mutations(rng, ROWS[name], AT_ONCE)]
        path = write_file(tmp_path / f"rows.{name}", name, [*lines, *ROWS[name]])
        with in_time(lines):
            for block in PARTS[name](str(path), 0).blocks():
                assert makers[name].batch(block, 0).num_rows <= len(block.text)
                assert all(
                    marker.begin < marker.end for marker in (markers[name](block) if name in markers else ())
                )


# --- whole queries -------------------------------------------------------------------------------------------

QUERY = f"""
stream r({TYPES}) from json "r" punctuated on ts;
w := window[10 on ts as window_number](select[t > 0 or s = 2 or k is not null](r));
a := aggregate[avg(t) as mean, count() as c, max(m) as most by window_number, s](w);
emit a to json "a";
emit r to json "b";
"""


@shares(300, 0.01)
def test_simulated_streams(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = Random(SEED)
    for _ in range(-(-count // 30)):
        lines = [*fuzz.mutations(rng, ROWS["json"], 30)]
        drift = rng.choice(("ignore", "infer", "quarantine"))
        path = write_file(tmp_path / "r.json", "json", lines)
        with in_time(lines):
            try:
                simulate(f"set drift = {drift};{QUERY}", Options(sources={"r": str(path)}))
            except DiagnosticError as error:
                check_codes(error, "")
        capsys.readouterr()


OF_ENGINE = 10_000
"""Lines of one epoch: an epoch of few lines costs nearly as much."""


@pytest.mark.either_engine
@shares(600, 0.1)
def test_lines_through_an_engine(count: int, spark: SparkSession, tmp_path: Path) -> None:
    """No marker among them, as nearly all of these end a run; what is read is kept or set aside."""
    rng = Random(SEED)
    for number in range(-(-count // OF_ENGINE)):
        run = Query(spark, tmp_path / str(number), f"set drift = {rng.choice(('ignore', 'infer'))};{QUERY}")
        texts = [text for text in fuzz.mutations(rng, TUPLES, min(count, OF_ENGINE)) if "$" not in text]
        lines = [line for text in texts for line in text.split("\n") if line.strip(" \t\r\n")]
        path = run.write("r", [])
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        try:
            run.process()
        except DiagnosticError as error:
            check_codes(error, "")
        (report,) = run.reports
        assert report.tuples > 0
        assert sum(report.quarantined.values()) > 0
