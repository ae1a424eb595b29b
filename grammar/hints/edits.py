"""Edits of a refused text, each tried: does the parser accept the edited text, and does it mean something?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from attrs import field, frozen
from lark import Token
from lark.exceptions import UnexpectedInput

from cedilla.grammar.hints import forms, terminals
from cedilla.grammar.hints.slip import Slip
from cedilla.grammar.parsing import lalr, statements

Edit = tuple[int, int, str]
"""A piece of the text, from its start to its end, and what replaces it."""
Check = Callable[[str, int], bool]
"""Returns True if the statements of a text from a place on have no error: names resolve, types fit, units convert."""

PAIRS = {"{": "}", "(": ")", "[": "]"}
CLOSING = tuple(PAIRS.values())
OPERATORS = ("=", "<", ">", "!", "*", "/", "+", "-", "%", "|", "&")
"""Signs that change the meaning where they are added or left out."""

_MAX_TEXT = 20_000
"""Longer texts are not edited: each edit parses a statement again, and plans those before it."""
_MAX_STATEMENT = 4_000
_MAX_CHECKS = 24
"""The greatest number of edited texts that are planned for one slip."""
_MAX_REPEATS = 12


@frozen
class Editor:
    """Tries edits of the statement that contains a slip. Without a `check` the parser alone decides."""

    slip: Slip
    text: str
    start: lalr.Start
    check: Check | None = None
    _checked: dict[str, bool] = field(factory=dict[str, bool], init=False)
    _words: dict[int, dict[str, str]] = field(factory=dict[int, dict[str, str]], init=False)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The statement's place in the text; a marker is the whole text."""
        if self.start != "query":
            return 0, len(self.text)
        position = self.slip.found.start_pos
        return statements.bounds(self.text, len(self.text) if position is None else position)

    @property
    def is_short(self) -> bool:
        """Returns True if the text is short enough to try edits."""
        begin, end = self.bounds
        return end - begin <= _MAX_STATEMENT and begin <= _MAX_TEXT

    def accepts(self, *edits: Edit) -> bool:
        """Returns True if the statement is correct after the edits, and means something."""
        return self._is_right(self._edited(edits))

    def parses(self, *edits: Edit) -> bool:
        """Returns True if the parser accepts the statement after the edits."""
        return self._refused(self._edited(edits)) is None

    def repeated(self, first: Edit, following: Callable[[Token], str | None]) -> bool:
        """Returns True if the statement is correct after an edit and, at each later token that is refused, the like.

        `following` returns what replaces a refused token; `None` where it is refused for another reason.
        """
        piece = self._edited([first])
        last = first[0] - self.bounds[0] + len(first[2])
        for _ in range(_MAX_REPEATS):
            refused = self._refused(piece)
            if refused is None:
                return self._means_something(piece)
            if isinstance(refused, int) or not piece[last : start_of(refused)].strip():
                return False
            new = following(refused)
            if new is None or refused.type == "$END":
                return False
            last = start_of(refused) + len(new)
            piece = f"{piece[: start_of(refused)]}{new}{piece[end_of(refused) :]}"
        return False

    def goes_on(self, edit: Edit, certain: int = 3) -> bool:
        """Returns True if the statement is correct after an edit, or if its next error is `certain` tokens later."""
        piece = self._edited([edit])
        refused = self._refused(piece)
        begin, _ = self.bounds
        if refused is None:
            return self._means_something(piece)
        read = piece[: refused if isinstance(refused, int) else start_of(refused)]
        before = len(statements.PIECE.findall(self.text[begin : edit[0]]))
        return len(statements.PIECE.findall(read)) >= before + 1 + certain

    def _edited(self, edits: Iterable[Edit]) -> str:
        begin, end = self.bounds
        piece = self.text[begin:end]
        for first, last, new in sorted(edits, reverse=True):
            piece = f"{piece[: first - begin]}{new}{piece[last - begin :]}"
        return piece

    def _is_right(self, piece: str) -> bool:
        return self._refused(piece) is None and self._means_something(piece)

    def _refused(self, piece: str) -> Token | int | None:
        """Returns the token at which the statement is refused, or the place of a refused character."""
        try:
            lalr.parse(piece, self.start)
        except UnexpectedInput as error:
            token = getattr(error, "token", None)
            return token if isinstance(token, Token) else error.pos_in_stream or 0
        except RecursionError:
            return 0
        return None

    def _means_something(self, piece: str) -> bool:
        if self.check is None or self.start != "query":
            return True
        begin, _ = self.bounds
        if piece not in self._checked:
            self._checked[piece] = len(self._checked) < _MAX_CHECKS and self.check(
                self.text[:begin] + piece, begin
            )
        return self._checked[piece]

    def form(self, hint: str = "") -> str:
        """A hint with the form of the construct."""
        form = forms.form_of(self.slip.before, self.slip.found)
        shown = f"as in `{form}`" if form is not None and form not in hint else ""
        return ", ".join(filter(None, (hint, shown)))

    def before(self, count: int) -> tuple[tuple[Token, ...], Token]:
        """Returns the token `count` places before the refused one, after the tokens before it."""
        tokens = (*self.slip.before, self.slip.found)
        index = len(tokens) - 1 - count
        return tokens[:index], tokens[index]

    def last(self, count: int) -> Iterator[tuple[int, tuple[Token, ...], Token]]:
        """The refused token and those before it in this statement, each with its distance and what is before it."""
        begin, _ = self.bounds
        for distance in range(min(count, len(self.slip.before) + 1)):
            before, token = self.before(distance)
            if distance and start_of(token) < begin:
                return
            yield distance, before, token

    def accepted(self, count: int) -> frozenset[str]:
        """Returns the types that may replace the token `count` places before the refused one."""
        if not count:
            return self.slip.accepts
        begin, _ = self.bounds
        before = self.slip.before[: len(self.slip.before) - count]
        return lalr.accepted(tuple(token for token in before if start_of(token) >= begin), self.start)

    def words(self, count: int) -> dict[str, str]:
        """Words and signs that may replace that token and are always written the same -> their types."""
        if count not in self._words:
            spelt = {t: lalr.spelling(t) for t in terminals.advertised(self.accepted(count))}
            choices = {word: t for t in spelt for word in terminals.CHOICES.get(t, ())}
            self._words[count] = {word: t for t, word in spelt.items() if word is not None} | choices
        return self._words[count]


def start_of(token: Token) -> int:
    """The place of a token."""
    return token.start_pos or 0


def end_of(token: Token) -> int:
    """The place after a token."""
    return token.end_pos or 0


def is_word(token: str) -> bool:
    """Returns True for a name or a keyword."""
    return token.isidentifier()


def pieces(e: Editor, offset: int) -> Iterator[re.Match[str]]:
    """Words, strings and signs of the statement from a place on."""
    return statements.PIECE.finditer(e.text, offset, e.bounds[1])


def with_depth(e: Editor, offset: int) -> Iterator[tuple[re.Match[str], int]]:
    """Pieces from a place on, each with the brackets that are open there and were not at the place."""
    depth = 0
    for piece in pieces(e, offset):
        depth += (piece[0] in "([{") - (piece[0] in ")]}")
        yield piece, depth


def innermost(before: Sequence[Token]) -> Token | None:
    """The bracket that is still open."""
    depth = 0
    for token in reversed(before):
        depth += (token in CLOSING) - (token in PAIRS)
        if depth < 0:
            return token
    return None


def closing(e: Editor, opening: Token) -> tuple[int, int] | None:
    """The place of the bracket that closes another one, of whatever kind."""
    inside = with_depth(e, end_of(opening))
    return next(((piece.start(), piece.end()) for piece, depth in inside if depth < 0), None)
