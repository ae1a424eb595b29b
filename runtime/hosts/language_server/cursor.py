"""The place where a user types: the words before it in the statement, and those that may follow."""

from __future__ import annotations

import re

from attrs import frozen
from lark import Token
from lark.exceptions import UnexpectedInput

from cedilla.grammar.parsing import lalr, statements
from cedilla.grammar.syntax.operator_forms import SIGNS, WORDS

_WORD = re.compile(r"[^\W\d]\w*$")
_OPEN = {"(": ")", "[": "]", "{": "}", "[[": "]]"}


@frozen
class Cursor:
    """A place in a statement or marker. `before`: its words; `accepted`: the types of words that may follow.

    `start`: where the word that is being typed begins. `begin`: where the statement does; places of words count from
    there.
    """

    begin: int
    start: int
    before: tuple[Token, ...]
    accepted: frozenset[str]

    def type(self, back: int = 1) -> str:
        """Returns the type of a word before the place, the last one by default; else an empty text."""
        return self.before[-back].type if back <= len(self.before) else ""

    def word(self, back: int = 1) -> str:
        """Returns a word before the place; else an empty text."""
        return str(self.before[-back]) if back <= len(self.before) else ""

    @property
    def open(self) -> list[int]:
        """The positions of the brackets that are open, the innermost last."""
        brackets: list[int] = []
        for number, token in enumerate(self.before):
            if token in _OPEN:
                brackets.append(number)
            elif brackets and token == _OPEN[self.before[brackets[-1]]]:
                brackets.pop()
        return brackets

    @property
    def operator(self) -> int | None:
        """The position of the bracket of the operator whose parameters are typed."""
        for number in reversed(self.open):
            if self.before[number] == "[" and number and self._is_operator(self.before[number - 1]):
                return number
        return None

    @property
    def is_in_expression(self) -> bool:
        """True if an expression may begin here."""
        return {"CASE", "TRUE"} <= self.accepted

    @staticmethod
    def _is_operator(token: Token) -> bool:
        return str(token) in WORDS or str(token) in SIGNS or token == "W"


def cursor(text: str, offset: int, start: lalr.Start) -> Cursor | None:
    """Returns the place at an offset; `None` inside of a string or comment, or after what cannot be parsed."""
    word = _WORD.search(text, 0, offset)
    first = word.start() if word is not None else offset
    begin = statements.bounds(text[:first], first)[0] if start == "query" else 0
    try:
        before = lalr.tokens(text[begin:first], start)
    except UnexpectedInput:
        return None
    if "#" in text[text.rfind("\n", 0, first) + 1 : first].partition('"')[0]:
        return None
    return Cursor(begin, first, before, lalr.accepted(before, start))


def input_text(text: str, offset: int) -> str | None:
    """Returns the input of the operator around a place; `None` if it is not written yet."""
    depth, begin = 1, None
    _, end = statements.bounds(text, offset)
    for piece in statements.PIECE.finditer(text, offset, end):
        depth += (piece[0] in ("(", "[", "{")) - (piece[0] in (")", "]", "}"))
        if begin is None and depth == 0:
            if piece[0] != "]" or not text[piece.end() :].lstrip().startswith("("):
                return None
            begin = text.index("(", piece.end()) + 1
        elif begin is not None and depth == 0:
            return text[begin : piece.start()]
    return None


def call_at(text: str, offset: int) -> tuple[str, int] | None:
    """Returns the function whose arguments are typed at a place, and the number of the argument from 0."""
    at = cursor(text, offset, "query")
    if at is None or not at.open:
        return None
    bracket = at.open[-1]
    if bracket == 0 or at.before[bracket] != "(" or at.before[bracket - 1].type != "NAME":
        return None
    inner = Cursor(0, 0, at.before[bracket:], frozenset())
    commas = [n for n, token in enumerate(inner.before) if token == ","]
    depth = [Cursor(0, 0, inner.before[:n], frozenset()).open for n in commas]
    return at.word(len(at.before) - bracket + 1), sum(depths == [0] for depths in depth)
