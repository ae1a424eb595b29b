"""Every word of the language has a color, in VS Code and by Pygments; the extension has the files that it names."""

import json
import re
import tomllib
from importlib.metadata import EntryPoint

import pytest
from pygments.lexer import RegexLexer
from pygments.token import Error, Name, Whitespace

from cedilla.grammar.highlighting import grammar_words
from tests.kit import ROOT

EXTENSION = ROOT / "docs" / "editors" / "vscode"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def lexer() -> RegexLexer:
    """The lexer that an installation gives Pygments."""
    ((name, value),) = PROJECT["entry-points"]["pygments.lexers"].items()
    return EntryPoint(name, value, "pygments.lexers").load()()


def test_every_word_of_the_grammar_has_a_color() -> None:
    grammar = json.loads((EXTENSION / "syntaxes" / "cedilla.tmLanguage.json").read_text("utf-8"))
    patterns = [
        re.compile(rule["match"]) for rule in grammar["patterns"] if r"\b(?:" in rule.get("match", "")
    ]
    uncolored = {word for word in grammar_words() if not any(pattern.fullmatch(word) for pattern in patterns)}
    assert uncolored == set()


def test_every_word_of_the_grammar_has_a_token_of_pygments(lexer: RegexLexer) -> None:
    tokens = {
        word: [kind for kind, text in lexer.get_tokens(word) if text == word] for word in grammar_words()
    }
    assert [word for word, kinds in tokens.items() if kinds in ([], [Name])] == []


def test_pygments_splits_every_query_without_an_error(lexer: RegexLexer) -> None:
    for path in (ROOT / "queries").rglob("*.rq"):
        text = path.read_text("utf-8")
        tokens = list(lexer.get_tokens_unprocessed(text))
        assert "".join(part for _, _, part in tokens) == text
        assert Error not in {kind for _, kind, _ in tokens}


def test_strings_comments_and_names_are_told_apart(lexer: RegexLexer) -> None:
    query = 'fast := select[v > 4e1](Wind);  # "no\nlet x = "# no";'
    shown = [(str(k)[6:], t) for k, t in lexer.get_tokens(query) if k is not Whitespace]
    assert shown[:4] == [
        ("Name.Class", "fast"),
        ("Operator", ":="),
        ("Name.Builtin", "select"),
        ("Punctuation", "["),
    ]
    rest = {("Literal.Number", "4e1"), ("Name", "Wind"), ("Comment.Single", '# "no')}
    assert rest | {("Literal.String.Double", '"# no"')} <= {*shown}


def test_the_extension_names_files_that_exist_and_the_version_of_the_package() -> None:
    package = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    contributed = package["contributes"]
    paths = [
        package["main"],
        contributed["languages"][0]["configuration"],
        contributed["grammars"][0]["path"],
    ]
    assert all((EXTENSION / path).is_file() for path in paths)
    assert package["version"] == PROJECT["version"]
