"""Frozen classes of attrs that share one comparison, hash and text.

attrs compiles these for each class, which took a quarter of a short command. Classes that are compared often keep their
own, which take half the time: they are `frozen`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

from attrs import NOTHING, Attribute, define, field

Class = TypeVar("Class", bound=type)


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def lean(cls: Class) -> Class: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def lean(*, kw_only: bool) -> Callable[[Class], Class]: ...
def lean(cls: Any = None, *, kw_only: bool = False) -> Any:
    """Class decorator: as `frozen`, for classes that are seldom compared."""
    return partial(_made, kw_only=kw_only) if cls is None else _made(cls)


def _made(cls: Any, kw_only: bool = False) -> Any:
    if "__repr__" not in vars(cls):
        cls.__repr__ = _text
    made = define(cls, frozen=True, on_setattr=None, eq=False, kw_only=kw_only)
    attributes: tuple[Attribute[Any], ...] = made.__attrs_attrs__
    values = attrgetter("__class__", *(one.name for one in attributes if one.eq))

    def is_equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    made.__eq__, made.__hash__ = is_equal, hashed
    return made


@recursive_repr()
def _text(self: Any) -> str:
    attributes: tuple[Attribute[Any], ...] = self.__attrs_attrs__
    shown = (f"{one.name}={getattr(self, one.name, NOTHING)!r}" for one in attributes if one.repr)
    return f"{type(self).__qualname__.rpartition('>.')[2]}({', '.join(shown)})"
