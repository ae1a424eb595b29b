"""What the grammar makes of texts, right and wrong: `golden/*.txt`."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import attrs
import pytest

from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_accent, parse_expression, parse_punctuation, parse_query
from cedilla.grammar.syntax import Literal, Node
from tests.kit.golden import check

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))

PARSERS: dict[str, Callable[[str, str], Node]] = {
    "query": parse_query,
    "accent": parse_accent,
    "punctuation": parse_punctuation,
    "expression": parse_expression,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    check(path, parsed_text)


def parsed_text(directive: str, text: str) -> str:
    try:
        if directive == "format":
            return format_query(parse_query(text), text)
        return compact(PARSERS[directive](text, "t"))
    except DiagnosticError as error:
        return render(error.diagnostics, {"t": text})


def compact(value: object) -> str:
    """A node as `Name(field, ...)`, fields that are unset left out, the statements of a query on lines."""
    match value:
        case Literal(constant, text):
            return f"{type(constant).__name__} {constant}" + (f" as {text}" if str(constant) != text else "")
        case Node():
            fields = [field.name for field in attrs.fields(type(value)) if "span" not in field.name]
            parts = [f"{name}={compact(part)}" for name in fields if not unset(part := getattr(value, name))]
            return f"{type(value).__name__}({', '.join(parts)})"
        case tuple():
            parts = [compact(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
            lines = any(part.startswith(STATEMENTS) for part in parts)
            return "\n  ".join(["", *parts]) if lines else f"[{', '.join(parts)}]"
        case Fraction():
            return str(value)
        case _:
            return repr(value)


STATEMENTS = ("StreamDeclaration", "Setting", "Definition", "Emit")


def unset(value: object) -> bool:
    return value is None or value is False or value == ()
