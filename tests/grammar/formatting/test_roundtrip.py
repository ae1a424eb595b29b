"""Law: formatting a query and parsing it again gives the same query."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.grammar import syntax
from cedilla.grammar.formatting import formatter
from cedilla.grammar.formatting.expression_formatter import (
    format_accent,
    format_punctuation,
)
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_accent, parse_punctuation, parse_query
from tests.grammar.formatting.random_queries import (
    ACCENTS,
    CONDITIONS,
    QUERIES,
    commented,
    make,
    noted,
    several,
)
from tests.kit import ROOT

SHIPPED = ROOT / "queries"


def check_roundtrip(query: syntax.Query) -> None:
    text = format_query(query)
    again = parse_query(text)
    assert again == query
    assert format_query(again, text) == text


@given(QUERIES)
def test_queries(query: syntax.Query) -> None:
    check_roundtrip(query)


def test_the_case_of_a_functions_name_does_not_matter() -> None:
    upper, lower = (f'emit aggregate[{name}(t) as m by s](r) to json "out";' for name in ("AVG", "avg"))
    assert parse_query(upper) == parse_query(lower)
    assert format_query(parse_query(upper)) == format_query(parse_query(lower))


@given(QUERIES)
def test_queries_over_many_lines(query: syntax.Query) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatter, "_WIDTH", 20)
        check_roundtrip(query)


@given(ACCENTS)
def test_accents(accent: syntax.AccentText) -> None:
    assert parse_accent(format_accent(accent)) == accent


@given(make(syntax.PunctuationText, several(CONDITIONS, 0)))
def test_punctuations(punctuation: syntax.PunctuationText) -> None:
    assert parse_punctuation(format_punctuation(punctuation)) == punctuation


# --- comments ---


@given(QUERIES, st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=6))
def test_comments_stay_where_they_stand(query: syntax.Query, choices: list[tuple[int, bool]]) -> None:
    """Behind the same token, in the same order; and what is laid out stays as it is."""
    text = commented(format_query(query), choices)
    laid_out = format_query(parse_query(text), text)
    assert noted(laid_out) == noted(text)
    assert parse_query(laid_out) == query
    assert format_query(parse_query(laid_out), laid_out) == laid_out


def test_comments_of_a_text_that_is_written_otherwise() -> None:
    """Greek letters, needless parentheses, several comments in one place: the nearest token that is left has them."""
    text = """\
# head
stream s(ts: long,  # time
  # the sensor
  k: int in {1, 2}, t: double) # end of attributes
  from json "a # no comment"  # where
  punctuated on ts  # promise
  ;  # done
x := σ[t > 1 # hot
  ∧ k = 2](s);

emit γ[avg(t) as m, # mean
   count() as n by k](
   # the input
   ((x)) # hot ones
   # last
   ) to json "out" # closed
   ; # semicolon
"""
    expected = """\
# head
stream s(ts: long,  # time
         # the sensor
         k: int in {1, 2},
         t: double)  # end of attributes
  from json "a # no comment"  # where
  punctuated on ts;  # promise
# done
x := select[
  t > 1  # hot
  and k = 2
](
  s
);

emit aggregate[
  avg(t) as m,  # mean
  count() as n
  by k
](
  # the input
  x  # hot ones
# last
) to json "out";  # closed
# semicolon
"""
    assert format_query(parse_query(text), text) == expected
    assert format_query(parse_query(expected), expected) == expected


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.rq")), ids=lambda path: path.stem)
def test_every_shipped_query_is_laid_out(path: Path) -> None:
    """As `cedilla fmt --check` says."""
    text = path.read_text("utf-8")
    assert format_query(parse_query(text), text) == text


def test_a_constant_with_a_unit_stays_a_name() -> None:
    text = """\
let len = 5 minutes;
let n = 10;
stream r(at: timestamp)
  from json "r"
  heartbeat at delay len;
emit window[n minutes every len on at as w](r) to json "a";
emit session[len on at as s](r) to json "b";
"""
    assert format_query(parse_query(text, keep_names=True), text) == text
