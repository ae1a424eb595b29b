"""Parts of aggregate functions: carried Alters, result types, pieces of SQL."""

from __future__ import annotations

from fractions import Fraction

from cedilla.compiler.expressions.types import DOUBLE, LONG, MAX_DIGITS, Type
from cedilla.compiler.regions.affine import Affine


def same_alter(alter: Affine) -> Affine:
    """Carries an Alter unchanged to the result (theory 2.8)."""
    return alter


def scaled_alter(alter: Affine) -> Affine | None:
    """Carries an Alter that only scales: a shift counts once for each value, and values are not counted (2.8
    sum).
    """
    return alter if alter.shift == 0 else None


def slope_of_alter(alter: Affine) -> Affine:
    """Scales a difference, such as a deviation, without the shift."""
    return Affine(alter.slope, Fraction(0))


def squared_slope(alter: Affine) -> Affine:
    """Scales a squared difference twice (2.8 var)."""
    return Affine(alter.slope**2, Fraction(0))


def no_alter(alter: Affine) -> None:
    """Carries no Alter: the result is the same in any unit, or follows no function of it."""


def argument_type(argument: Type) -> Type:
    """Returns the type of the argument."""
    return argument


def sum_type(argument: Type) -> Type:
    """Returns a type for the sum of many values: a long, a decimal of ten digits more, or a double."""
    if argument.name == "decimal":
        precision, scale = argument.parameters
        return Type("decimal", (min(MAX_DIGITS, precision + 10), scale))
    return LONG if argument.is_integral else DOUBLE


def all_values(column: str) -> str:
    """Concatenates the arrays of all partial results."""
    return f"flatten(collect_list(`{{p}}${column}`))"


def unless_empty(array: str) -> str:
    """Returns an array, undefined if it is empty."""
    return f"IF(size({array}) > 0, {array}, NULL)"


def let(value: str, name: str, body: str) -> str:
    """Binds a name in SQL, which has no local names except those of lambdas."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def fold_array(array: str, operator: str) -> str:
    """Sums or multiplies an array in ascending order, whatever its order; undefined if empty."""
    return let(
        f"array_sort({array})", "s", f"aggregate(slice(s, 2, size(s)), get(s, 0), (a, b) -> a {operator} b)"
    )
