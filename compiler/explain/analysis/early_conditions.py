"""Conditions on the texts of a source that hold for every tuple that a query uses: a reader may apply them first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cedilla.compiler.expressions.expression_sql import sql
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.plan import Plan
from cedilla.grammar.syntax import Attribute, Binary, Expression, InSet, Literal
from cedilla.grammar.syntax.connectives import terms

_MAX_TERMS = 20
"""Maximum number of terms of a predicate that is looked at: a reader skips little by more."""


def early_conditions(plan: Plan, source: str, types: Mapping[str, Type]) -> tuple[tuple[str, str], ...]:
    """Returns comparisons of one text attribute with constants, each as the attribute and SQL.

    Only one operator may read the source, which requires these terms. `types`: those of the source's attributes.

    >>> from cedilla.compiler.compile import compile_query
    >>> plan = compile_query('''
    ...   stream r(city: string, t: double, u: double) from parquet "r";
    ...   hot := select[city in {"Oslo", "Rome"} and t > u](r);
    ...   emit hot to json "hot";
    ... ''').plan
    >>> early_conditions(plan, "r", plan.start["r"].types)
    (('city', "city IN ('Oslo', 'Rome')"),)
    """
    readers = [operator for operator in plan.operators if source in operator.inputs]
    others = [emit for emit in plan.emits if emit.relation == source]
    required = readers[0].required() if len(readers) == 1 and not others else None
    if required is None:
        return ()
    conditions = terms("and", required)
    return tuple(_of_texts(conditions, types)) if len(conditions) <= _MAX_TERMS else ()


def _of_texts(conditions: list[Expression], types: Mapping[str, Type]) -> Iterator[tuple[str, str]]:
    for condition in conditions:
        name = _compared(condition)
        if name is not None and name in types and types[name].name == "string":
            yield name, sql(condition, types)


def _compared(condition: Expression) -> str | None:
    """Returns the attribute that a condition compares with constants; `None` for another form."""
    match condition:
        case Binary("=" | "<" | "<=" | ">" | ">=", Attribute(name=name), Literal()):
            return name
        case Binary("=" | "<" | "<=" | ">" | ">=", Literal(), Attribute(name=name)):
            return name
        case InSet(Attribute(name=name), negated=False):
            return name
        case _:
            return None
