"""Runs a section of a page by the reference, and compares what comes out with what the page expects."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import define, field, frozen

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Plan, folders
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.json_objects import json_text, number_of
from cedilla.runtime.connectors.records.typed_files import parquet_of
from cedilla.runtime.engines.plain.output import Output
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.query_tests.pages import QUARANTINE, Block, Case
from cedilla.runtime.tools.simulation.inputs import Input
from cedilla.runtime.tools.simulation.simulation import replay

Item = dict[str, Any]


@frozen
class Failure:
    """An expected block that the query does not give: the lines or the code that it gives instead."""

    case: Case
    block: Block
    items: tuple[Item, ...] = ()
    error: str | None = None

    def text(self) -> str:
        """Returns the difference for people."""
        name = self.block.name or self.block.kind
        head = f"{self.case.page}: {self.case.title}: `{name}` differs"
        if self.error is not None:
            return f"{head}\n{self.error}"
        old, new = (_lines(items) for items in (_expected(self.block), self.items))
        return "\n".join([head, *difflib.unified_diff(old, new, "expected", "the query gives", lineterm="")])


def failures(case: Case) -> Iterator[Failure]:
    """Yields the expected blocks of a section that the query does not give.

    Each runs the query over all files before it, in their order. A folder without such files is the project's own, if
    there is one; else it is empty.
    """
    with TemporaryDirectory() as folder:
        run = _Run(case, Path(folder))
        for block in case.blocks():
            if block.kind == "rq":
                run.query = block
            elif block.is_input:
                run.write(block)
            elif block.is_expected and (failure := run.compared(block)) is not None:
                yield failure


@define
class _Run:
    case: Case
    folder: Path
    query: Block | None = None
    files: int = 0
    outputs: dict[str, list[Item]] = field(factory=dict[str, list[Item]])
    rejected: list[Item] = field(factory=list[Item])

    def write(self, block: Block) -> None:
        """Writes a file of a source, younger than those before it."""
        path = self.folder / block.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if block.kind == "json" and path.suffix == ".parquet":
            path.write_bytes(parquet_of(block.text.split("\n"), self._types(block.name)))
        else:
            path.write_text(block.text, "utf-8")
        self.files += 1
        os.utime(path, (self.files, self.files))

    def _types(self, name: str) -> Mapping[str, Type]:
        """Returns the types of the attributes that the query reads from a file; none of a query with an error, which
        the expected block reports."""
        try:
            plan = self._compiled().plan
        except DiagnosticError:
            return {}
        paths = ((node.partition(".")[0], path) for node, path, _ in folders(plan))
        of = (plan.source_of[node] for node, path in paths if name.startswith(f"{path.strip('/')}/"))
        return {attribute.name: attribute.type for source in of for attribute in source.attributes}

    def compared(self, block: Block) -> Failure | None:
        """Returns how a block differs from what the query gives now."""
        self.outputs, self.rejected = {}, []
        try:
            self._simulate()
        except DiagnosticError as error:
            code = error.diagnostics[0].code
            if block.kind == "error" and block.text.strip() == code:
                return None
            return Failure(self.case, block, error=str(error))
        if block.kind == "error":
            return Failure(self.case, block, error=f"the query does not end by {block.text.strip()}")
        items = self.rejected if block.name == QUARANTINE else self.outputs.get(block.name)
        if items is None:
            names = ", ".join(self.outputs)
            return Failure(self.case, block, error=f"the query has no output `{block.name}`; it has {names}")
        same = _in_parts(items) == _in_parts(_expected(block))
        return None if same else Failure(self.case, block, tuple(items))

    def _simulate(self) -> None:
        compiled = self._compiled()
        self.outputs = {emit.name: [] for emit in compiled.plan.emits}

        def step(outputs: dict[str, Output]) -> None:
            for name, output in outputs.items():
                self.outputs[name] += output.items()

        def reject(line: Input, code: str) -> None:
            self.rejected.append({"code": code, "raw": line.line.text})

        options = Options(sources=self._folders(compiled.plan))
        replay(compiled.plan, options, reject, step)

    def _compiled(self) -> CompiledQuery:
        query = self.query
        if query is None or not query.name:
            return compile_query("" if query is None else query.text, str(self.case.page))
        return compile_query(self.case.page.parent / query.name)

    def _folders(self, plan: Plan) -> dict[str, str]:
        """Returns the folder of each source: that of its files in the page, or the project's own."""
        paths: dict[str, str] = {}
        for name, path, _ in folders(plan):
            folder = self.folder / path.lstrip("/")
            if not folder.exists() and Path(path).exists():
                folder = Path(path)
            if not folder.exists():
                folder.mkdir(parents=True)
            paths[name] = str(folder)
        return paths


def _expected(block: Block) -> list[Item]:
    return block.items() if block.kind == "json" else []


def _lines(items: Sequence[Item]) -> list[str]:
    return [json_text(item) for item in items]


def _in_parts(items: Sequence[Item]) -> list[list[str]]:
    """Returns the lines between markers in no order, because tuples between two markers have none."""
    parts: list[list[str]] = []
    for marked, part in groupby(items, lambda item: "$accent" in item or "$punctuation" in item):
        lines = [_comparable(item) for item in part]
        parts.append(lines if marked else sorted(lines))
    return parts


def _comparable(item: Item) -> str:
    """Returns a line as a text that is the same for equal values, with all digits of decimals."""
    plain = json.loads(json_text(item), parse_float=number_of)
    return json.dumps(plain, sort_keys=True, default=lambda number: repr(number.normalize(_ALL_DIGITS)))


_ALL_DIGITS = Context(prec=100)
