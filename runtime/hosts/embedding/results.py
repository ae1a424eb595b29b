"""Results of a query over data that a program gave: a frame for each output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.hosts.embedding.tables import Kind
from cedilla.runtime.tools.reading.outputs import FolderOutput
from cedilla.runtime.tools.reading.reading import InUnits, Reading, read

if TYPE_CHECKING:
    import pandas

    from cedilla.compiler.compile import CompiledQuery


@frozen(eq=False)
class Results(Mapping[str, Any]):
    """The frames of outputs by the names of the emitted relations, in one unit for each attribute.

    `markers`: the accents and punctuations of each output in order, as texts. `rejected`: a pandas DataFrame of the
    tuples that were set aside, with `source`, `code`, `reason`, `place` and `raw`. `warnings`: as `run` prints them.
    `units`: output -> attribute -> the unit that the query gives it; frames of pandas have theirs in `attrs["units"]`.
    """

    frames: Mapping[str, Any]
    markers: Mapping[str, Sequence[str]]
    rejected: pandas.DataFrame
    warnings: tuple[Diagnostic, ...] = field(default=())
    units: Mapping[str, Mapping[str, str]] = field(factory=dict[str, Mapping[str, str]])

    def __getitem__(self, name: str) -> Any:
        return self.frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.frames)

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def frame(self) -> Any:
        """The frame of the only output. Raises `ValueError` if there are several."""
        if len(self.frames) != 1:
            raise ValueError(f"the query has the outputs {', '.join(self.frames)}: name one, results[...]")
        (frame,) = self.frames.values()
        return frame

    def _repr_html_(self) -> str:
        from html import escape

        shown = (
            f"<h4>{escape(self._title(name))}</h4>"
            f"{frame._repr_html_() if hasattr(frame, '_repr_html_') else escape(str(frame))}"
            for name, frame in self.frames.items()
        )
        aside = f"<p>{len(self.rejected)} tuples were rejected</p>" if len(self.rejected) else ""
        return "".join(shown) + aside

    def _title(self, name: str) -> str:
        """Returns the name of an output with the units of its attributes."""
        units = ", ".join(f"{attribute} in {unit}" for attribute, unit in self.units.get(name, {}).items())
        return f"{name}: {units}" if units else name


def results_of(
    compiled: CompiledQuery,
    folders: Mapping[str, str],
    kind: Kind,
    units: InUnits,
    rejected: Sequence[Mapping[str, Any]],
    warnings: Sequence[Diagnostic] = (),
    spark: Any = None,
) -> Results:
    """Reads outputs from folders as frames of a kind. Raises `DiagnosticError` as `read` does."""
    import pandas as pd

    frames: dict[str, Any] = {}
    units_by_name: dict[str, Mapping[str, str]] = {}
    markers: dict[str, tuple[str, ...]] = {}
    for emit in compiled.plan.emits:
        reading = read(folders[emit.name], units, query=compiled)
        frames[emit.name] = frame = _frame(reading, kind, spark)
        # In `latest` units an attribute may have another unit than the query gives it.
        of_emit = {} if units == "latest" else {n: u for n, u in emit.units.items() if n in reading.types}
        units_by_name[emit.name] = of_emit
        if isinstance(frame, pd.DataFrame):
            frame.attrs["units"] = dict(of_emit)
        output = FolderOutput(folders[emit.name]).new(0)
        types = compiled.plan.start[emit.relation].types
        markers[emit.name] = tuple(e.text for e in output(lambda types=types: types) if e.kind is not None)
    columns = ("source", "code", "reason", "place", "raw")
    aside = pd.DataFrame(
        {column: [str(record[column]) for record in rejected] for column in columns}, dtype="object"
    )
    return Results(frames, markers, aside, tuple(warnings), units_by_name)


def _frame(reading: Reading, kind: Kind, spark: Any) -> Any:
    match kind:
        case "spark":
            return reading.spark(spark)
        case "arrow":
            return reading.arrow()
        case "polars":
            import polars

            return polars.from_arrow(reading.arrow())
        case _:
            return reading.pandas()
