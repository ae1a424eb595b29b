"""Writes the page of formats and what each can do.

The compiler and the tools are asked: a sample is written in every format, and a cell is what came of it. Topics are on
a mock broker of librdkafka, which needs no Java and cannot serve a run. What a run does follows from the kind of place.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from io import BytesIO
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, assert_never

import pyarrow as pa
from attrs import frozen
from confluent_kafka import Producer
from pyarrow import parquet

from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan.formats import FORMATS, FormatKind
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.tools.inspect.newest_rows import newest_rows
from cedilla.runtime.tools.inspect.replay import takes_again
from tests.docs.markdown import table
from tests.kit.command import cedilla
from tests.kit.foreign_files import SUFFIXES, WRITERS
from tests.kit.iceberg_tables import IcebergTable

_SECONDS = 30.0
_PROGRESS = {"folder": "names and sizes of files", "table": "the version of the table", "topic": "offsets"}
"""Kind of place -> what a commit keeps about a source."""
_ONCE = {
    "folder": "an epoch is a folder, renamed into place",
    "table": "an epoch is a version, with its number",
    "topic": "an epoch is a transaction",
}
"""Kind of place -> how each tuple of an output is written once."""
_FIELDS = {
    "name": "fields of their names",
    "columns": "columns of any name",
    "objects": "paths in objects",
    "points": "data points and their attributes",
}
_REFUSED = re.compile(r"^error\[(RQ\d{3})\]", re.MULTILINE)


@frozen
class Sample:
    """A stream in a format: its path, that of one with an accent among its tuples, and its attributes."""

    format: str
    path: str
    marked: str
    attributes: str

    def query(self, *, kind: str = "stream", after: str = "", to: str = 'json "out"', path: str = "") -> str:
        """Returns a query that reads the sample and writes it."""
        return (
            f'{kind} r({self.attributes}) from {self.format} "{path or self.path}"{after};\nemit r to {to};\n'
        )


def formats() -> str:
    with _samples() as samples:
        rows = [(title, *(cell(samples[name]) for name in FORMATS)) for title, cell in _CELLS.items()]
    return (
        "# Formats\n\nEach row was tried with a stream in each format when this page was written. A code is that of a "
        "refusal: `cedilla docs RQ113` says what to do instead. "
        "[Sources and outputs](../sources-and-outputs.md), [Kafka](../kafka.md) and [OpenTelemetry](../otlp.md) "
        "describe the formats.\n\n" + table(("", *(f"`{name}`" for name in FORMATS)), rows)
    )


# --- samples ---


def _delta(name: str, rows: pa.Table) -> str:
    import deltalake

    deltalake.write_deltalake(name, rows)
    return name


def _iceberg(name: str, rows: pa.Table) -> str:
    table = IcebergTable(Path.cwd() / name)
    table.create(rows.schema)
    table.table.append(rows)
    return str(table.path.relative_to(Path.cwd()))


TABLES = {"delta": _delta, "iceberg": _iceberg}
"""Writers of tables, which return their paths."""


@contextmanager
def _samples() -> Iterator[Mapping[str, Sample]]:
    """Gives a stream in each format, in a folder that is the working directory."""
    with tempfile.TemporaryDirectory() as root, chdir(root), _broker() as send:
        yield {name: _sample(kind, send) for name, kind in FORMATS.items()}


def _sample(kind: FormatKind, send: Callable[[str, bytes], str]) -> Sample:
    attributes, altered = "n: long, v?: string, x?: double", "x"
    if kind.has_requests:
        attributes, altered = 'metric: string, value: double, v?: string from attribute "v"', "value"
    marker = f"[[alter({altered}, y -> y * 2)]]"
    path = _at(kind, f"{kind.name}0", _content(kind, None), send)
    return Sample(kind.name, path, _at(kind, f"{kind.name}1", _content(kind, marker), send), attributes)


def _at(kind: FormatKind, name: str, content: bytes, send: Callable[[str, bytes], str]) -> str:
    """Writes content into a new place of a format, and returns its path."""
    match kind.place:
        case "topic":
            return send(name, content)
        case "table":
            return TABLES[kind.name](name, parquet.read_table(BytesIO(content)))
        case "folder":
            Path(name).mkdir()
            Path(name, f"a.{SUFFIXES[kind.name]}").write_bytes(content)
        case _:
            assert_never(kind.place)
    return name


def _content(kind: FormatKind, marker: str | None) -> bytes:
    """Returns tuples, and after them an accent in the form that a writer of the format would give it."""
    if kind.columnar:
        rows = {"n": [1, 2], "v": ["a", "b"], "x": [0.5, 1.5]}
        buffer = BytesIO()
        if marker is not None:
            rows = {
                **{name: [*values, None] for name, values in rows.items()},
                "$accent": [None, None, marker],
            }
        parquet.write_table(pa.table(rows), buffer)
        return buffer.getvalue()
    content = WRITERS[kind.in_files](Random(0))
    if marker is None:
        return content
    if kind.has_columns:
        head, *lines = content.decode().splitlines()
        return "\n".join(
            [f"{head},$accent", *(f"{line}," for line in lines), f'9,a9,9.0,"{marker}"', ""]
        ).encode()
    if kind.in_files == "xml":
        return content + f"<accent:r>{marker.replace('>', '&gt;')}</accent:r>\n".encode()
    return content + json.dumps({"$accent": marker}).encode() + b"\n"


@contextmanager
def _broker() -> Iterator[Callable[[str, bytes], str]]:
    """Gives a function that makes a topic of lines and returns its address."""
    producer = Producer({"bootstrap.servers": "-", "test.mock.num.brokers": 1, "log_level": 0})
    (server,) = producer.list_topics(timeout=_SECONDS).brokers.values()

    def send(name: str, content: bytes) -> str:
        for line in content.splitlines():
            producer.produce(name, line, partition=0)
            if b'"$accent"' in line:  # a marker is for the tuples of its partition
                partitions = producer.list_topics(name, timeout=_SECONDS).topics[name].partitions
                for partition in sorted(partitions)[1:]:
                    producer.produce(name, line, partition=partition)
        producer.flush(_SECONDS)
        return f"{server.host}:{server.port}/{name}"

    yield send


# --- cells ---


def _compiled(query: str) -> str:
    try:
        compile_query(query)
    except DiagnosticError as error:
        return error.diagnostics[0].code
    return "yes"


def _told(*command: str) -> str:
    """Returns what came of a command: yes, or the code that refused it."""
    return next(iter(_REFUSED.findall(cedilla(*command).output)), "yes")


def _written(sample: Sample) -> str:
    return _compiled(sample.query(to=f'{sample.format} "{_out(sample)}"'))


def _out(sample: Sample) -> str:
    """Returns the place of an output in the format of a sample."""
    kind = FORMATS[sample.format]
    return "lake:db.out" if kind.by_catalog else sample.path if kind.is_topic else "out"


def _updated(sample: Sample) -> str:
    if (code := _written(sample)) != "yes":
        return code
    path = sample.path if FORMATS[sample.format].is_topic else "out"
    query = sample.query(to=f'{sample.format} "{path}"')
    return _compiled(query.replace("emit r", "emit aggregate[count() as c by n](r) as latest by n"))


def _markers_among(sample: Sample) -> str:
    return "yes" if '"$accent"' in _simulated(sample, sample.marked) else "no"


def _simulated(sample: Sample, path: str = "") -> str:
    Path("q.rq").write_text(sample.query(path=path), "utf-8")
    return cedilla("simulate", "q.rq").output


def _tool(name: str) -> Callable[[Sample], str]:
    """Returns a cell about a command on a stream: it has a whole one, or only a partition of a topic."""

    def cell(sample: Sample) -> str:
        Path("q.rq").write_text(sample.query(), "utf-8")
        options = ("--query", "q.rq", "--source", "r")
        whole = _told(name, sample.path, *options)
        if whole != "yes" and FORMATS[sample.format].is_topic:
            return "a partition" if _told(name, f"{sample.path}/0", *options) == "yes" else whole
        return whole

    return cell


def _accent(sample: Sample) -> str:
    Path("q.rq").write_text(sample.query(), "utf-8")
    result = _told("accent", sample.path, "[[-(v)]]", "--query", "q.rq", "--source", "r")
    return "no" if result == "yes" and '"$accent"' not in _simulated(sample) else result


def _read(sample: Sample) -> str:
    if FORMATS[sample.format].not_written:
        return ""
    Path("q.rq").write_text(sample.query(), "utf-8")
    return _told("read", sample.path, "--query", "q.rq")


def _replayed(sample: Sample) -> str:
    source = compile_query(sample.query()).plan.sources[0]
    return "yes" if takes_again(source, "RQ301") else "RQ496"


def _rows_of_page(sample: Sample) -> str:
    if FORMATS[sample.format].not_written:
        return ""
    plan = compile_query(sample.query(to=f'{sample.format} "{_out(sample)}"')).plan
    folder: Any = SimpleNamespace(stored=SimpleNamespace(plan=plan), commit=None)
    try:
        newest_rows(folder, "r", "as written")
    except DiagnosticError as error:
        return error.diagnostics[0].code
    return "yes"


_CELLS: Mapping[str, Callable[[Sample], str]] = {
    "a path is": lambda s: f"a {FORMATS[s.format].place}",
    "attributes are read from": lambda s: _FIELDS.get(FORMATS[s.format].fields, FORMATS[s.format].fields),
    "`stream ... from`": lambda s: _compiled(s.query()),
    "`table ... from`": lambda s: _compiled(s.query(kind="table")),
    "`emit ... to`": _written,
    "`emit ... as latest by`": _updated,
    "markers among tuples": _markers_among,
    "a marker folder, `markers`": lambda s: _compiled(s.query(after=' markers "ops"')),
    "`ordered by name`": lambda s: _compiled(s.query(after=" ordered by name")),
    '`none {"NA"}`': lambda s: _compiled(s.query(after=' none {"NA"}')),
    '`decimal ","`, and times of a `zone`': lambda s: "yes" if FORMATS[s.format].texts else "no",
    "`cedilla run` keeps in its commits": lambda s: _PROGRESS[FORMATS[s.format].place],
    "each result once, because": lambda s: _ONCE[FORMATS[s.format].place] if _written(s) == "yes" else "",
    "`cedilla simulate`": lambda s: next(iter(_REFUSED.findall(_simulated(s))), "yes"),
    "`cedilla validate`": _tool("validate"),
    "`cedilla canonize`": _tool("canonize"),
    "`cedilla suspect`": _tool("suspect"),
    "`cedilla init --from`": lambda s: _told("init", f"init-{s.format}", "--from", s.path),
    "`cedilla read` of an output": _read,
    "`cedilla replay`": _replayed,
    "rows of an output on the live page": _rows_of_page,
    "`cedilla accent` writes markers into it": _accent,  # last, as it changes the samples
}
"""Ability -> its cell."""
