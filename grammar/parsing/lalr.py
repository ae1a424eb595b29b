# pyright: basic
# The only module that sees lark's parser: its types are partial, those of the functions here are not.
"""The parser of `rq.lark` and of the forms of operators and changes: built once, on first use."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from pickle import HIGHEST_PROTOCOL, PickleError, Pickler, loads
from types import ModuleType
from typing import Any, Literal, TypeVar

import lark
from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.lexer import PatternStr
from lark.parsers import lalr_analysis

from cedilla.grammar.parsing.cache_dir import place, read, write
from cedilla.grammar.syntax import accent_forms, operator_forms

Start = Literal["query", "accent", "punctuation", "expression"]
Class = TypeVar("Class", bound=type)
_PROBE = "[[s = 2, alter(t, y -> y * 2)]]"


def per_rule(builder: Class) -> Class:
    """Class decorator for builders: a method gets the position of its rule, then the rule's parts."""
    return v_args(inline=True, meta=True)(builder)  # type: ignore[return-value]


def parse(text: str, start: Start) -> Tree[Token]:
    """The tree of `text`; raises lark's `UnexpectedInput`."""
    return _lark().parse(text, start=start)


def build(builder: Transformer[Token, Any], tree: Tree[Token]) -> Any:
    """Returns the result of `builder` for the tree. Raises its exceptions unchanged."""
    try:
        return builder.transform(tree)
    except VisitError as error:
        raise error.orig_exc from None


def position(error: UnexpectedCharacters) -> int:
    """The place at which no token begins."""
    return error.pos_in_stream


def stop(text: str, start: Start) -> tuple[tuple[Token, ...], Token]:
    """The tokens up to the one that cannot be, and that one, in a text that `parse` refuses."""
    parser = _lark().parse_interactive(text, start=start)
    accepted: list[Token] = []
    try:
        for token in parser.iter_parse():
            accepted.append(token)
        parser.feed_eof()
    except UnexpectedToken as error:
        refused = error.token
        # The parser refuses a token after it was seen, the contextual lexer before.
        good = (token for token in accepted if refused.type == "$END" or token.start_pos != refused.start_pos)
        return tuple(good), refused
    raise AssertionError("the text was refused once and is accepted now")


def tokens(text: str, start: Start) -> tuple[Token, ...]:
    """The tokens of a text that a correct one may begin with."""
    return tuple(_lark().parse_interactive(text, start=start).iter_parse())


def accepted(before: tuple[Token, ...], start: Start) -> frozenset[str]:
    """The types of the tokens that may follow."""
    # Asking the parser that met the wrong token would not do: it may have reduced too much by then.
    parser = _lark().parse_interactive("", start=start)
    for token in before:
        parser.feed_token(token)
    return frozenset(parser.accepts())


def spelling(token_type: str) -> str | None:
    """Returns the text of a token, if tokens of its type have only one."""
    if token_type == "$END":
        return None
    pattern = _lark().get_terminal(token_type).pattern
    return pattern.value if isinstance(pattern, PatternStr) else None


@cache
def _lark() -> Lark:
    # The tables take half a second to compute. lark's own cache keeps numbers, from which it makes 17,000 objects
    # again; pickled as they are they take a quarter of its time.
    text = Path(__file__).parent.with_name("rq.lark").read_text(encoding="utf-8")
    grammar = f"{text}\n{operator_forms.grammar()}\n{accent_forms.grammar()}"
    file, origin = place("rq"), (lark.__version__, grammar)
    if file is not None and (kept := read(file, origin)) is not None:
        return kept
    parser = Lark(
        grammar,
        parser="lalr",
        start=["query", "accent", "punctuation", "expression"],
        propagate_positions=True,
        maybe_placeholders=True,
    )
    if file is not None:
        _keep(file, origin, parser)
    return parser


class _Pickler(Pickler):
    """Pickles a parser, with names for what must stay the same object."""

    def reducer_override(self, value: Any) -> Any:
        match value:
            case ModuleType():
                return import_module, (value.__name__,)
            case lalr_analysis.Action():  # lark asks for `action is Shift`
                return getattr, (lalr_analysis, value.name)
            case _:
                return NotImplemented


def _keep(file: Path, origin: object, parser: Lark) -> None:
    """Keeps a parser whose copy parses; that of a later lark may not, and is computed each time."""
    content = BytesIO()
    with suppress(PickleError, TypeError, AttributeError, VisitError, UnexpectedInput):
        _Pickler(content, HIGHEST_PROTOCOL).dump(parser)
        copy: Lark = loads(content.getvalue())
        if copy.parse(_PROBE, start="accent") == parser.parse(_PROBE, start="accent"):
            write(file, origin, content.getvalue())
