"""`ordered by name`: files that were copied come in the order in which they were written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.explain.explanation import source_facts
from cedilla.grammar import format_query, parse_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.pipeline.report import EpochReport
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import rest

QUERY = """
stream p(ts: long, mass: double unit g) from json "p" MARKERS heartbeat ts delay 1000 ORDER;
emit p to json "out" with mass in g;
"""
KILOGRAMS = '{"$accent": "[[unit(mass, kg)]]"}'


class Folder:
    """A stream of a file a day, grams and then kilograms; copied, so that the first day has a later time."""

    def __init__(self, root: Path, *, by_name: bool = True, markers: bool = False) -> None:
        self.root = root
        order = "ordered by name" if by_name else ""
        self.text = QUERY.replace("ORDER", order).replace("MARKERS", 'markers "ops"' if markers else "")
        self.reports: list[EpochReport] = []
        for name in ("p", "ops"):
            (root / name).mkdir()
        self.write("p/2025-01-01.jsonl", {"ts": 1, "mass": 100.0}, moment=30)
        accent = "ops/2025-01-02.jsonl" if markers else "p/2025-01-02.jsonl"
        self.write(accent, KILOGRAMS, *([] if markers else [{"ts": 2, "mass": 0.1}]), moment=20)
        if markers:
            self.write("p/2025-01-02.jsonl", {"ts": 2, "mass": 0.1}, moment=10)
        self.write("p/2025-01-03.jsonl", {"ts": 3, "mass": 0.1}, moment=40)

    def write(self, name: str, *items: Item | str, moment: int) -> None:
        write_lines(self.root / name, items, moment)

    def options(self, out: str, **more: int | None) -> Options:
        sources = {"p": str(self.root / "p")}
        if "markers" in self.text:
            sources["p.markers"] = str(self.root / "ops")
        return Options(
            once=True,
            checkpoint=str(self.root / "ck"),
            sources=sources,
            sinks={"p": str(self.root / out)},
            **more,  # type: ignore[arg-type]
        )

    def run(self, spark: SparkSession, **more: int | None) -> list[tuple[int, float]]:
        run(self.text, self.options("out", **more), spark=spark, on_report=self.reports.append)
        return self.values("out")

    def values(self, out: str) -> list[tuple[int, float]]:
        rows = [item for item in read_output(self.root / out) if is_tuple(item)]
        return sorted((row["ts"], row["mass"]) for row in rows)

    @property
    def notes(self) -> list[str]:
        return [note for report in self.reports for note in report.notes]


RIGHT = [(1, 100.0), (2, 100.0), (3, 100.0)]


@pytest.mark.either_engine
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("files_per_epoch", [rest(None), 1])
def test_files_are_read_by_their_names(
    spark: SparkSession, tmp_path: Path, markers: bool, files_per_epoch: int | None
) -> None:
    """Those of a folder of markers, too, each before the file of tuples of its name; also by `simulate`, and in a
    later run."""
    folder = Folder(tmp_path, markers=markers)
    assert folder.run(spark, files_per_epoch=files_per_epoch) == RIGHT
    folder.write("p/2025-01-04.jsonl", {"ts": 4, "mass": 0.1}, moment=5)
    assert folder.run(spark) == [*RIGHT, (4, 100.0)]
    simulate(folder.text, folder.options("simulated"))
    assert folder.values("simulated") == [*RIGHT, (4, 100.0)]
    assert folder.notes == []


@pytest.mark.either_engine
def test_a_file_that_comes_before_one_that_was_read_ends_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All before it is committed; under a later name it is read."""
    folder = Folder(tmp_path)
    assert folder.run(spark) == RIGHT
    folder.write("p/2025-01-02b.jsonl", {"ts": 4, "mass": 0.1}, moment=50)
    for _ in range(2):
        with pytest.raises(DiagnosticError, match=r"RQ453.*2025-01-02b.*2025-01-03"):
            folder.run(spark)
        assert folder.values("out") == RIGHT
    (tmp_path / "p/2025-01-02b.jsonl").rename(tmp_path / "p/2025-01-03b.jsonl")
    assert folder.run(spark) == [*RIGHT, (4, 100.0)]


def test_markers_that_come_late_by_their_name_end_the_query(sail: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path, markers=True)
    folder.run(sail)
    folder.write("ops/2025-01-03.jsonl", '{"$accent": "[[unit(mass, g)]]"}', moment=50)
    with pytest.raises(DiagnosticError, match="RQ453"):
        folder.run(sail)


@pytest.mark.either_engine
def test_names_that_are_not_in_the_order_of_times_are_said_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path, by_name=False)
    folder.run(spark, files_per_epoch=1)
    (tmp_path / "q.rq").write_text(folder.text)
    called = cedilla("simulate", f"{tmp_path}/q.rq", "--source", f"p={tmp_path}/p")
    assert [line for line in called.stderr.splitlines() if "reads" in line] == folder.notes
    assert folder.notes == [
        "`p` reads 2025-01-02.jsonl before 2025-01-01.jsonl: files are read in the order of their times; "
        "`ordered by name` reads them by their names"
    ]


@pytest.mark.parametrize(
    ("names", "by_name", "warning"),
    [
        (["9", "10", "11"], False, None),  # counted up
        (["9", "10", "11"], True, "`p` reads 11.jsonl before 9.jsonl: names are compared sign by sign"),
        (["b", "a", "c3"], False, None),  # names that say no order
        (["2025-02-01", "2025-01-31"], False, "2025-02-01.jsonl before 2025-01-31.jsonl"),
    ],
)
def test_what_is_said_of_names(
    sail: SparkSession, tmp_path: Path, names: list[str], by_name: bool, warning: str | None
) -> None:
    folder = Folder(tmp_path, by_name=by_name)
    for file in (tmp_path / "p").iterdir():
        file.unlink()
    for number, name in enumerate(names):
        folder.write(f"p/{name}.jsonl", {"ts": number, "mass": 1.0}, moment=number)
    folder.run(sail)
    assert [warning is not None and warning in note for note in folder.notes] == [True] * (
        warning is not None
    )


def test_it_is_a_clause_of_a_stream() -> None:
    text = QUERY.replace("ORDER", "ordered by name").replace("MARKERS ", "")
    query = parse_query(text)
    assert "\n  ordered by name;" in format_query(query)
    assert parse_query(format_query(query)) == query
    compiled = compile_query(text)
    assert load(compiled)[0].source_of["p"].by_name
    assert "ordered by name" in source_facts(compiled.plan.source_of["p"])


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ('table p(ts: long) from json "p" ordered by name', "RQ454"),
        ('stream p(ts: long) from kafka "h:1/p" ordered by name', "RQ454"),
        ('stream p(ts: long) from delta "p" ordered by name', "RQ454"),
        ('stream p(ts: long) from json "p" ordered by ts', "RQ001"),
        ('stream p(ts: long) from json "p" ordered by name ordered by name', "RQ001"),
    ],
)
def test_what_has_no_order_by_name_is_refused(declared: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'{declared};\nemit p to json "out";')
