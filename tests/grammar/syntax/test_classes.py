"""Lean classes are those of attrs, but for the code that they share."""

from __future__ import annotations

import attrs
import pytest

from cedilla.grammar.syntax.classes import lean


@attrs.frozen
class Own:
    name: str
    place: int = attrs.field(default=0, eq=False, repr=False)
    items: tuple[object, ...] = ()


@lean
class Shared:
    name: str
    place: int = attrs.field(default=0, eq=False, repr=False)
    items: tuple[object, ...] = ()


@lean
class Other(Shared):
    pass


@lean
class Empty:
    pass


@lean(kw_only=True)
class Text:
    name: str

    def __repr__(self) -> str:
        return self.name


VALUES = [("a",), ("a", 1), ("b",), ("a", 0, (1,)), ("a", 0, ("x", None))]


@pytest.mark.parametrize("values", VALUES)
def test_text_and_comparison_are_those_of_attrs(values: tuple[object, ...]) -> None:
    own, shared = Own(*values), Shared(*values)  # pyright: ignore[reportArgumentType]
    assert repr(shared) == repr(own).replace("Own", "Shared")
    for others in VALUES:
        other = Shared(*others)  # pyright: ignore[reportArgumentType]
        assert (shared == other) == (own == Own(*others))  # pyright: ignore[reportArgumentType]
        assert shared != other or hash(shared) == hash(other)


def test_other_classes_are_never_equal() -> None:
    assert Shared("a") != Other("a")
    assert Shared("a") != "a"
    assert Empty() == Empty()
    assert len({Shared("a"), Other("a"), Shared("a", 5), Empty(), Empty()}) == 3


def test_the_rest_is_attrs() -> None:
    shared = attrs.evolve(Shared("a", 3), name="b")
    assert (shared, shared.place) == (Shared("b"), 3)
    assert not hasattr(shared, "__dict__")
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        shared.name = "c"  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        Text("a")  # pyright: ignore[reportCallIssue]
    assert repr(Shared("a", items=(Text(name="t"),))) == "Shared(name='a', items=(t,))"
