"""The colors of queries in editors: a TextMate grammar, whose words are those of `grammar/highlighting.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from cedilla.grammar.highlighting import (
    ACCENTS,
    CONSTANTS,
    NAME,
    NUMBER,
    OTHERS,
    RELATIONAL,
    STARTS,
    SYMBOLS,
)
from cedilla.grammar.syntax import TYPES


def textmate() -> str:
    """Returns the grammar as JSON."""
    patterns = [
        {"name": "comment.line.number-sign.cedilla", "match": "#.*$"},
        _string('"', "double"),
        _string("'", "single"),
        {"name": "constant.numeric.cedilla", "match": NUMBER},
        {
            "match": rf"({NAME})\s*(:=)",
            "captures": {
                "1": {"name": "entity.name.type.cedilla"},
                "2": {"name": "keyword.operator.assignment.cedilla"},
            },
        },
        {
            "match": rf"\b(stream|table)\s+({NAME})",
            "captures": {
                "1": {"name": "keyword.control.cedilla"},
                "2": {"name": "entity.name.type.cedilla"},
            },
        },
        _words("keyword.control.cedilla", STARTS),
        _words("support.function.operator.cedilla", RELATIONAL),
        _words("constant.language.cedilla", CONSTANTS),
        _words("keyword.other.accent.cedilla", ACCENTS),
        _words("keyword.other.cedilla", OTHERS),
        _words("storage.type.cedilla", TYPES),
        {"name": "support.function.cedilla", "match": rf"{NAME}(?=\s*\()"},
        {"name": "keyword.operator.cedilla", "match": SYMBOLS},
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
