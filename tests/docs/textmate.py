"""The colors of queries in editors: a TextMate grammar, whose words are those of `rq.lark` and of the operators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from cedilla.grammar import operator_forms
from cedilla.grammar.hints.forms import CHANGES, STATEMENTS
from cedilla.grammar.operator_forms import SIGNS, WORDS
from cedilla.grammar.syntax import TYPES
from tests.kit import ROOT

CONSTANTS = ("true", "false", "null")
BETWEEN = ("union", "intersect", "minus", "join", "left", "semi", "anti", "all")


def words() -> set[str]:
    """Returns every word that the grammar spells out."""
    text = (ROOT / "grammar" / "rq.lark").read_text("utf-8") + operator_forms.grammar()
    without_comments = re.sub(r"^//.*$", "", text, flags=re.MULTILINE)
    return set(re.findall(r'"([A-Za-z]{2,})"', without_comments))


def textmate() -> str:
    """Returns the grammar as JSON."""
    changes = tuple(word for word in CHANGES if word.isalpha())
    known = {*STATEMENTS, *WORDS, *BETWEEN, *CONSTANTS, *changes}
    signs = "".join(sorted({*SIGNS, *"⋈⟕⋉▷∪∩−≀¬∧∨"}))
    patterns = [
        {"name": "comment.line.number-sign.cedilla", "match": "#.*$"},
        _string('"', "double"),
        _string("'", "single"),
        {
            "name": "constant.numeric.cedilla",
            "match": r"\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\b",
        },
        {
            "match": r"\b([^\W\d]\w*)\s*(:=)",
            "captures": {
                "1": {"name": "entity.name.type.cedilla"},
                "2": {"name": "keyword.operator.assignment.cedilla"},
            },
        },
        {
            "match": r"\b(stream|table)\s+([^\W\d]\w*)",
            "captures": {
                "1": {"name": "keyword.control.cedilla"},
                "2": {"name": "entity.name.type.cedilla"},
            },
        },
        _words("keyword.control.cedilla", STATEMENTS),
        _words("support.function.operator.cedilla", (*WORDS, *BETWEEN)),
        _words("constant.language.cedilla", CONSTANTS),
        _words("keyword.other.accent.cedilla", changes),
        _words("keyword.other.cedilla", words() - known),
        _words("storage.type.cedilla", TYPES),
        {"name": "support.function.cedilla", "match": r"\b[^\W\d]\w*(?=\s*\()"},
        {
            "name": "keyword.operator.cedilla",
            "match": rf"->|→|\|\||[!<>]=|[=<>+*/%≠≤≥-]|\bW(?=\[)|[{signs}]",
        },
        {"name": "punctuation.definition.accent.cedilla", "match": r"\[\[|\]\]"},
    ]
    grammar: dict[str, Any] = {
        "name": "Cedilla",
        "scopeName": "source.cedilla",
        "fileTypes": ["rq"],
        "patterns": patterns,
    }
    return json.dumps(grammar, ensure_ascii=False, indent=2) + "\n"


def _words(name: str, chosen: Iterable[str]) -> dict[str, str]:
    return {"name": name, "match": rf"\b(?:{'|'.join(sorted(set(chosen)))})\b"}


def _string(quote: str, kind: str) -> dict[str, Any]:
    return {
        "name": f"string.quoted.{kind}.cedilla",
        "begin": quote,
        "end": rf"{quote}|$",
        "patterns": [{"name": "constant.character.escape.cedilla", "match": r"\\."}],
    }
