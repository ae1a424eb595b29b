"""Equality of tuples as canonical partial functions, and tuples of two inputs over one set of attributes (G36)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cedilla.compiler.expressions.types import DOUBLE, MAX_DIGITS, Type
from cedilla.compiler.expressions.types.decimals import digits_of_type, is_exact
from cedilla.compiler.expressions.units.exact_conversions import common_type, have_common_type
from cedilla.compiler.facts.facts import Facts
from cedilla.compiler.facts.schemes import Memory, Schemes, beyond, both, ordered, within
from cedilla.compiler.operators.shared.vacancies import Vacancy
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Span, failure


def common_types(inputs: Iterable[Facts]) -> dict[str, Type]:
    """Every attribute of the inputs with the type that holds the values of all of them."""
    types: dict[str, Type] = {}
    for facts in inputs:
        types |= {name: _common(types.get(name, type_), type_) for name, type_ in facts.types.items()}
    return types


def _common(a: Type, b: Type) -> Type:
    if a == b or not (a.is_numeric and b.is_numeric):
        return a
    return common_type(a, b) if is_exact(a) and is_exact(b) else DOUBLE


def largest_in_counts(type_: Type) -> float:
    """Returns the bound below which doubles keep all digits of a decimal type, so that its values return from them."""
    return float(f"1e{15 - type_.parameters[1]}")


def clash(inputs: tuple[Facts, Facts]) -> str | None:
    """An attribute that has types in the inputs which no common type holds."""
    left, right = inputs
    both = (name for name in left.types if name in right.types)
    return next((name for name in both if not _is_common(left.types[name], right.types[name])), None)


def _is_common(a: Type, b: Type) -> bool:
    if a == b or not (a.is_numeric and b.is_numeric):
        return a == b
    return DOUBLE in (a, b) or have_common_type(a, b)


def check_types(inputs: tuple[Facts, Facts], of: str, span: Span | None) -> None:
    """Raise RQ103 where an attribute of both inputs has no common type."""
    if (name := clash(inputs)) is not None:
        a, b = (facts.types[name] for facts in inputs)
        message = f"`{name}` is {a} in one input of the {of} and {b} in the other"
        if is_exact(a) and is_exact(b):
            raise no_decimal(message, (a, b), span)
        where, wanted = (
            ("second", "timestamp") if (a.name, b.name) == ("timestamp", "date") else ("first", b.name)
        )
        hint = f"`{wanted}({name}) as {name}` in a `project` of the {where} converts it"
        if {a.name, b.name} == {"timestamp", "date"}:
            hint = f"{hint}: a date becomes its midnight in UTC"
        raise failure("RQ103", message, span, hint=hint)


def no_decimal(message: str, types: tuple[Type, Type], span: Span | None) -> DiagnosticError:
    """Returns RQ103 for exact numbers of two inputs that would be rounded where they meet."""
    before, after = map(max, zip(*map(digits_of_type, types), strict=True))
    hint = (
        f"no decimal has {before} digits before the point and {after} after it: declare at most {MAX_DIGITS} "
        "together, or take `double(x)` of both in a `project`, which rounds"
    )
    return failure("RQ103", message, span, hint=hint)


def vacancies(
    inputs: tuple[Facts, ...], promised: tuple[Schemes, ...], sides: Iterable[int]
) -> tuple[Vacancy, ...]:
    """Returns how an operator that compares tuples finds vacant regions: by `vacated` schemes."""
    return tuple(
        Vacancy.of(side, scheme, inputs[side])
        for side in sides
        for scheme in ordered(vacated(side, inputs, promised))
    )


def vacated(side: int, inputs: tuple[Facts, ...], promised: tuple[Schemes, ...]) -> Schemes:
    """Returns the schemes of one input that are closed once no tuple of it is undecided, and not by both inputs
    anyway. The other input decides tuples of this one."""
    theirs = within(promised[1 - side], inputs[side].types.keys())
    return beyond(promised[side], both(promised[side], theirs)) if theirs else frozenset()


def floating(
    names: Iterable[str], types: Mapping[str, Type], span: Span | None, what: str = "tuples are compared"
) -> list[Diagnostic]:
    """Warning RQ108 for every named attribute whose values are compared as floating point numbers."""
    return [
        Diagnostic(
            "RQ108",
            "warning",
            f"{what} by the double `{name}`, and doubles may differ in their last digit",
            span,
            ("accents that convert a value and convert it back may change its last digit",),
        )
        for name in names
        if types[name].name == "double"
    ]


def compared(side: int, names: tuple[str, ...], inputs: tuple[Facts, ...]) -> Memory:
    """Returns the memory of an operator that compares whole tuples: those of one input, until the other closes them.

    `names`: those of the inputs.
    """
    common = inputs[0].types.keys() & inputs[1].types.keys()
    return Memory(what=f"tuples of `{names[side]}`", side=1 - side, within=frozenset(common), ends=side)
