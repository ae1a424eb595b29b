"""The guide to a new format is true: each format there is has all that it names."""

from __future__ import annotations

import re

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.plan.formats import FORMATS, SINKS
from cedilla.grammar.hints import forms, synonyms
from cedilla.runtime.connectors.formats import source_formats
from cedilla.runtime.connectors.formats.sinks.formats import SINKS as FOLDER_SINKS
from cedilla.runtime.connectors.formats.sinks.formats import TABLE_SINKS
from cedilla.runtime.connectors.formats.sinks.sink import FolderSink
from cedilla.runtime.connectors.formats.source import Format
from tests.kit import ROOT
from tests.kit.errors import error_of
from tests.kit.foreign_files import WRITERS

PAGE = (ROOT / "docs" / "adding-a-format.md").read_text(encoding="utf-8")
PATHS = {"topic": "host:9092/x"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_reader(name: str) -> None:
    """Of its own package; a source of it compiles, and is read by it."""
    kind = FORMATS[name]
    declared = "value: double" if kind.has_requests else "a?: int"
    text = f'stream r({declared}) from {name} "{PATHS.get(kind.place, "x")}"; emit r to json "out";'
    plan = compile_query(text).plan
    reader = source_formats.format_of(plan, plan.sources[0])
    assert isinstance(reader, Format)
    assert reader.columnar == kind.columnar
    assert source_formats.READERS.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_sink_or_says_why_not(name: str) -> None:
    kind = FORMATS[name]
    path = "lake:db.out" if kind.by_catalog else PATHS.get(kind.place, "out")
    text = f'stream r(a: int) from json "x"; emit r to {name} "{path}";'
    if kind.not_written:
        assert error_of(lambda: compile_query(text)).help == kind.not_written
    elif kind.place == "folder":
        sink = FOLDER_SINKS[name]
        assert issubclass(sink, FolderSink)
        assert FORMATS[name].in_files == name
    else:
        assert compile_query(text).plan.emits[0].is_topic == kind.is_topic
        assert kind.is_topic or issubclass(TABLE_SINKS[name], FolderSink)
    assert set(FOLDER_SINKS) == {n for n in SINKS if FORMATS[n].place == "folder"}


def test_records_of_a_topic_are_those_of_a_format_of_files() -> None:
    for kind in FORMATS.values():
        assert FORMATS[kind.in_files].place != "topic"
        assert FORMATS[kind.in_files].fields == kind.fields


def test_hints_know_every_format() -> None:
    assert FORMATS.keys() == forms.FORMATS
    assert set(synonyms.FORMATS.values()) <= forms.FORMATS
    assert not synonyms.NO_FORMATS.keys() & forms.FORMATS


def test_every_format_of_files_is_damaged_by_the_tests_of_foreign_bytes() -> None:
    assert WRITERS.keys() == {name for name, kind in FORMATS.items() if kind.place == "folder"}


def test_files_and_names_that_the_page_gives_exist() -> None:
    paths = re.findall(r"`((?:grammar|compiler|runtime|tests|docs)/[^`*\s]+)`", PAGE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
    for name, file in re.findall(r"`(\w+)` (?:of|in) `([a-z/_]+\.py)`", PAGE):
        assert re.search(rf"(?<!\w){name}(?!\w)", (ROOT / file).read_text(encoding="utf-8")), name
