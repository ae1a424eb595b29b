"""Markdown of foreign texts: none of them formats, links or runs a command of an editor."""

from __future__ import annotations

import re

from cedilla.grammar.diagnostics.printable import one_line, printable

# A text may begin a line, where some signs begin lists and headings.
_MEANING = re.compile(r"[\\`*_{}\[\]<>|~&!@]|#|^[+-]|(?<=^\d)[.)]|(?<=\w):(?=//)|(?<=www)\.", re.IGNORECASE)
"""Signs of Markdown, and those that make an address a link without any."""


def escaped(text: str) -> str:
    """Returns Markdown that shows a text on one line."""
    return _MEANING.sub(r"\\\g<0>", one_line(text))


def prose(text: str) -> str:
    """Returns Markdown that shows a text on one line, with what is in backticks as code."""
    pieces = re.split("`([^`]+)`", text)
    return "".join(span(piece) if number % 2 else escaped(piece) for number, piece in enumerate(pieces))


def span(text: str) -> str:
    """Returns Markdown that shows a text as code, in more backticks than it has in a row."""
    shown = one_line(text)
    fence = _fence(shown, 1)
    edge = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{fence}{edge}{shown}{edge}{fence}"


def block(text: str, language: str) -> str:
    """Returns Markdown that shows lines as code."""
    shown = printable(text)
    fence = _fence(shown, 3)
    return f"{fence}{language}\n{shown}\n{fence}"


def _fence(text: str, least: int) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)
