"""The lists of formats agree: of the language, of its hints, of what reads them and of what writes them."""

from __future__ import annotations

from cedilla.compiler.plan import formats
from cedilla.grammar.hints import forms
from cedilla.runtime.formats import source_formats
from cedilla.runtime.formats.sinks.formats import SINKS


def test_the_formats_of_the_language_can_be_read_and_written() -> None:
    assert {*SINKS, "kafka", "delta"} == set(formats.SINKS)
    assert set(source_formats.FORMATS) == set(formats.SOURCES)


def test_hints_know_the_formats() -> None:
    assert {*formats.SOURCES, *formats.SINKS} == forms.FORMATS
