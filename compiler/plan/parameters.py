"""Replaces constants of a query, `let rate = 0.9;`, by `--param NAME=VALUE`."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.formatting.expression_formatter import quote, unit_text
from cedilla.grammar.parser import parse_query

UNKNOWN, ILL_TYPED = "RQ135", "RQ136"


def given_constants(query: syntax.Query, params: Mapping[str, str]) -> dict[str, syntax.Constant]:
    """Returns the constants that replace the query's own.

    Raises `DiagnosticError`: RQ135 if the query has no such constant, RQ136 if the value is of another kind.
    """
    constants = {let.name: let.value for let in query.statements if isinstance(let, syntax.Let)}
    values: dict[str, syntax.Constant] = {}
    problems: list[Diagnostic] = []
    for name, text in params.items():
        declared = constants.get(name)
        if declared is None:
            hint = f"its constants: {', '.join(constants)}" if constants else "`let name = 1;` declares one"
            message = f"the query has no constant `{name}`"
            problems.append(Diagnostic(UNKNOWN, "error", message, help=hint))
            continue
        value = _read(text, declared)
        if value is None:
            message = f"`{name}` requires {_KINDS[_kind(declared)]}, found `{text}`"
            problems.append(Diagnostic(ILL_TYPED, "error", message, declared.span))
        else:
            values[name] = value
    if problems:
        raise DiagnosticError(problems)
    return values


def _read(text: str, declared: syntax.Constant) -> syntax.Constant | None:
    """Parses a value of the same kind as the declared constant; a string needs no quotes.

    Returns `None` for another kind.
    """
    kind = _kind(declared)
    for spelling in (text, quote(text)) if kind == "string" else (text,):
        try:
            statements = parse_query(f"let given = {spelling};").statements
        except DiagnosticError:
            continue
        match statements:
            case (syntax.Let(_, value),) if _kind(value) == kind:
                return _in_unit_of(declared, value)
            case _:
                continue
    return None


def _in_unit_of(declared: syntax.Constant, value: syntax.Constant) -> syntax.Constant:
    """Gives a plain number the unit of the constant that it replaces."""
    match declared, value:
        case syntax.Literal(unit=str(unit)), syntax.Literal(unit=None, text=text):
            return evolve(value, unit=unit, text=f"{text} {unit_text(unit)}")
        case _:
            return value


_KINDS = {
    "boolean": "`true` or `false`",
    "string": "a string",
    "number": "a number",
    "length": "a length of time such as `5 minutes`",
}


def _kind(constant: syntax.Constant) -> str:
    if isinstance(constant, syntax.Measure):
        return "length"
    if isinstance(constant.value, bool):
        return "boolean"
    return "string" if isinstance(constant.value, str) else "number"
