"""Texts of very many names and constants are refused before they are parsed (RQ482)."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.expressions.types import Type, patterns
from cedilla.compiler.regions import values
from cedilla.grammar.parser import parse_accent, parse_punctuation
from cedilla.grammar.syntax.depth import MOST_WORDS, check_length
from tests.kit.errors import code_of, error_of

MANY = ", ".join(map(str, range(MOST_WORDS)))


@pytest.mark.parametrize(
    "text",
    [
        f"[s in {{{MANY}}}]",
        f"[{', '.join(f's = {n}' for n in range(MOST_WORDS))}]",
        f"[{' and '.join(f'{n} = s' for n in range(MOST_WORDS))}]",
    ],
)
def test_a_long_punctuation_is_refused(text: str) -> None:
    assert code_of(lambda: parse_punctuation(text)) == "RQ482"


def test_a_long_accent_is_refused() -> None:
    text = f"[[s in {{{MANY}}}, alter(t, y -> y * 2)]]"
    error = error_of(lambda: parse_accent(text))
    assert error.code == "RQ482"
    assert error.span is not None
    assert text[error.span.start : error.span.end] == str(MOST_WORDS - 2)


def test_a_long_domain_is_refused_at_its_line() -> None:
    query = f'stream r(\n  s: int in {{{MANY}}}) from json "r";\nemit r to json "o";'
    error = error_of(lambda: compile_query(query))
    assert error.code == "RQ482"
    assert error.span is not None
    assert error.span.line == 2


def test_words_are_counted_not_characters() -> None:
    check_length(f"[s in {{{', '.join(map(str, range(100_000)))}}}]", "<text>")
    check_length(f'[s = "{MANY}"]', "<text>")


def test_what_is_written_of_long_lists_can_be_read() -> None:
    box = {"s": values("s", range(0, 400_000, 2))}
    texts = [text for (text,) in patterns.texts(box, {"s": Type("int")}, outer=False)]
    assert len(texts) > 1
    for text in texts:
        check_length(f"[{text}]", "<text>")
    assert sum(text.count(",") + 1 for text in texts) == 200_000
