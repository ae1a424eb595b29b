"""The harness of queries: their text, streams as lists of items in files, and what an engine or the reference gives."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from attrs import define, evolve, field, frozen
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession

from cedilla import read, run, simulate
from cedilla.compiler import compile_query
from cedilla.grammar import Diagnostic
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.executor import Executor
from cedilla.runtime.epochs.pipeline.load import load
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.tools.simulation.inputs import Input
from tests.kit.compare import plain, texts
from tests.kit.epochs import outputs
from tests.kit.lines import read_lines, write_lines
from tests.kit.stream import Item, decode, is_tuple, read_output


@frozen
class Rejection:
    """A line that is set aside: its file and number, the code, the reason, and its text."""

    file: str
    line: int
    code: str
    reason: str
    raw: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The code and the reason."""
        return f"{self.code} {self.reason}"


@frozen
class Simulated:
    """The outputs of the reference, and the lines that it rejects, each with its code."""

    folder: Path
    rejected: list[tuple[Input, str]] = field(factory=list[tuple[Input, str]])
    warnings: list[Diagnostic] = field(factory=list[Diagnostic])

    def output(self, emit: str) -> list[Item]:
        return read_output(self.folder / emit)

    def canonical(self, emit: str) -> list[Item]:
        """The canonical tuples of an output, with numbers as floats."""
        return canonical_rows(self.folder / emit)

    def rows(self, emit: str) -> list[Item]:
        """The canonical tuples of an output, as `cedilla read` gives them, in an order."""
        return _rows(self.folder / emit)

    @property
    def rejections(self) -> list[Rejection]:
        rejections: list[Rejection] = []
        for line, code in self.rejected:
            file, _, number = Path(line.line.place).name.rpartition(":")
            rejections.append(Rejection(file, int(number), code, line.reason, line.line.text))
        return sorted(rejections, key=_by_place)

    @property
    def codes(self) -> list[str]:
        return [code for _, code in self.rejected]


@define
class Query:
    """A query over folders below `root`: `in/SOURCE`, `out/EMIT`, `checkpoint`; `simulated/EMIT` of the reference."""

    spark: SparkSession
    root: Path
    query: str
    reports: list[EpochReport] = field(factory=list[EpochReport])
    conf: Mapping[str, str] = field(factory=dict[str, str])
    """Spark's settings that a user would have chosen."""
    yes: bool = False
    """True: an edited query may continue."""
    simulated: Simulated = field(init=False)
    """The result of the last `simulate`."""
    _count: int = 0
    _brought: set[str] = field(factory=set[str])

    @classmethod
    def without_engine(cls, root: Path, query: str) -> Query:
        """Returns one that writes and simulates, and never runs."""
        return cls(cast("SparkSession", None), root, query)

    def write(self, source: str, items: Sequence[Item | str], name: str | None = None) -> Path:
        """Writes a file of a source, and returns its path; later files come later in its order. Text items are whole
        lines."""
        folder = self.root / "in" / source
        self._count += 1
        return write_lines(folder / (name or f"{self._count:05d}.jsonl"), items, self._count)

    def write_table(self, source: str, table: pa.Table, number: int, **options: Any) -> Path:
        """A file of Parquet of a source, as other programs write it; files are ordered by their numbers."""
        path = self.root / "in" / source / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(table, path, **options)
        os.utime(path, (number, number))
        return path

    def executor(
        self, files_per_epoch: int | None = None, settings: Mapping[str, str] | None = None
    ) -> Executor:
        """A fresh executor on the checkpoint, as a new process would have one."""
        plan, flow = load(compile_query(self.query))
        for source in plan.sources:
            (self.root / "in" / source.name).mkdir(parents=True, exist_ok=True)
        plan = evolve(
            plan,
            sources=[evolve(s, path=str(self.root / "in" / s.name)) for s in plan.sources],
            emits=[evolve(e, path=str(self.root / "out" / e.name)) for e in plan.emits],
            settings={**plan.settings, **(settings or {})},
        )
        files = Files()
        checkpoint = Checkpoint(files, str(self.root / "checkpoint"))
        return Executor(
            self.spark,
            plan,
            flow,
            checkpoint,
            files,
            files_per_epoch,
            self.reports.append,
            conf=self.conf,
            consent=lambda changes: self.yes or changes.goes_on_at_once,
        )

    def files(self, executor: Executor) -> dict[str, list[InputFile]]:
        """All files of the streams, as one micro-batch brings them."""
        return {s.name: listed_files(executor.files, s.path) for s in executor.plan.sources if not s.table}

    def go_on(self, executor: Executor, batch: int) -> None:
        """The files that no batch has brought yet, as the next one."""
        files_by_source = {
            name: [file for file in files if file.path not in self._brought]
            for name, files in self.files(executor).items()
        }
        executor.process(batch, files_by_source)
        self._brought |= {file.path for files in files_by_source.values() for file in files}

    def process(
        self, files_per_epoch: int | None = None, settings: Mapping[str, str] | None = None
    ) -> Executor:
        """Everything there is, as one micro-batch."""
        executor = self.executor(files_per_epoch, settings)
        executor.process(0, self.files(executor))
        return executor

    def epochs(self, epochs: Sequence[Mapping[str, Sequence[Item]]]) -> dict[str, list[str]]:
        """The tuples of each output, computed in memory from the items of each source in each epoch."""
        return outputs(self.spark, self.root, self.query, epochs)

    def options(self, **more: Any) -> Options:
        """Returns the options of a single run of the query; markers are in `in/SOURCE.markers`."""
        plan = compile_query(self.query).plan
        folders = [s.name for s in plan.sources] + [f"{s.name}.markers" for s in plan.sources if s.markers]
        return Options(
            once=True,
            checkpoint=str(self.root / "checkpoint"),
            sources={name: str(self.root / "in" / name) for name in folders},
            sinks={emit.name: str(self.root / "out" / emit.name) for emit in plan.emits},
            **more,
        )

    def run(self, **more: Any) -> None:
        """Runs the query once by the command's own entry, which discovers the files itself."""
        run(self.query, self.options(**more), spark=self.spark, on_report=self.reports.append)

    def simulate(self, **settings: str) -> Simulated:
        """The reference on the same files."""
        self.simulated = simulated = Simulated(self.root / "simulated")
        options = self.options()
        sinks = {name: str(simulated.folder / name) for name in options.sinks}
        simulate(
            self.query,
            Options(sources=options.sources, sinks=sinks, settings=settings),
            lambda line, code: simulated.rejected.append((line, code)),
            simulated.warnings.append,
        )
        return simulated

    def agreed(
        self, emit: str = "r", files_per_epoch: int | None = None
    ) -> tuple[list[Item], list[Rejection]]:
        """The tuples and the rejected lines of a source of the same name, by an engine as by the reference."""
        self.process(files_per_epoch)
        simulated = self.simulate()
        assert texts(_meant(self.output(emit))) == texts(_meant(simulated.output(emit)))
        rejections = self.rejections(emit)
        assert [(rejection.place, rejection.text) for rejection in rejections] == [
            (rejection.place, rejection.text) for rejection in simulated.rejections
        ]
        return [*filter(is_tuple, self.output(emit))], rejections

    def process_parts(self, parts: int, **inputs: Sequence[Item]) -> Executor:
        """Writes each input as a number of files and processes them file by file; no line may be rejected."""
        for source, items in inputs.items():
            self.write_parts(source, items, parts)
        executor = self.process(files_per_epoch=1)
        assert [self.quarantine(source) for source in inputs] == [[] for _ in inputs]
        return executor

    def write_parts(self, source: str, items: Sequence[Item | str], parts: int) -> None:
        """Writes the items as a number of files of about the same length."""
        size = -(-len(items) // parts)
        for start in range(0, len(items), size):
            self.write(source, items[start : start + size])

    def output(self, emit: str) -> list[Item]:
        return read_output(self.root / "out" / emit)

    def rows(self, emit: str) -> list[Item]:
        """The canonical tuples of an output, as `cedilla read` gives them, in an order."""
        return _rows(self.root / "out" / emit)

    def canonical(self, emit: str) -> list[Item]:
        """The canonical tuples of an output, with numbers as floats."""
        return canonical_rows(self.root / "out" / emit)

    def output_by_epoch(self, emit: str) -> list[list[Item]]:
        """Returns the lines of an output after each epoch."""
        folder, items, length = self.root / "out" / emit, self.output(emit), 0
        result: list[list[Item]] = []
        for report in self.reports:
            length += len(read_lines(*(folder / f"epoch={report.number:012d}").glob("*")))
            result.append(items[:length])
        return result

    def sources(self) -> list[str]:
        """The sources of which there are files, in an order."""
        return sorted(path.name for path in (self.root / "in").iterdir())

    def quarantine(self, source: str) -> list[Item]:
        """The rejected lines of a source."""
        folder = self.root / "checkpoint" / "quarantine" / source
        return read_lines(*sorted(folder.glob("*.jsonl")))

    def rejections(self, source: str = "r") -> list[Rejection]:
        """The rejected lines of a source, in the order of their places."""
        rejections: list[Rejection] = []
        for item in self.quarantine(source):
            file, line = Path(item["position"]["file"]).name, item["position"]["line"]
            rejections.append(Rejection(file, line, item["code"], item["reason"], item["raw"]))
        return sorted(rejections, key=_by_place)


def canonical_rows(folder: Path | str, digits: int | None = None) -> list[Item]:
    """Returns the canonical tuples of an output folder, with numbers as in `plain`."""
    return plain(decode(read_output(Path(folder))), digits)


def _by_place(rejection: Rejection) -> tuple[str, int]:
    return rejection.file, rejection.line


def _meant(items: list[Item]) -> Iterable[Item]:
    """Returns the written tuples; canonical ones if markers change them."""
    if any("$accent" in item for item in items):
        return plain(decode(items), 9)
    return filter(is_tuple, items)


def _rows(folder: Path) -> list[Item]:
    return sorted(read(str(folder)).rows(), key=lambda row: json.dumps(row, sort_keys=True, default=str))


def save_parquet(frame: DataFrame, path: Path, **options: str) -> Path:
    """A frame as one Parquet file; files are ordered by their names, numbers."""
    aside = path.with_name(f"_{path.name}")
    frame.coalesce(1).write.options(**options).parquet(str(aside))
    path.parent.mkdir(parents=True, exist_ok=True)
    (part,) = aside.glob("*.parquet")
    part.rename(path)
    aside.rmdir()
    os.utime(path, (int(path.stem), int(path.stem)))
    return path


def physical(frame: DataFrame) -> str:
    """The physical plan."""
    java: Any = frame._jdf
    return str(java.queryExecution().executedPlan().toString())


def read_columns(plan: str) -> list[str]:
    """The columns that each scan reads; the row's index is none of the file."""
    schemas = re.findall(r"ReadSchema: struct<([^>]*)>", plan)
    return [schema.replace(",_tmp_metadata_row_index:bigint", "") for schema in schemas]
