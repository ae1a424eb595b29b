"""Aggregate functions: partial results, their merging, and what an Alter does to them (theory 2.8)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from attrs import frozen

from cedilla.compiler.affine import Affine
from cedilla.compiler.types import DOUBLE, LONG, Type

Carry = Callable[[Affine], Affine | None]


@frozen
class Function:
    """One aggregate function.

    `partials`: suffix -> SQL over the argument `{x}`, computed per group over new tuples.
    `merge`: suffix -> SQL over the partial columns ``{p}$suffix`` of several partial results of a group.
    `finish`: SQL over the merged partial columns. `carry`: what becomes of an argument's Alter on the result;
    `None` absorbs it. `type`: result type by argument type.
    """

    partials: dict[str, str]
    merge: dict[str, str]
    finish: str
    carry: Carry
    type: Callable[[Type], Type]
    numeric: bool = True


def _same(alter: Affine) -> Affine:
    return alter


def _scale(alter: Affine) -> Affine | None:
    return alter if alter.shift == 0 else None


def _slope(alter: Affine) -> Affine:
    return Affine(alter.slope, Fraction(0))


def _square(alter: Affine) -> Affine:
    return Affine(alter.slope**2, Fraction(0))


def _sum_type(argument: Type) -> Type:
    if argument.name == "decimal":
        precision, scale = argument.parameters
        return Type("decimal", (min(38, precision + 10), scale))
    return LONG if argument.is_integral else DOUBLE


_MOMENTS = {"n": "count({x})", "mean": "avg({x})", "m2": "var_pop({x}) * count({x})"}
# Chan, Golub and LeVeque's pairwise update: stable where sums of squares would cancel.
_MERGED = (
    "aggregate(collect_list(struct(`{p}$n` AS n, `{p}$mean` AS mean, `{p}$m2` AS m2)), "
    "named_struct('n', 0L, 'mean', 0D, 'm2', 0D), "
    "(a, b) -> IF(coalesce(b.n, 0L) = 0, a, named_struct("
    "'n', a.n + b.n, "
    "'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
    "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n))))"
)
_MERGE_MOMENTS = {part: f"{_MERGED}.{part}" for part in _MOMENTS}

FUNCTIONS: dict[str, Function] = {
    "avg": Function(
        {"sum": "sum(CAST({x} AS DOUBLE))", "n": "count({x})"},
        {"sum": "sum(`{p}$sum`)", "n": "sum(`{p}$n`)"},
        "`{p}$sum` / nullif(`{p}$n`, 0)",
        _same,
        lambda _: DOUBLE,
    ),
    "sum": Function({"sum": "sum({x})"}, {"sum": "sum(`{p}$sum`)"}, "`{p}$sum`", _scale, _sum_type),
    "count": Function(
        {"n": "count({x})"},
        {"n": "sum(`{p}$n`)"},
        "coalesce(`{p}$n`, 0L)",
        lambda _: None,
        lambda _: LONG,
        numeric=False,
    ),
    "min": Function(
        {"min": "min({x})"}, {"min": "min(`{p}$min`)"}, "`{p}$min`", _same, lambda t: t, numeric=False
    ),
    "max": Function(
        {"max": "max({x})"}, {"max": "max(`{p}$max`)"}, "`{p}$max`", _same, lambda t: t, numeric=False
    ),
    "var": Function(
        _MOMENTS, _MERGE_MOMENTS, "IF(`{p}$n` > 1, `{p}$m2` / (`{p}$n` - 1), NULL)", _square, lambda _: DOUBLE
    ),
    "stddev": Function(
        _MOMENTS,
        _MERGE_MOMENTS,
        "IF(`{p}$n` > 1, sqrt(`{p}$m2` / (`{p}$n` - 1)), NULL)",
        _slope,
        lambda _: DOUBLE,
    ),
}
"""Name in the language -> function; `var` and `stddev` are those of a sample, as in Spark."""
