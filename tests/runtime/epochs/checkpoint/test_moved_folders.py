"""A source under another path: its files are known by their places in it, or it is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.tools.inspect.status import read_status
from tests.kit.stream import is_tuple, read_output
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine
QUERY = """
stream r(k: long, t: double unit m) from json "r" markers "ops" punctuated on k;
table names(k: long, name: string) from json "names";
named := r join names on k;
w := window[10 on k as w](named);
n := aggregate[count() as n, sum(t) as t by w](w);
emit n to json "n" with t in m;
"""


class Project:
    """The query in a folder that can move."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self.spark, self.root = spark, root
        self.sources = {"r": "r", "r.markers": "ops", "names": "names"}
        self.reports: list[EpochReport] = []
        for name in (*self.sources.values(), "out"):
            (root / name).mkdir(parents=True, exist_ok=True)
        names = [{"k": k, "name": "a"} for k in range(40)]
        self.write("names/1.jsonl", *map(json.dumps, names), moment=1)
        self.file(1)
        self.write("ops/1.jsonl", '{"$accent": "[[unit(t, cm)]]"}', moment=15)
        self.file(2, 100.0)

    def write(self, name: str, *lines: str, moment: int) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (moment, moment))

    def file(self, number: int, value: float = 1.0, folder: str = "r") -> None:
        """Ten tuples, of which punctuation closes a window."""
        rows = [{"k": (number - 1) * 10 + n, "t": value} for n in range(10)]
        lines = [*map(json.dumps, rows), f'{{"$punctuation": "[k < {number * 10}]"}}']
        self.write(f"{folder}/{number}.jsonl", *lines, moment=number * 10)

    def run(self, **options: int | None) -> list[tuple[int, int, float]]:
        chosen = Options(
            once=True,
            checkpoint=str(self.root / "ck"),
            sources={
                n: path if path[0] == "/" else f"{self.root}/{path}" for n, path in self.sources.items()
            },
            sinks={"n": str(self.root / "out")},
            yes=True,
            **options,  # type: ignore[arg-type]
        )
        run(QUERY, chosen, spark=self.spark, on_report=self.reports.append)
        return self.output()

    def output(self) -> list[tuple[int, int, float]]:
        rows = [item for item in read_output(self.root / "out") if is_tuple(item)]
        return sorted((row["w"], row["n"], row["t"]) for row in rows)

    @property
    def notes(self) -> str:
        return " ".join(note for report in self.reports for note in report.notes)

    def moved(self, name: str = "r") -> None:
        (self.root / name).rename(self.root / "moved")
        self.sources = {n: "moved" if path == name else path for n, path in self.sources.items()}

    def copied(self) -> None:
        """Times are not kept."""
        shutil.copytree(self.root / "r", self.root / "copy", copy_function=shutil.copyfile)
        self.sources["r"] = "copy"

    def linked(self) -> None:
        self.moved()
        (self.root / "r").symlink_to(self.root / "moved")
        self.sources["r"] = "r/"

    def spelled(self) -> None:
        self.sources["r"] = f"{self.root}/./ops/../r/"

    def markers(self) -> None:
        self.moved("ops")

    def everything(self) -> None:
        target = self.root.parent / "elsewhere"
        self.root.rename(target)
        self.root = target

    def others(self) -> None:
        """The names of the files are the same, and what is in them is not."""
        for number in (1, 2):
            self.file(number, 7.25, "other")
        self.sources["r"] = "other"

    def of_one_length(self) -> None:
        """And so are their lengths."""
        for number in (1, 2):
            self.file(number, 7.0 if number == 1 else 700.0, "other")
            os.utime(self.root / f"other/{number}.jsonl", (99, 99))
        self.sources["r"] = "other"

    def above(self) -> None:
        """They are deeper in the folder, by another path."""
        (self.root / "r").rename(self.root / "above")
        (self.root / "r").mkdir()
        (self.root / "above").rename(self.root / "r" / "year")
        (self.root / "r").rename(self.root / "above")
        self.sources["r"] = "above"


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Project:
    result = Project(spark, tmp_path / "project")
    assert result.run() == TWO
    return result


TWO = [(0, 10, 10.0), (1, 10, 10.0)]
THREE = [*TWO, (2, 10, 10.0)]


CHANGES = [
    Project.moved, Project.copied, Project.linked, Project.spelled, Project.markers, Project.everything
]  # fmt: skip


@pytest.mark.parametrize("files_per_epoch", tiered([None, 1]))
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_folder_under_another_path_is_read_once(
    project: Project, change: Callable[[Project], None], files_per_epoch: int | None
) -> None:
    change(project)
    project.file(3, 100.0, project.sources["r"])
    assert project.run(files_per_epoch=files_per_epoch) == THREE
    assert project.run() == THREE
    assert read_status(str(project.root / "ck")).backlog == {"r": 0}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_batch_goes_on_under_another_path(
    spark: SparkSession, tmp_path: Path, change: Callable[[Project], None]
) -> None:
    """A run that ended in the middle of a batch, at a wrong marker."""
    project = Project(spark, tmp_path / "project")
    project.write("r/3.jsonl", '{"$accent": "[[unit(t, kg)]]"}', moment=30)
    project.file(4)
    with pytest.raises(DiagnosticError, match=r"3\.jsonl"):
        project.run()
    assert project.output() == TWO
    change(project)
    project.file(3, 100.0, project.sources["r"])
    project.file(4, 100.0, project.sources["r"])
    assert project.run() == [*THREE, (3, 10, 10.0)]


@pytest.mark.parametrize("change", [Project.copied, Project.moved, Project.everything])
def test_a_batch_of_which_a_stream_was_not_read_goes_on_under_another_path(
    spark: SparkSession, tmp_path: Path, change: Callable[[Project], None]
) -> None:
    """Its files would be read in the old folder, where a copy has left them, and then in the new one."""
    project = Project(spark, tmp_path / "project")
    project.write("r/0.jsonl", '{"$accent": "[[unit(t, kg)]]"}', moment=5)
    with pytest.raises(DiagnosticError, match=r"0\.jsonl"):
        project.run()
    assert project.output() == []
    change(project)
    project.write(f"{project.sources['r']}/0.jsonl", '{"$punctuation": "[k < 0]"}', moment=5)
    assert project.run() == TWO
    assert project.run() == TWO
    assert read_status(str(project.root / "ck")).backlog == {"r": 0}


def test_other_files_than_a_batch_has_listed_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path / "project")
    project.write("r/0.jsonl", '{"$accent": "[[unit(t, kg)]]"}', moment=5)
    with pytest.raises(DiagnosticError, match=r"0\.jsonl"):
        project.run()
    project.others()
    with pytest.raises(DiagnosticError, match="RQ452"):
        project.run()


def test_it_is_said_that_a_folder_was_recognised(project: Project) -> None:
    project.moved()
    project.file(3, 100.0, "moved")
    project.run()
    assert "moved of stream `r` is the folder that was read as" in project.notes


@pytest.mark.parametrize(
    "change", [Project.others, Project.of_one_length, Project.above], ids=lambda change: change.__name__
)
def test_a_folder_in_doubt_is_refused(project: Project, change: Callable[[Project], None]) -> None:
    """And the folder of before goes on."""
    change(project)
    with pytest.raises(DiagnosticError, match="RQ452"):
        project.run()
    assert project.output() == TWO
    if not (project.root / "r").exists():
        (project.root / "above" / "year").rename(project.root / "r")
    project.sources["r"] = "r"
    project.file(3, 100.0)
    assert project.run() == THREE


def test_another_folder_is_read_from_then_on(project: Project) -> None:
    """One that has no file of the first; a folder above both knows what was read."""
    project.file(3, 100.0, "r2")
    project.sources["r"] = "r2"
    assert project.run() == THREE
    (project.root / "both").mkdir()
    for name in ("r", "r2"):
        (project.root / name).rename(project.root / "both" / name)
    project.sources["r"] = "both/r2"
    project.file(4, 100.0, "both/r2")
    assert project.run() == [*THREE, (3, 10, 10.0)]


def test_a_folder_above_knows_the_files_that_were_read(project: Project) -> None:
    shutil.copytree(project.root / "names", project.root / "all" / "_")
    project.sources["r"] = "r/sub"
    project.file(3, 100.0, "r/sub")
    assert project.run() == THREE
    project.sources["r"] = "r"
    assert project.run() == THREE


def test_a_file_that_moves_within_its_folder_is_known(project: Project) -> None:
    """A log is rotated, a folder of finished files is below that of the stream, a marker file gets another name."""
    (project.root / "r" / "done").mkdir()
    for before, after in (
        ("r/1.jsonl", "r/done/1.jsonl"),
        ("r/2.jsonl", "r/1.jsonl"),
        ("ops/1.jsonl", "ops/2.jsonl"),
    ):
        (project.root / before).rename(project.root / after)
    project.file(3, 100.0)
    (project.root / "r/3.jsonl").rename(project.root / "r/2.jsonl")
    assert project.run() == THREE
    assert "r/2.jsonl, which was read and has moved; so are 1 more" in project.notes
    assert project.run() == THREE


def test_a_file_that_has_grown_since_it_was_read_is_noted_and_not_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = Project(spark, tmp_path)
    assert project.run() == [(0, 10, 10.0), (1, 10, 10.0)]
    for name, line in (
        ("r/2.jsonl", '{"k": 25, "t": 9.0}\n'),
        ("ops/1.jsonl", '{"$accent": "[[unit(t, m)]]"}\n'),
    ):
        with (tmp_path / name).open("a") as file:
            file.write(line)
    project.file(3, 100.0)
    assert project.run() == [(0, 10, 10.0), (1, 10, 10.0), (2, 10, 10.0)]
    assert "r/2.jsonl with tuples of `r` is 20 bytes longer than when it was read" in project.notes
    assert "ops/1.jsonl with markers of `r` is 30 bytes longer than when it was read" in project.notes
    assert project.notes.count("RQ457") == 2


def test_a_file_that_was_mended_before_it_was_read_is_not_noted(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(spark, tmp_path)
    project.write("r/3.jsonl", '{"k": 20, "t": 100.0}', '{"$accent": "[[unit(t, s)]]"}', "[]", moment=30)
    for _ in range(2):
        with pytest.raises(DiagnosticError, match="RQ142"):
            project.run()
    project.write(
        "r/3.jsonl", '{"k": 20, "t": 100.0}', '{"$accent": "[[unit(t, m)]]"}', '{"k": 21, "t": 9}', moment=40
    )
    project.file(4)
    assert project.run()[2:] == [(2, 2, 10.0), (3, 10, 10.0)]
    project.file(5)
    project.run()
    assert "longer" not in project.notes
