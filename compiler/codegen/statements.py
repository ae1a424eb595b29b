"""Writes stateless operators as DataFrame code, in Spark's own calls if these stay right after any accent.

An Alter can turn a whole number into a decimal, and either into a double; an Add or a Drop changes the set of
attributes. If the SQL depends on that, the generated program calls the epoch, which writes it for the types of the
epoch's facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from attrs import frozen

from cedilla.compiler.codegen.arguments import call_code
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.expression_sql import sql
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, column
from cedilla.compiler.expressions.types.rounding import bound_sql, rounded_sql, window_numbers_sql
from cedilla.compiler.expressions.units.altered_decimals import WHOLE
from cedilla.compiler.expressions.units.exact_conversions import conversion_sql
from cedilla.compiler.operators import (
    Operator,
    Project,
    Rename,
    Sample,
    Select,
    Window,
)
from cedilla.compiler.plan import Plan
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.formatting.expression_formatter import format_expression
from cedilla.grammar.syntax import Expression
from cedilla.grammar.syntax.connectives import terms

Types = Mapping[str, Type]


# --- an operator's SQL over attributes of some types ---------------------------------------------------------


def condition_sql(operator: Select | Sample, types: Types) -> str:
    """Returns SQL for the predicate. Spark takes a conjunction apart and joins its terms again as a chain, which
    overflows the stack of Java if they are many; inside of a function they remain balanced."""
    text = sql(operator.predicate, types)
    return f"coalesce({text}, false)" if len(terms("and", operator.predicate)) > _MAX_CHAIN else text


_MAX_CHAIN = 200
"""Maximum number of terms of a conjunction that Spark may take apart."""


def items_sql(operator: Project, types: Types) -> dict[str, str]:
    """Returns SQL for the items by name; omits items over attributes that do not exist (P4)."""
    return {
        name: _item_sql(operator, name, expression, types)
        for name, expression in operator.items.items()
        if expressions.attributes(expression) <= types.keys()
    }


def _item_sql(operator: Project, name: str, expression: Expression, types: Types) -> str:
    if (function := operator.conversion(name)) is not None:
        return conversion_sql(name, expression, function, types[name])
    return sql(expression, types)


def window_sql(operator: Window, types: Types) -> str:
    """Returns SQL for the number of a tuple's window, null without a window; one row for each overlapping
    window. For a calendar it is the number that clocks show; `with_windows` computes that of the window from it.
    """
    type_ = types[operator.on]
    if operator.calendar is not None:
        return operator.calendar.shown_sql(column(operator.on))
    axis = type_.axis(column(operator.on))
    if operator.step == operator.length:
        return rounded_sql("floor", axis, type_, Affine(1 / operator.length, 0))
    return f"explode_outer({window_numbers_sql(axis, type_, operator.length, operator.step)})"


def pane_sql(operator: Window, pane: int, types: Types) -> str:
    """Returns the number of the pane of `pane` units that a tuple lies in, null where it has none."""
    type_ = types[operator.on]
    return rounded_sql("floor", type_.axis(column(operator.on)), type_, Affine(Fraction(1, pane), 0))


def windows_of_pane_sql(operator: Window, pane: int, number: str) -> str:
    """Returns a row for each window that contains the pane of a number."""
    numbers = window_numbers_sql(number, LONG, operator.length / pane, operator.step / pane)
    return f"explode_outer({numbers})"


def bounds_sql(operator: Window) -> dict[str, str]:
    """Returns SQL for the named bounds of a window, computed from its number in the first column."""
    number = column(operator.names[0])
    return {
        name: bound_sql(number, operator.gives, bound) if isinstance(bound, Affine) else bound.sql(number)
        for name, bound in operator.bounds.items()
    }


def alias_sql(expression: str, name: str) -> str:
    """Returns an item of a SELECT."""
    return expression if expression == column(name) else f"{expression} AS {column(name)}"


# --- statements ----------------------------------------------------------------------------------------------


@frozen
class Statement:
    """Python code for an operator's DataFrame.

    `by_epoch`: the code calls the epoch; `why`: the reason, if the operator has no state.
    """

    code: str
    why: str | None = None
    by_epoch: bool = False


def statement(plan: Plan, operator: Operator, inputs: tuple[str, ...]) -> Statement:
    """Writes the DataFrame of an operator; `inputs`: the variables of its inputs."""
    call = call_code(operator, inputs)
    if operator.stateful or type(operator) not in _WRITERS:
        return Statement(call, by_epoch=True)
    types = tuple(plan.start[name].types for name in operator.inputs)
    changes, writer = _WRITERS[type(operator)]
    if (why := changes(plan, operator, types)) is not None:
        return Statement(call, why, by_epoch=True)
    code = writer(operator, types[0], *inputs)
    return Statement(f"epoch.cached({code})" if operator.name in plan.shared else code)


def _is_longer(sql: str, expression: Expression) -> bool:
    """Returns True if Spark takes many more words for an expression than the query; texts do not count."""
    ours, theirs = (len(_TEXT.sub("", text)) for text in (sql, format_expression(expression)))
    return ours > 1.5 * theirs + 8


_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
"""A string constant of Spark or of a query."""
_LONGER = "longer in Spark's words"


def _select(operator: Select, types: Types, frame: str) -> str:
    return f"{frame}.where({condition_sql(operator, types)!r})"


def _project(operator: Project, types: Types, frame: str) -> str:
    items = items_sql(operator, types)
    if operator.rest:
        changed = {name: text for name, text in items.items() if text != column(name)}
        return f"{frame}.{_with_columns(changed)}" if changed else frame
    return f"{frame}.selectExpr({', '.join(repr(alias_sql(text, name)) for name, text in items.items())})"


def _rename(operator: Rename, types: Types, frame: str) -> str:
    return f"{frame}.withColumnsRenamed({operator.names!r})"


def _with_columns(texts: Mapping[str, str]) -> str:
    columns = {name: f"F.expr({text!r})" for name, text in texts.items()}
    if len(columns) == 1:
        ((name, code),) = columns.items()
        return f"withColumn({name!r}, {code})"
    return f"withColumns({{{', '.join(f'{name!r}: {code}' for name, code in columns.items())}}})"


# --- what accents may change ---------------------------------------------------------------------------------


def _select_changes(plan: Plan, operator: Select, types: tuple[Types, ...]) -> str | None:
    if _is_longer(condition_sql(operator, types[0]), operator.predicate):
        return _LONGER
    return _widening(types[0], lambda wider: condition_sql(operator, wider))


def _project_changes(plan: Plan, operator: Project, types: tuple[Types, ...]) -> str | None:
    if operator.excepts:
        return "attributes may come and go"
    if operator.name in plan.placed and not operator.rest:
        return "with the place of each tuple"
    if later := sorted(operator.reads(0).keys() - types[0].keys()):
        return f"`{later[0]}` may come later"
    if operator.absorb and (whole := [n for n in operator.items if _may_widen(types[0][n])]):
        return f"`{whole[0]}` is a double where a double keeps it"
    if any(_is_longer(text, operator.items[name]) for name, text in items_sql(operator, types[0]).items()):
        return _LONGER
    return _widening(types[0], lambda wider: str(items_sql(operator, wider)))


def _rename_changes(plan: Plan, operator: Rename, types: tuple[Types, ...]) -> str | None:
    if operator.names.keys() & {*operator.names.values()}:
        return "names change places"
    return _attributes_change(plan, operator)


def _attributes_change(plan: Plan, operator: Operator) -> str | None:
    fixed = all(_has_fixed_attributes(plan, name) for name in operator.inputs)
    return None if fixed else "attributes may come and go"


_WRITERS: dict[type[Operator], tuple[Callable[..., str | None], Callable[..., str]]] = {
    Select: (_select_changes, _select),
    Project: (_project_changes, _project),
    Rename: (_rename_changes, _rename),
}
"""Functions that explain why fixed Spark calls are not enough for an operator, `None` if they are; and that write them.
"""


def _widening(types: Types, text: Callable[[Types], str]) -> str | None:
    """Names an attribute that an Alter may give another type, if that changes some SQL; else returns `None`."""
    plain = text(types)
    for name, wider in _widened(types):
        why = f"`{name}` may become a {wider[name].name}"
        try:
            if text(wider) != plain:
                return why
        except DiagnosticError:  # the operator does not exist on such numbers
            return why
    return None


def _widened(types: Types) -> Iterator[tuple[str, Types]]:
    """Yields types with a double for each alterable attribute, alone and together with all before it. For whole numbers
    also with the decimal that they become if they stay exact (theory N12)."""
    for wide in (DOUBLE, WHOLE):
        together = dict(types)
        for name, type_ in types.items():
            if _may_widen(type_) and (type_.is_integral or wide == DOUBLE):
                together[name] = wide
                yield name, {**types, name: wide}
                yield name, dict(together)


def _may_widen(type_: Type) -> bool:
    return type_.is_numeric and type_ != DOUBLE


def _has_fixed_attributes(plan: Plan, relation: str) -> bool:
    """Returns True if accents cannot add attributes to a relation: a projection lists all of them."""
    operator = plan.operator_of.get(relation)
    if operator is None:
        return False
    fixed = operator.fixed_attributes(plan.inputs_of(operator))
    return fixed if fixed is not None else all(_has_fixed_attributes(plan, name) for name in operator.inputs)
