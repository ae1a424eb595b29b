"""A query as an object of a program: simulated, run and started with the checks and messages of the commands."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.compile import compiled_query as compiled_of
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.compiler.explain.views import show
from cedilla.compiler.plan import Plan, folders
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render
from cedilla.grammar.diagnostics.printable import for_people
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.set_aside import set_aside_lines
from cedilla.runtime.epochs.options.options import Options, check_names, wrong
from cedilla.runtime.hosts.embedding.frames import StagedData, column_names, kind_of, stage
from cedilla.runtime.hosts.embedding.rewriting import columns_of, rewritten
from cedilla.runtime.hosts.embedding.run_options import active_session, options_of
from cedilla.runtime.hosts.embedding.tables import Kind, check_columns, prepared_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cedilla.runtime.epochs.pipeline.report import EpochReport
    from cedilla.runtime.hosts.embedding.results import Results
    from cedilla.runtime.tools.inspect.status import Status
    from cedilla.runtime.tools.reading.reading import InUnits
    from cedilla.runtime.tools.simulation.inputs import Input


def query(text: str | Path | CompiledQuery, params: Mapping[str, str] | None = None) -> Query:
    """Returns a query. `text`: its path, its text, or the result of `compile_query`. `params`: other values for its
    constants.

    Raises `DiagnosticError` as `compile_query` does.
    """
    compiled = text if isinstance(text, CompiledQuery) else compile_query(text, params=params)
    return Query(compiled)


@frozen(eq=False)
class Query:
    """A compiled query. `plan`, `text` and `warnings` show it; in a notebook it is a picture."""

    compiled: CompiledQuery

    @property
    def plan(self) -> Plan:
        """The plan: sources, operators, outputs."""
        return self.compiled.plan

    @property
    def text(self) -> str:
        """The text of the query."""
        return self.plan.text

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The findings of `cedilla check`."""
        return (*self.compiled.warnings, *findings(self.plan))

    def explain(self, view: str = "plan") -> str:
        """Returns what `cedilla explain` prints. `view`: plan, words, full, evolution, trace or spark."""
        return show(self.compiled, view)

    def simulate(
        self,
        data_of: Mapping[str, Any] | None = None,
        /,
        *,
        options: Options | None = None,
        units: InUnits = "canonical",
        end: bool = False,
        **sources: Any,
    ) -> Results:
        """Runs the reference over data, without an engine: `q.simulate(pumps=rows)`.

        Returns frames of the kind of the first one given, otherwise of pandas.

        `sources`: rows (dictionaries and lines, markers too), a DataFrame or a path by source; others are read where
        the query says. `data_of`: the same as one mapping. `options`: those of a run. `units`: as for `read`. `end`:
        every stream ends after its data. Raises `DiagnosticError` as the command does.
        """
        from cedilla.runtime.hosts.embedding.results import results_of
        from cedilla.runtime.tools.simulation.simulation import simulate

        rejected: list[dict[str, Any]] = []
        warnings: list[Diagnostic] = []

        def reject(line: Input, code: str) -> None:
            position, raw = line.line.place, line.line.text
            rejected.append(
                {"source": line.source, "code": code, "reason": line.reason, "place": position, "raw": raw}
            )

        with tempfile.TemporaryDirectory(prefix="cedilla-") as root:
            data = _Data.of(self.compiled, {**(data_of or {}), **sources}, Path(root), writes_lines=True)
            outputs = data.outputs(options)
            run_options = evolve(data.options(options), sinks=outputs)
            simulate(data.compiled, run_options, reject, warnings.append, end=end)
            for folder in outputs.values():
                Path(folder).mkdir(parents=True, exist_ok=True)
            kind = "pandas" if data.kind == "spark" else data.kind
            return results_of(data.compiled, outputs, kind, units, rejected, warnings)

    def run(
        self,
        *,
        sources: Mapping[str, Any] | None = None,
        spark: SparkSession | None = None,
        units: InUnits = "canonical",
        **options: Any,
    ) -> Results | None:
        """Runs the query as `cedilla run` does.

        With data among `sources`, all of it is processed, and frames are returned, of the kind of the first data.
        Otherwise outputs go where the query says, and `None` is returned at the end.

        `sources`: data or paths, as for `simulate`, in one mapping. `spark`: the session; otherwise that of a given
        DataFrame, the active one, or a new one. `units`: those of the frames, as for `read`. `options`: those of
        `Options`, such as `once=True`. Raises `DiagnosticError` as the command reports it.
        """
        return run(self.compiled, options_of(options), spark=spark, sources=sources, units=units)

    def start(
        self,
        *,
        spark: SparkSession | None = None,
        on_report: Callable[[EpochReport], None] | None = None,
        **options: Any,
    ) -> Run:
        """Starts the query in the background and returns a handle of it.

        `spark`: the session, as for `run`. `on_report`: gets the report of each committed epoch. `options`: those of
        `Options`. Raises `DiagnosticError` for wrong options and places; later errors are raised by the handle.
        """
        from cedilla.runtime.epochs.pipeline.program import prepared

        run_options = options_of(options).of_query(self.compiled.source, self.plan)
        prepared(self.compiled, run_options)
        return Run.begin(self.compiled, run_options, spark or active_session(run_options), on_report)

    def __repr__(self) -> str:
        sources = ", ".join(source.name for source in self.plan.sources)
        return f"<Query {self.plan.name}: {sources} -> {', '.join(emit.name for emit in self.plan.emits)}>"

    def _repr_html_(self) -> str:
        from html import escape

        from cedilla.compiler.explain.picture import svg

        warnings = render(self.warnings, {self.compiled.source: self.text})
        return svg(self.plan) + (f"<pre>{escape(for_people(warnings))}</pre>" if warnings else "")


def run(
    query: str | Path | CompiledQuery,
    options: Options | None = None,
    on_epoch: Any = None,
    spark: SparkSession | None = None,
    on_report: Callable[[EpochReport], None] | None = None,
    *,
    sources: Mapping[str, Any] | None = None,
    units: InUnits = "canonical",
) -> Results | None:
    """Runs a query, and returns what `Query.run` returns.

    `query`: its path, its text, or the result of `compile_query`. `options`: those of a run. `on_epoch`: is called with
    the DataFrame, the markers and the number of every epoch instead of the sink; the query then has one emit. `spark`:
    the session, as for `Query.run`. `on_report`: is called with the report of each committed epoch. `sources`, `units`:
    as for `Query.run`. Raises `DiagnosticError` for whatever ends the run.
    """
    from cedilla.runtime.epochs.pipeline import program

    compiled, _ = compiled_of(query)
    options = options or Options()
    data_of = {n: data for n, data in (sources or {}).items() if kind_of(data, n) != "path"}
    paths = {name: path for name, path in (sources or {}).items() if name not in data_of}
    options = evolve(options, sources={**options.sources, **paths}).of_query(compiled.source, compiled.plan)
    if not data_of:
        program.run(compiled, options, on_epoch, spark or active_session(options), on_report)
        return None
    if options.checkpoint is not None or on_epoch is not None:
        what = "`checkpoint`" if on_epoch is None else "`on_epoch`"
        raise wrong(
            f"{what} is for a run that continues, and one over data is complete",
            "`foreach_batch` runs a query over one batch after the other",
        )
    return _run_over(compiled, data_of, options, spark, on_report, units)


def _run_over(
    compiled: CompiledQuery,
    sources: Mapping[str, Any],
    options: Options,
    spark: SparkSession | None,
    on_report: Callable[[EpochReport], None] | None,
    units: InUnits,
) -> Results:
    from cedilla.runtime.epochs.pipeline import program
    from cedilla.runtime.hosts.embedding.results import results_of

    root = Path(tempfile.mkdtemp(prefix="cedilla-"))
    warnings: list[Diagnostic] = []
    is_lazy = False

    def report(epoch: EpochReport) -> None:
        warnings.extend(epoch.warnings)
        if on_report is not None:
            on_report(epoch)

    try:
        data = _Data.of(compiled, sources, root)
        is_lazy = data.kind == "spark"
        spark = spark or data.session or active_session(options)
        outputs = data.outputs(options)
        checkpoint = root / "checkpoint"
        chosen = evolve(data.options(options), once=True, checkpoint=checkpoint, sinks=outputs)
        program.run(data.compiled, chosen, spark=spark, on_report=report, is_watched=False)
        for folder in outputs.values():
            Path(folder).mkdir(parents=True, exist_ok=True)
        return results_of(data.compiled, outputs, data.kind, units, _quarantined(checkpoint), warnings, spark)
    finally:
        if is_lazy:  # a DataFrame of Spark reads the files whenever it is used
            atexit.register(shutil.rmtree, root, ignore_errors=True)
        else:
            shutil.rmtree(root, ignore_errors=True)


def _quarantined(checkpoint: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for file in sorted((checkpoint / "quarantine").glob("*/*.jsonl")):
        for line in set_aside_lines(Files(), str(file)):
            position = {"file": line.file, "line": line.line}
            record = {"code": line.code, "reason": line.reason, "position": position, "raw": line.raw}
            records.append({**record, "source": file.parent.name, "place": f"{line.file}:{line.line}"})
    return records


@frozen
class _Data:
    """Data of sources in files, the query that reads these, and the kind of frames that its results have."""

    compiled: CompiledQuery
    root: Path
    paths: Mapping[str, Any]
    kind: Kind
    session: Any = None

    @classmethod
    def of(
        cls, compiled: CompiledQuery, sources: Mapping[str, Any], root: Path, *, writes_lines: bool = False
    ) -> _Data:
        """Writes data into files. `writes_lines`: outputs are JSON Lines, also of frames of Spark."""
        plan = compiled.plan
        check_names("sources", sources, [*(name for name, *_ in folders(plan)), *plan.source_of])
        kinds: dict[str, Kind] = {name: kind_of(data, name) for name, data in sources.items()}
        staged: dict[str, StagedData] = {}
        for name, data in sources.items():
            if kinds[name] == "path":
                continue
            if name not in plan.source_of:
                raise wrong(f"sources: `{name}` is a folder of markers", "its path")
            frame = prepared_frame(data, kinds[name])
            source = plan.source_of[name]
            renamed = columns_of(source, column_names(frame, kinds[name]))
            is_spark = kinds[name] == "spark"
            if is_spark:
                check_columns(frame, source, renamed)
            has_lists = any(attribute.type.element is not None for attribute in source.attributes)
            # Parquet is read without lists, and without zones.
            lines = (has_lists or bool(source.zones)) and not is_spark
            home = root / "in" / name
            staged[name] = stage(frame, kinds[name], home, renamed, as_lines=lines, zoned=source.zones)
        sinks = {emit.name: str(root / "out" / emit.name) for emit in plan.emits}
        kind: Kind = next(
            (data_kind for data_kind in kinds.values() if data_kind not in ("path", "rows")), "pandas"
        )  # type: ignore[assignment]
        session = next((sources[n].sparkSession for n, k in kinds.items() if k == "spark"), None)
        of_paths = {name: data for name, data in sources.items() if kinds[name] == "path"}
        sink_format = "parquet" if kind == "spark" and not writes_lines else "json"
        return cls(rewritten(compiled, staged, sinks, sink_format), root, of_paths, kind, session)

    def outputs(self, options: Options | None) -> dict[str, str]:
        """Returns the folder of each output."""
        sinks = {} if options is None else options.of_query("", self.compiled.plan).sinks
        return {emit.name: sinks.get(emit.name, emit.path) for emit in self.compiled.plan.emits}

    def options(self, options: Options | None) -> Options:
        """Returns options with the paths of data, and the permission to read it."""
        options = (options or Options()).of_query(self.compiled.source, self.compiled.plan)
        allowed = (*options.allow_paths, str(self.root))
        return evolve(options, sources={**options.sources, **self.paths}, allow_paths=allowed)


@frozen(eq=False)
class Run:
    """A query that runs in the background."""

    checkpoint: str
    _thread: threading.Thread
    _ended: threading.Event
    _state: dict[str, Any] = field(factory=dict[str, Any])

    @classmethod
    def begin(
        cls,
        compiled: CompiledQuery,
        options: Options,
        spark: SparkSession | None,
        on_report: Callable[[EpochReport], None] | None,
    ) -> Run:
        """Starts the thread of a run."""
        from cedilla.runtime.epochs.options.places import default_checkpoint
        from cedilla.runtime.epochs.pipeline import program

        ended, state = threading.Event(), dict[str, Any]()

        def report(epoch: EpochReport) -> None:
            state["last"] = epoch
            if on_report is not None:
                on_report(epoch)

        def work() -> None:
            try:
                program.run(compiled, options, spark=spark, on_report=report, ended=ended.is_set)
            except KeyboardInterrupt:
                pass  # `stop` was called, and the epoch is committed
            except BaseException as problem:  # raised in the thread of the caller
                state["problem"] = problem

        thread = threading.Thread(target=work, name=f"cedilla {compiled.plan.name}", daemon=True)
        thread.start()
        return cls(options.checkpoint or default_checkpoint(compiled.plan), thread, ended, state)

    @property
    def is_active(self) -> bool:
        """True while the query runs."""
        return self._thread.is_alive()

    @property
    def last(self) -> EpochReport | None:
        """The report of the last epoch that this run has committed."""
        return self._state.get("last")

    @property
    def exception(self) -> BaseException | None:
        """The error that ended the run."""
        return self._state.get("problem")

    def status(self) -> Status:
        """Returns what `cedilla status` shows. Raises `DiagnosticError` RQ411 before the first epoch."""
        from cedilla.runtime.tools.inspect.status import read_status

        return read_status(self.checkpoint)

    def stop(self, timeout: float | None = None) -> None:
        """Ends the run after its epoch, and waits. `timeout`: the seconds of the longest wait. Raises the error that
        ended it, and `TimeoutError`."""
        self._ended.set()
        if not self.await_termination(timeout):
            raise TimeoutError("the epoch of the query takes longer; the query stops after it")

    def await_termination(self, timeout: float | None = None) -> bool:
        """Waits for the end of the run, and returns True once it has ended. `timeout`: as for `stop`. Raises the error
        that ended it."""
        self._thread.join(timeout)
        if (problem := self.exception) is not None:
            raise problem
        return not self.is_active

    def __repr__(self) -> str:
        after = "no epoch yet" if self.last is None else f"epoch {self.last.number}"
        state = "runs" if self.is_active else "failed" if self.exception else "stopped"
        return f"<Run {state}, {after}, checkpoint {self.checkpoint}>"


__all__ = ["DiagnosticError", "Query", "Run", "query", "run"]
