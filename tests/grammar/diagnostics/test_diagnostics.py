"""Diagnostics as text and as JSON, and the spans they point with."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, render, to_json
from cedilla.grammar.parser import parse_accent, parse_expression, parse_punctuation, parse_query
from tests.kit import ROOT
from tests.kit.errors import errors_of

QUERIES = sorted((ROOT / "queries").glob("*.rq"))


def test_notes_and_help_follow_the_line() -> None:
    span = Span("q.rq", 7, 12, 2, 3, 2, 8)
    finding = Diagnostic("RQ101", "warning", "something is off", span, ("one", "two"), "three")
    assert render([finding], {"q.rq": "first\n  there it is"}).splitlines() == [
        "warning[RQ101]: something is off",
        " --> q.rq:2:3",
        "  |",
        "2 |   there it is",
        "  |   ^^^^^",
        "  |",
        "  = note: one",
        "  = note: two",
        "  = help: three",
    ]


def test_a_finding_may_have_no_place() -> None:
    assert render([Diagnostic("RQ100", "note", "so it is")], {}) == "note[RQ100]: so it is"


def test_a_missing_text_leaves_the_position() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_accent("[[p]]", "data/0.json:17")
    assert str(caught.value).splitlines()[1] == " --> data/0.json:17:1:4"


def test_json_has_plain_values() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_query("a = b;", "q.rq")
    record = to_json(caught.value.diagnostics[0])
    assert json.loads(json.dumps(record)) == record
    assert record["code"] == "RQ001"
    assert record["span"] == {
        "source": "q.rq", "start": 2, "end": 3, "line": 1, "column": 3, "end_line": 1, "end_column": 4
    }  # fmt: skip


def test_spans_cover_what_was_written() -> None:
    text = "a := select[(x + 1) * 2 > y](b\n  union c);\n"
    definition = parse_query(text).statements[0]
    assert isinstance(definition, syntax.Definition)
    select = definition.relation
    assert isinstance(select, syntax.Select)
    assert isinstance(select.predicate, syntax.Binary)
    sources = [text[node.span.start : node.span.end] for node in (select.predicate.left, select.input)]
    assert sources == ["(x + 1) * 2", "b\n  union c"]
    assert (select.input.span.end_line, select.input.span.end_column) == (2, 10)


def test_nesting_has_a_limit() -> None:
    with pytest.raises(DiagnosticError, match="nested too deeply") as caught:
        parse_query(f"a := select[{'not ' * 5000}x](b);")
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.column > len("a := select[" + "not " * 100)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_the_queries_of_the_project_parse(path: Path) -> None:
    assert parse_query(path.read_text(encoding="utf-8"), str(path)).statements


PIECES = """
stream table set emit from to json punctuated on heartbeat delay in original units select project window W
join union aggregate by except as every and or not alter true a b.c σ ⋈ ∪ − ≀ ∧ ; := = < , . ( ) [ ] { }
[[ ]] + - * -> 1 0.5 10s "x" "x 'y' 11:00 2024-01-01 ? : # @ ∩ distinct left case
"""


@pytest.mark.parametrize("parse", [parse_query, parse_accent, parse_punctuation, parse_expression])
@given(st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=12).map(" ".join) | st.text(max_size=8))
def test_wrong_texts_end_in_diagnostics(parse: Callable[[str, str], syntax.Node], text: str) -> None:
    for diagnostic in errors_of(lambda: parse(text, "t")):
        assert diagnostic.span is not None
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert render([diagnostic], {"t": text}).startswith("error[RQ0")
