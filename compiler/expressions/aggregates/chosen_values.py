"""Aggregate functions that choose among the values of an argument, and those of their bits."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler.expressions.aggregates.aggregate_function import Function
from cedilla.compiler.expressions.aggregates.aggregate_parts import (
    all_values,
    argument_type,
    no_alter,
    same_alter,
    unless_empty,
)
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, array_of


def best(usage: str, ascending: str) -> Function:
    """Returns the least or greatest values, the extreme one first."""
    return Function(
        usage,
        {"best": f"slice(sort_array(collect_list({{x}}), {ascending}), 1, {{k}})"},
        {"best": f"slice(sort_array({all_values('best')}, {ascending}), 1, {{k}})"},
        unless_empty("`{p}$best`"),
        unless_empty("`{p}$best`"),
        same_alter,
        array_of,
        ("value", "size"),
    )


def end_of(name: str, end: str) -> Function:
    """Returns the first or last value. The order of arrival may have ties, so the value counts too."""
    return Function(
        f"{name}(x)",
        {"end": f"{end}(struct({{order}} AS o, {{x}} AS v)) FILTER (WHERE {{x}} IS NOT NULL)"},
        {"end": f"{end}(`{{p}}$end`)"},
        "`{p}$end`.v",
        "`{p}$end`",
        same_alter,
        argument_type,
        ("value",),
        ordered=True,
        several=_ends_of(f"{name}(x, 3)", end == "max"),
    )


def _ends_of(usage: str, from_the_end: bool) -> Function:
    """Returns the first or last values, in their order."""

    def some(values: str) -> str:
        in_order = f"array_sort({values})"
        return f"slice({f'reverse({in_order})' if from_the_end else in_order}, 1, {{k}})"

    return Function(
        usage,
        {"ends": some("collect_list(struct({order} AS o, {x} AS v)) FILTER (WHERE {x} IS NOT NULL)")},
        {"ends": some(all_values("ends"))},
        unless_empty("transform(array_sort(`{p}$ends`), e -> e.v)"),
        unless_empty("`{p}$ends`"),
        same_alter,
        array_of,
        ("value", "size"),
        ordered=True,
    )


def extreme(name: str, end: str) -> Function:
    """Returns the first argument where the second is extreme; of several, the extreme one."""
    return Function(
        f"{name}(x, y)",
        {"extreme": f"{end}(struct({{key}} AS o, {{x}} AS v)) FILTER (WHERE {{x}} IS NOT NULL)"},
        {"extreme": f"{end}(`{{p}}$extreme`)"},
        "`{p}$extreme`.v",
        "`{p}$extreme`",
        same_alter,
        argument_type,
        ("value", "value"),
    )


def _most_frequent(argument: Type) -> Function:
    """Returns the first of the longest runs of equal values in ascending order."""
    run = "IF(a.n > 0 AND a.now = v, a.n + 1L, 1L)"
    none = f"CAST(NULL AS {argument.spark})"
    return evolve(
        MODE,
        finish=f"aggregate(array_sort(`{{p}}$all`), "
        f"named_struct('best', {none}, 'most', 0L, 'now', {none}, 'n', 0L), "
        f"(a, v) -> named_struct('best', IF({run} > a.most, v, a.best), 'most', greatest({run}, a.most), "
        f"'now', v, 'n', {run})).best",
    )


def bits(name: str) -> Function:
    """Returns the bits of all values together. A number is rounded, because an Alter makes whole ones doubles."""

    def over(argument: Type) -> Function | None:
        if argument.is_integral:
            return None
        whole = "round({x})" if argument == DOUBLE else "round({x}, 0)"
        fits = f"{whole} >= -9223372036854775808D AND {whole} < 9223372036854775808D"
        value = (
            f"try_cast({whole} AS BIGINT)"
            if argument != DOUBLE
            else (f"CASE WHEN {fits} THEN CAST({whole} AS BIGINT) END")
        )
        return evolve(plain, partials={"bits": f"{name}({value})"})

    plain = Function(
        f"{name}(x)",
        {"bits": f"{name}(CAST({{x}} AS BIGINT))"},
        {"bits": f"{name}(`{{p}}$bits`)"},
        "`{p}$bits`",
        "`{p}$bits`",
        no_alter,
        LONG,
    )
    return evolve(plain, special=over)


MODE = Function(
    "mode(x)",
    {"all": "collect_list({key})"},
    {"all": all_values("all")},
    "NULL",
    unless_empty("`{p}$all`"),
    same_alter,
    argument_type,
    ("value",),
    special=_most_frequent,
)
