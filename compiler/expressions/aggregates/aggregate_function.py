"""The specification of an aggregate function.

All texts are Spark SQL templates. `{x}` and `{y}` are the arguments, null if a tuple does not count. `{real}`
is the first of them as a double, `{key}` the last one with one zero, and `{k}` a constant argument. `{order}` is
the order of arrival, and `{p}` the name of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal as OneOf

from attrs import field, frozen

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.compiler.regions.affine import Affine

Carry = Callable[[Affine], Affine | None]
Takes = OneOf["value", "number", "string", "counts", "list", "share", "size", "circle", "text"]
"""The kinds of arguments: any value, a number, a string, a list of whole numbers, one of numbers; a constant in [0, 1],
a positive whole one, a positive one, a string.
"""

CONSTANTS: tuple[Takes, ...] = ("share", "size", "circle", "text")


@frozen
class Function:
    """One aggregate function. `usage`: a sample call.

    `partials`: suffix -> SQL, computed per group over new tuples; `aggregate_kinds` has their types by suffix.
    `merge`: suffix -> SQL over the partial columns ``{p}$suffix`` of partial results of a group, in any grouping of
    them. `finish`: SQL over merged columns. `has_value`: SQL over partial columns, null if no value came. `carry`: the
    effect of an argument's Alter on the result; `None` absorbs it. `gives`: the result type, or a function of that of
    the first argument. `ordered`: the result depends on the order of arrival.
    """

    usage: str
    partials: Mapping[str, str]
    merge: Mapping[str, str]
    finish: str
    has_value: str
    carry: Carry
    gives: Type | Callable[[Type], Type]
    takes: tuple[Takes, ...] = ("number",)
    ordered: bool = False
    has_entries: bool = False
    """True: `partials` and `merge` are not aggregates, but arrays of entries of each row, and those of equal bounds are
    added (`histograms`)."""
    distinct: Function | None = field(default=None, repr=False)
    """The function over distinct values; `None` if the language does not have it."""
    special: Callable[[Type], Function | None] = field(default=lambda _: None, repr=False)
    """Returns another function for arguments of a type, if that type needs one."""
    several: Function | None = field(default=None, repr=False)
    """The function with a count as one more argument: its result is a list."""

    def over(self, argument: Type) -> Function:
        return self.special(argument) or self

    def with_arguments(self, count: int) -> Function:
        """Returns the function for a number of arguments."""
        return self.several if self.several is not None and count > len(self.takes) else self

    def type(self, argument: Type) -> Type:
        """Returns the result type for a first argument of a type."""
        return self.gives if isinstance(self.gives, Type) else self.gives(argument)

    def can_take(self, type_: Type) -> bool:
        """Returns True if the first argument may be of a type."""
        counts = type_.element is not None and type_.element.is_integral
        return {"number": type_.is_numeric, "string": type_ == STRING, "counts": counts}.get(
            self.takes[0], True
        )
