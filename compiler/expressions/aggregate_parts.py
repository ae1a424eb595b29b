"""What aggregate functions are put together from: carried Alters, result types, pieces of SQL."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.types import DOUBLE, LONG, Type
from cedilla.compiler.regions.affine import Affine


def same_alter(alter: Affine) -> Affine:
    """The result goes through what its argument goes through (theory 2.8)."""
    return alter


def scaled_alter(alter: Affine) -> Affine | None:
    """The same where an Alter only scales: a shift counts once for each value, and they are not counted (2.8 sum)."""
    return alter if alter.shift == 0 else None


def slope_of_alter(alter: Affine) -> Affine:
    """A difference, such as a deviation, is scaled and not shifted."""
    return Affine(alter.slope, Fraction(0))


def squared_slope(alter: Affine) -> Affine:
    """A squared difference is scaled twice (2.8 var)."""
    return Affine(alter.slope**2, Fraction(0))


def no_alter(alter: Affine) -> None:
    """None is carried on: the result is the same in any unit, or follows no function of it."""


def argument_type(argument: Type) -> Type:
    """The result has the type of the argument."""
    return argument


def double_type(argument: Type) -> Type:
    """The result is a double."""
    return DOUBLE


def long_type(argument: Type) -> Type:
    """The result is a long."""
    return LONG


def sum_type(argument: Type) -> Type:
    """The result has room for many values: a long, a decimal of ten digits more, or a double."""
    if argument.name == "decimal":
        precision, scale = argument.parameters
        return Type("decimal", (min(38, precision + 10), scale))
    return LONG if argument.is_integral else DOUBLE


def all_values(column: str) -> str:
    """The arrays of all partial results as one."""
    return f"flatten(collect_list(`{{p}}${column}`))"


def unless_empty(array: str) -> str:
    """An array, undefined where it is empty."""
    return f"IF(size({array}) > 0, {array}, NULL)"


def let(value: str, name: str, body: str) -> str:
    """SQL has no local names but those of lambdas."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def fold_array(array: str, operator: str) -> str:
    """Sum or product of an array from its least element on, whatever order it comes in; undefined if empty."""
    return let(
        f"array_sort({array})", "s", f"aggregate(slice(s, 2, size(s)), get(s, 0), (a, b) -> a {operator} b)"
    )
