"""Lays out generated programs as ruff's formatter does.

Covers the syntax that they use: calls, names, constants, lists, tuples and dicts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

WIDTH = 110
"""The longest line; a longer string stays in one piece."""

_STEP = 4


def lay_out(prefix: str, code: str, indent: int = 0, comment: str = "") -> str:
    """Lays out a statement: `prefix`, the expression `code`, and the comment at the end of its last line.

    Raises `ValueError` for a comment that another line would follow as code.
    """
    if not comment.isprintable():
        raise ValueError(f"a comment of a program has a control sign: {comment!r}")
    tail = f"  # {comment}" if comment else ""
    margin = " " * indent
    node = ast.parse(code, mode="eval").body
    return f"{margin}{prefix}{_broken(node, indent + len(prefix), len(tail), indent)}{tail}\n"


def quoted(text: str) -> str:
    """Returns a string constant in the quotes that need fewer escapes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + _escaped(text).replace(quote, f"\\{quote}") + quote


def inside_three_quotes(text: str) -> str:
    """Returns the inside of a string constant in three double quotes, with the lines of the text."""
    lines = "\n".join(map(_escaped, text.split("\n")))
    return _ENDS_CONSTANT.sub(r"\\\g<0>", lines)


_ENDS_CONSTANT = re.compile(r'"(?=""|\Z)')
"""A quote before two more, or before those that close the constant."""


def on_one_line(text: str) -> str:
    """Returns a text for a comment, with `?` for ends of lines and control signs."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _escaped(text: str) -> str:
    """Returns the inside of a string constant, but for its quotes."""
    signs = text.replace("\\", "\\\\")
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in signs)


def _group(node: ast.expr) -> tuple[str, list[tuple[str, ast.expr]], str] | None:
    """Returns the parts of a bracketed expression: opening, members each with the text before it, closing."""
    match node:
        case ast.Call(func, args, keywords):
            named = [(f"{keyword.arg}=", keyword.value) for keyword in keywords]
            return f"{_flat(func)}(", [*(("", arg) for arg in args), *named], ")"
        case ast.List(elts):
            return "[", [("", element) for element in elts], "]"
        case ast.Tuple(elts):
            return "(", [("", element) for element in elts], ")"
        case ast.Dict(keys, values):
            pairs = zip(keys, values, strict=True)
            return "{", [(f"{_flat(key)}: ", value) for key, value in pairs if key is not None], "}"
        case _:
            return None


def _flat(node: ast.expr) -> str:
    """Returns the expression on one line."""
    if (group := _group(node)) is not None:
        opening, members, closing = group
        lone = "," if isinstance(node, ast.Tuple) and len(members) == 1 else ""
        return f"{opening}{', '.join(label + _flat(member) for label, member in members)}{lone}{closing}"
    match node:
        case ast.Attribute(value, name):
            return f"{_flat(value)}.{name}"
        case ast.Constant(str(text)):
            return quoted(text)
        case _:
            return ast.unparse(node)


def _broken(node: ast.expr, column: int, tail: int, indent: int) -> str:
    """Lays out the expression from a column on, followed by `tail` characters, in as few lines as fit."""
    flat = _flat(node)
    group = _group(node)
    if column + len(flat) + tail <= WIDTH or group is None or not group[1]:
        return flat
    opening, members, closing = group
    return "\n".join([opening, *_members(node, members, indent + _STEP), " " * indent + closing])


def _members(node: ast.expr, members: list[tuple[str, ast.expr]], indent: int) -> Iterator[str]:
    margin = " " * indent
    together = ", ".join(label + _flat(member) for label, member in members)
    if isinstance(node, ast.Call) and indent + len(together) <= WIDTH:
        yield margin + together
        return
    comma = "" if isinstance(node, ast.Call) and len(members) == 1 else ","
    for label, member in members:
        text = _broken(member, indent + len(label), len(comma), indent)
        yield f"{margin}{label}{text}{comma}"
