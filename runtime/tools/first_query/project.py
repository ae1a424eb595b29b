"""Writes the files of a project over data that is there: a query, and a test with some of its rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from cedilla.compiler.expressions.types import STRING
from cedilla.compiler.plan.formats import FORMATS
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.lines import Line, files_of, opened
from cedilla.runtime.connectors.records.path_keys import NO_VALUE
from cedilla.runtime.connectors.topics.topic_lines import place_of
from cedilla.runtime.tools.first_query.declared import Declared
from cedilla.runtime.tools.first_query.queries import FirstQuery, first_query
from cedilla.runtime.tools.first_query.samples import Sample, sample_of
from cedilla.runtime.tools.query_tests.cases import failures
from cedilla.runtime.tools.query_tests.pages import accept, cases

_FENCE = "```"
"""Ends a block of a page."""
_ROWS = 4
"""The number of rows at the beginning of a sample that the test has."""


def create_from(folder: Path, sources: Sequence[str]) -> tuple[list[Path], FirstQuery]:
    """Writes a query over some paths, and a test of it; returns the files and the query.

    Raises `DiagnosticError`: RQ455 if a file exists, RQ410 and RQ468 for paths without data, and as readers do.
    """
    samples = [sample_of(source) for source in sources]
    query = first_query(samples, [_path_from(folder, sample) for sample in samples])
    name = query.streams[0].name
    at, page = folder / f"{name}.rq", folder / "tests" / f"test_{name}.md"
    for path in (at, page):
        if path.exists():
            raise failure(
                "RQ455", f"{path} exists already", hint="another folder: `cedilla init FOLDER --from PATH`"
            )
    page.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(query.text, "utf-8")
    page.write_text(_page(query, f"../{at.name}"), "utf-8")
    for case in cases(page):
        for difference in failures(case):
            if difference.error is None:
                accept(case, difference.block, difference.items)
    return [at, page], query


def _path_from(folder: Path, sample: Sample) -> str:
    """Returns a path as a query in a folder names it, which is run there."""
    if FORMATS[sample.format].is_topic and place_of(sample.path) is not None:
        return sample.path
    return Path(os.path.relpath(sample.path, folder)).as_posix()


def _page(query: FirstQuery, at: str) -> str:
    """Returns the page of a test, with outputs that `accept` fills in."""
    own = all(map(_is_own, query.streams))
    text = query.text
    for stream in query.streams if not own else ():
        kind = FORMATS[stream.sample.format]
        format_ = "parquet" if kind.is_table else kind.in_files
        old = f"  from {stream.sample.format} "
        text = text.replace(f"{old}{STRING.wire(stream.path)}", f'  from {format_} "data/{stream.name}"')
    shown = f"```rq {at}\n```" if own else f"```rq\n{text}```"
    parts = [
        f"# A test of {at.rpartition('/')[2]}",
        "\n`cedilla test` runs this page; `--accept` writes what the query gives.\n",
        shown,
    ]
    parts.append("\n## Some rows of the data\n")
    parts += [block for stream in query.streams for block in _files(stream, own=own)]
    parts += [f"```json {emit.name}\n```\n" for emit in query.compiled.plan.emits]
    return "\n".join(parts)


def _is_own(stream: Declared) -> bool:
    """Returns True for a stream whose files a page can write at the path that the query names."""
    is_plain = ".." not in Path(stream.path).parts and not any(sign.isspace() for sign in stream.path)
    return is_plain and FORMATS[stream.sample.format].place == "folder"


def _files(stream: Declared, *, own: bool) -> Iterator[str]:
    """Yields a block with some rows of a stream, or one for each folder with keys in its name."""
    format_ = stream.sample.format
    kind = format_ if format_ in ("csv", "xml") else "json"
    suffix = {"csv": "csv", "xml": "xml", "parquet": "parquet", "delta": "parquet"}.get(format_, "jsonl")
    folder = stream.path.strip("/") if own else f"data/{stream.name}"
    is_file = own and Path(stream.sample.path).is_file()
    for number, (inner, lines) in enumerate(groupby(_lines(stream), lambda line: _folder(line.keys)), 1):
        name = folder if is_file else f"{folder}/{inner}{number}.{suffix}"
        header = [_header(stream.sample)] if format_ == "csv" else []
        text = "\n".join([f"```{kind} {name}", *header, *(line.text for line in lines), "```\n"])
        yield text


def _folder(keys: Mapping[str, str | None]) -> str:
    """Returns the folders of a file with keys in their names."""
    texts = {key: NO_VALUE if text is None else quote(text, safe="") for key, text in keys.items()}
    return "".join(f"{quote(key, safe='')}={text}/" for key, text in texts.items())


def _lines(stream: Declared) -> list[Line]:
    """Returns the first rows of a sample, and the latest one, whose time closes the windows of the others."""
    usable = (line for line in stream.sample.lines if not line.fault and line.is_utf8)
    lines = [line for line in usable if _FENCE not in line.text]
    return [*lines[:_ROWS], *lines[_ROWS:][-1:]]


def _header(sample: Sample) -> str:
    """Returns the first line of the first file of CSV."""
    file = next(file for file in files_of(sample.path) if file.stat().st_size)
    with opened(file) as stream:
        return stream.readline().decode("utf-8-sig", "replace").strip("\r\n")
