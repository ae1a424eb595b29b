"""The hint for a word or a sign of another language: one rule, which looks it up in the tables of its place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.grammar.hints import forms, synonyms, word_synonyms
from cedilla.grammar.hints.function_synonyms import AGGREGATES, SCALARS
from cedilla.grammar.hints.slip import Slip
from cedilla.grammar.hints.synonyms import by_word

Table = Mapping[str, str]
"""A word in small letters, a sign, or the type of a token in capitals -> its hint."""
_NONE: Table = {}


_NO_TYPES = frozenset[str]()


def _types(types: str | frozenset[str]) -> frozenset[str]:
    return types if isinstance(types, frozenset) else frozenset(types.split())


@frozen(kw_only=True)
class Place:
    """A place of the grammar, and the tables of what other languages write there."""

    accepts: frozenset[str] = field(default=_NO_TYPES, converter=_types)
    """All of these types could have followed."""
    lacks: frozenset[str] = field(default=_NO_TYPES, converter=_types)
    """None of these could."""
    only: bool = False
    """Nothing but `accepts` could have followed."""
    texts: frozenset[str] = field(default=_NO_TYPES, converter=_types)
    """First signs of the texts: `[[` of an accent, `[` of a punctuation, `;` of all others; empty for all."""
    found: Table = _NONE
    """Hints for the refused token."""
    pairs: Table = _NONE
    """Hints for the token before it and the refused one, with a blank between."""
    last: Table = _NONE
    """Hints for the token before the refused one."""
    call: Table = _NONE
    """Hints for the word before the parenthesis that is still open."""
    follows: frozenset[str] = field(default=_NO_TYPES, converter=_types)
    """`last` and `call` are asked only before a refused token of these types; empty for all."""
    forms: Table = _NONE
    """Words of the language -> their forms: hints for the words that misspell them, as those of `last`."""
    about: str = "unexpected"
    """The word of the message for the token before the refused one."""

    def fits(self, slip: Slip) -> bool:
        """Returns True if a text ends in this place."""
        text = slip.first if slip.first in ("[", "[[") else ";"
        right = self.accepts == slip.accepts if self.only else self.accepts <= slip.accepts
        return right and not self.lacks & slip.accepts and (not self.texts or text in self.texts)

    def of_words(self, slip: Slip) -> Iterator[Diagnostic]:
        """Yields the hints for the words around the end of parsing."""
        last, refused = slip.last, str(slip.found)
        words = (f"{refused}{slip.rest[:1]}", refused.lower())
        hint = next((self.found[word] for word in words if word in self.found), None)
        if hint is not None and not slip.rest.lstrip().startswith(":="):
            yield slip.unexpected(hint)
        if self.follows and slip.found.type not in self.follows:
            return
        lower = last.lower()
        guess = None if lower in self.forms or last.type == "STRING" else suggest(lower, self.forms)
        hint = self.last.get(lower) or (guess and f"did you mean `{guess}`?, as in `{self.forms[guess]}`")
        if hint is not None:
            yield slip.complain(f"{self.about} `{last}`", hint, last)
        if (hint := self.call.get(slip.call.lower())) is not None:
            yield slip.unexpected(hint)

    def of_types(self, slip: Slip) -> Iterator[Diagnostic]:
        """Yields the hints for two tokens of a line, and for the type of the refused one."""
        last, refused = slip.last, slip.found
        keys = itertools.product((str(last), last.type), (str(refused), refused.type))
        hints = [self.pairs.get(" ".join(key)) for key in keys if last.end_line == refused.line]
        for hint in (*hints, self.found.get(refused.type)):
            if hint is not None:
                yield slip.unexpected(hint)


def foreign_word(slip: Slip) -> Diagnostic | None:
    """Returns the first hint for the words around the end of parsing."""
    hints = itertools.chain.from_iterable(p.of_words(slip) for p in PLACES if p.fits(slip))
    return _in_capitals(slip) or next(hints, None)


def foreign_types(slip: Slip) -> Diagnostic | None:
    """Returns the first hint for the types of the tokens around the end of parsing, and for pairs of signs."""
    hints = itertools.chain.from_iterable(p.of_types(slip) for p in PLACES if p.fits(slip))
    return next(hints, None)


def _in_capitals(slip: Slip) -> Diagnostic | None:
    """`a > 1 AND b > 1`, but not `SELECT a FROM r`, nor `OR` in a marker: those have hints of their own."""
    is_marker = slip.first in ("[", "[[")
    better = synonyms.STATEMENTS if slip.requires("DEFINE") else synonyms.CONDITIONS if is_marker else {}
    tokens = (slip.found, slip.last)
    if any(token.lower() in better for token in tokens):
        return None
    for token in tokens:
        lower = token.lower()
        if token.type == "NAME" and lower != token and lower in word_synonyms.WORDS:
            return slip.unexpected(f"keywords are written in lower case: `{lower}`", token)
    return None


_CHANGE = f"a change is one of {', '.join(f'`{form}`' for form in forms.CHANGES.values())}"
_ONE_CHANGE = "an accent has one change, at its end, `[[s = 2, unit(t, degC)]]`; another is a line of its own"
_FUNCTION = "a function is `y -> y * 2`, a unit comes after it: `alter(t, y -> y / 1000, unit km)`"
_WRAPPED = "the number of different values, then where they begin before and after: `wrap(x, 65536 from -32768 to 0)`"
_ALTERED = f"values are changed by `{forms.CHANGES['alter']}`, which comes last, after a comma"
_COMMENT = dict.fromkeys("-/", "a comment begins with `#` and ends with its line")
_DEFINITION = "a definition is written `name := relation;`"
_AROUND = "operators are written around their input: `select[t > 90](R)`"
_NULL = f"{word_synonyms.OPERANDS['isnull']}; values are compared by `x = 'a'`, `x != 'a'`"
_VALUES = "values are written `in {1, 2, 3}`, a range `in [1, 5]`"
_OPERAND = "NAME NUMBER STRING LPAR"

PLACES = (
    # Markers.
    Place(
        accepts="EQUAL",
        texts="[[",
        last={word: f"did you mean `{form}`?" for word, form in synonyms.CHANGES.items()},
        forms=forms.CHANGES,
        follows="LPAR NAME",
        about="unknown change",
    ),
    Place(accepts="EQUAL", texts="[[", found={"(": _CHANGE, **by_word({"-> → * /": _ALTERED})}),
    Place(
        accepts="EQUAL",
        texts="[",
        found={"(": f"an accent is written in double brackets: `{forms.ACCENT}`"},
    ),
    Place(
        accepts="ALTER AND",
        found={"*": f"without conditions an accent is of all tuples: `[[{forms.CHANGES['alter']}]]`"},
    ),
    Place(
        accepts="AND",
        lacks="RPAR",
        texts="[[",
        found=by_word(
            {
                "] ]]": f"an accent has a change at its end; {_CHANGE}; a punctuation is `[ts < 300]`",
                "-> => → * :": _ALTERED,
            }
        ),
    ),
    Place(
        accepts="CLOSE_ACCENT",
        texts="[[",
        found={
            "]": "an accent ends with `]]`",
            **by_word({", and": _ONE_CHANGE}),
        },
    ),
    Place(
        accepts="ARROW",
        texts="[[",
        found=by_word({") * / + - = > ( NAME": _FUNCTION}),
    ),
    Place(accepts="NUMBER", texts="[[", call={"wrap": _WRAPPED}, follows="RPAR FROM PLUS NAME"),
    Place(accepts="RPAR", texts="[[", call={"wrap": _WRAPPED}, follows="FROM"),
    Place(texts="[[", call={"rename": 'a path is in quotes: `rename("items.cost", price)`'}, follows="DOT"),
    Place(
        lacks="RPAR",
        texts="[[ [",
        found={
            **word_synonyms.SIGNS,
            **synonyms.CONDITIONS,
            ".": "a time is written in ISO form: `2025-01-31`, `2025-01-31T12:00:00Z`",
        },
        last=synonyms.CONDITIONS,
        pairs={
            "[ [": "a punctuation is written in single brackets: `[ts <= 600]`",
        },
    ),
    # Statements.
    Place(accepts="EMIT", lacks="PLUS JOIN", found=_COMMENT),
    Place(
        accepts="DEFINE",
        only=True,
        found={**by_word({"< = : NAME": _DEFINITION}), ".": _AROUND},
        last=synonyms.STATEMENTS,
        forms=forms.STATEMENTS,
        about="unknown statement",
    ),
    Place(
        accepts="COLON OPTIONAL",
        only=True,
        found=by_word({"- .": 'a name is one word: `name: string from "service.name"` reads another key'}),
        last=synonyms.PROMISES,
    ),
    Place(accepts="UNIT", lacks="PLUS RSQB ALTER", found=synonyms.DECLARED, last=synonyms.DECLARED),
    Place(accepts="COMMA RPAR", lacks="PLUS", found=synonyms.AFTER_VALUES),
    Place(accepts="DOT", only=True, found={")": f"a unit is written `unit degC`; {_VALUES}"}),
    Place(accepts="PUNCTUATED", found=synonyms.PROMISES),
    Place(accepts="SEMICOLON", lacks="PUNCTUATED", found=synonyms.OUTPUTS),
    Place(accepts="SEMICOLON", lacks="PUNCTUATED JOIN", found=synonyms.KEYS),
    Place(accepts="ORIGINAL", only=True, found=synonyms.CONVERSIONS),
    Place(accepts="LATEST", only=True, found=synonyms.LATEST),
    # Relations.
    Place(accepts="RPAR JOIN", texts=";", call=synonyms.OPERATORS),
    Place(
        accepts="JOIN",
        last=synonyms.OPERATORS,
        forms={**forms.OPERATORS, "join": forms.JOIN, **{sets: f"A {sets} B" for sets in forms.SETS}},
        follows="LSQB LPAR",
        about="unknown operator",
    ),
    Place(accepts="JOIN", last=synonyms.AFTER_SETS, follows="NAME"),
    Place(
        accepts="JOIN",
        found={**synonyms.CLAUSES, **synonyms.JOINS},
        pairs={"NAME NAME": f"a relation has no second name: `A join B on A.x = B.y`; {_AROUND}"},
    ),
    Place(accepts="JOIN", lacks="LSQB", found=by_word({"[ (": _AROUND})),
    # Parameters of operators.
    Place(accepts="AS", only=True, found=synonyms.AFTER_WINDOWS),
    Place(accepts="AS ZONE", only=True, found=synonyms.AFTER_WINDOWS),
    Place(accepts="ALL LAST", only=True, found=synonyms.FRAMES),
    Place(accepts="OVER RSQB", found=synonyms.FRAMES),
    Place(accepts="RSQB", only=True, pairs=synonyms.BEYOND_FRAMES),
    Place(accepts="COMMA ON", lacks="PLUS JOIN", found=synonyms.PARTITIONS),
    Place(accepts="AS PLUS", found=synonyms.AFTER_RESULTS),
    Place(accepts="COMMA RSQB", lacks="PLUS", texts=";", found=synonyms.AFTER_GROUPS),
    # Expressions.
    Place(lacks="LSQB JOIN", texts=";", last=word_synonyms.LEADING_ANYWHERE, follows=_OPERAND),
    Place(accepts="PLUS", last=word_synonyms.LEADING, follows=_OPERAND),
    Place(accepts="PLUS", last={**AGGREGATES, **SCALARS}, follows="LPAR"),
    Place(accepts="PLUS RPAR", call=SCALARS, follows="AS FROM IN"),
    Place(accepts="PLUS", found=word_synonyms.OPERANDS),
    Place(accepts="PLUS AND", found=word_synonyms.CONDITIONS),
    Place(accepts="PLUS RPAR", lacks="AS", found={"as": "a parenthesis is still open before `as`"}),
    Place(
        accepts="NULL",
        lacks="PLUS CASE",
        found={**word_synonyms.OPERANDS, **by_word({"NAME NUMBER STRING": _NULL})},
    ),
    Place(
        accepts="BETWEEN IN",
        lacks="PLUS",
        found={
            **word_synonyms.OPERANDS,
            **by_word({"NUMBER STRING": "inequality is written `x != 3`, its opposite `x = 3`"}),
        },
    ),
    Place(
        accepts="LBRACE LPAR LSQB",
        only=True,
        texts=";",
        found=by_word(
            {
                "NAME STRING": f"{_VALUES}; tuples with a partner in another relation are `A semi join B on k`; "
                f"{synonyms.CONVERTED}"
            }
        ),
    ),
    Place(
        accepts="NUMBER NAME",
        texts=";",
        found={
            ".": "a number begins with a digit, `0.5`, and an attribute is written by its name alone: `a`"
        },
    ),
    Place(accepts="RBRACE", lacks="PLUS", found={"-": "a range is written `in [1, 3]`, with both ends"}),
    # Signs.
    Place(
        pairs={
            "= =": "equality is written `=`",
            "< >": "inequality is written `!=`",
            "= >": "it is written `>=`",
            "= <": "it is written `<=`",
            "* *": "a power is written `pow(x, y)`",
            "/ /": "`floor(a / b)` divides whole numbers; a comment begins with `#`",
            "( *": "`count() as n` counts tuples",
            ". *": "all attributes are `*` alone",
            **dict.fromkeys(("% )", "% ]", "% ,"), "a share is a number: 5 % are `0.05`"),
        }
    ),
    Place(
        lacks="PLUS JOIN",
        pairs={"NAME /": 'a unit is one word, `degF`, or is written in quotes, `"km/h"`, `"{request}"`'},
    ),
    Place(accepts="SEMICOLON", pairs={"NUMBER ,": "a number has no commas: `1000`, `0.5`"}),
    Place(accepts="EQUAL", lacks="DOT PLUS", found={":=": "equality is written `=`"}),
    Place(
        texts=";",
        found={"MOMENT": 'a time is a string in ISO form: `"2025-01-31"`, `"2025-01-31T12:00:00Z"`'},
        pairs={
            "- >": "a new name is written `a as b`; a condition names attributes directly: `t > 90`",
            "to STRING": 'a place requires a format: `json "path"`',
            "from STRING": 'a place requires a format: `from json "path"`, one of accents `from file "path"`',
        },
    ),
)
"""The places in their order: the first that knows a word gives the hint."""
