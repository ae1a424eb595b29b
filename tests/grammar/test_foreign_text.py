"""String constants and names that strangers have chosen."""

import pytest

from cedilla.grammar import syntax
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from tests.kit.foreign_text import NAMES, TEXTS, constants


@pytest.mark.parametrize("kind", constants())
def test_a_constant_means_its_text_and_the_formatter_keeps_it(kind: str) -> None:
    text = f"let k = {constants()[kind]};\n"
    laid_out = format_query(parse_query(text), text)
    for query in (text, laid_out):
        (let,) = parse_query(query).statements
        assert isinstance(let, syntax.Let)
        assert isinstance(let.value, syntax.Literal)
        assert let.value.value == TEXTS[kind]


@pytest.mark.parametrize("kind", NAMES)
def test_a_word_of_another_language_is_a_name(kind: str) -> None:
    name = NAMES[kind]
    (stream,) = parse_query(f'stream s({name}: int) from json "s";').statements
    assert isinstance(stream, syntax.StreamDeclaration)
    assert stream.attributes[0].name == name
