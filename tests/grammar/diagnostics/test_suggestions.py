"""Guesses at misspelt words, forms that hints show, and repairs that the parser has accepted."""

import re

import pytest

from cedilla.grammar.diagnostics.suggestions import did_you_mean, edits, suggest
from cedilla.grammar.hints import forms
from cedilla.grammar.parser import parse_accent, parse_punctuation, parse_query
from cedilla.grammar.parsing import statements
from tests.kit.errors import error_text, errors_of


@pytest.mark.parametrize(
    ("word", "words", "guess"),
    [
        ("agregate", forms.OPERATORS, "aggregate"),
        ("Amuont", ["amount", "state"], "amount"),
        ("yb", ["by", "on"], "by"),
        ("lag", ["log", "max"], None),
        ("col", ["cos"], None),
        ("paid", ["id"], None),
        ("s2", ["s1"], None),
        ("log_10", ["log10", "log2"], "log10"),
        ("temp", ["tempo", "tempi"], None),
    ],
)
def test_a_guess_is_a_slip_of_few_letters(word: str, words: list[str], guess: str | None) -> None:
    assert suggest(word, words) == guess


def test_edits_insert_delete_replace_and_exchange() -> None:
    pairs = [("on", "no"), ("by", "b"), ("b", "by"), ("cat", "cut"), ("same", "same"), ("", "ab")]
    assert [edits(*pair) for pair in pairs] == [1, 1, 1, 1, 0, 2]


def test_a_longer_form_of_a_name_is_meant_where_it_is_the_only_one() -> None:
    assert did_you_mean("temp", ["temperature", "time"], "attributes").startswith(
        "did you mean `temperature`?"
    )
    assert did_you_mean("temp", ["temperature", "temp_max"], "attributes").startswith("known attributes")


def test_every_form_is_in_the_language() -> None:
    relations = [*forms.OPERATORS.values(), forms.JOIN]
    texts = [f"x := {form};" for form in relations] + [forms.DEFINITION, *forms.STATEMENTS.values()]
    texts += [f'stream s(a: int) from json "s" {clause};' for clause in forms.CLAUSES.values()]
    for text in (*texts, f"x := project[{forms.CASE} as c](R);"):
        parse_query(text)
    for change in forms.CHANGES.values():
        parse_accent(f"[[{change}]]")
    parse_accent(forms.ACCENT)
    parse_punctuation(forms.PUNCTUATION)


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("x := window[5 minutes at as w](r);", "missing `on` before `at`"),
        ("x := top[10 by a within b](r);", "did you mean `per`?"),
        ("x := select{a > 1}(r);", "did you mean `[a > 1]`?"),
        ("x := select[if(a > 1; b; c)](r);", "did you mean `,`?"),
        ("x := aggregate[avg a as m by b](r);", "did you mean `avg(a)`?"),
        ("x := project[total: a * 2](r);", "`a * 2 as total`"),
        ("x := select[b degC > 30](r);", "`b > 30 degC`"),
        ("x := window[5 minutes evry 1 minute on at as w](r);", "did you mean `every`?"),
    ],
)
def test_one_edit_that_corrects_a_statement_is_the_hint(statement: str, hint: str) -> None:
    assert hint in error_text(lambda: parse_query(statement))


def test_two_errors_of_a_statement_are_not_repaired_by_one_edit() -> None:
    assert "missing" not in error_text(lambda: parse_query("x := window[5 minutes at as](r);"))


def test_a_semicolon_inside_of_brackets_does_not_end_the_statement() -> None:
    text = "x := select[if(a > 1; b; c)](r); y := x;"
    assert statements.bounds(text, text.index("b;")) == (0, text.index(" y"))
    assert len(errors_of(lambda: parse_query(text))) == 1


def test_a_word_that_begins_with_a_keyword_is_refused_as_one_word() -> None:
    text = error_text(lambda: parse_query('emit r too json "o";'))
    assert re.match(r"RQ\d+ unexpected `too`; did you mean `to`?", text)
