"""Functions one after the other, and all functions by their names (theory N3, N7, N11)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, cast, get_args

from attrs import frozen

from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.compiler.regions.bent import ByPoints, Reciprocal, Shift
from cedilla.compiler.regions.function import Function, Number, NumberFunction
from cedilla.compiler.regions.levels import NO_POINTS, Level, Tree, Value
from cedilla.compiler.regions.logarithms import Logarithm, Power, joined
from cedilla.compiler.regions.value_mapping import ValueMapping
from cedilla.compiler.regions.wrapped import Wrapped

Link = Affine | Reciprocal | ByPoints | Logarithm | Power | Shift | Wrapped


@frozen(cache_hash=True)
class Chain(NumberFunction):
    """Functions one after the other, the first one first. One of them is bent, or together they fall."""

    links: tuple[Link, ...]

    name: ClassVar[str] = "chain"

    @classmethod
    def load(cls, *parameters: Any) -> Chain:
        (links,) = parameters
        return cls(tuple(cast("Link", load_function(link)) for link in links))

    def takes_exact(self, value: Number) -> bool:
        """Returns True if each function takes what those before it make of a number."""
        return self.of(value) is not None

    def of(self, value: Value) -> Value | None:
        image: Value | None = value
        for link in self.links:
            if image is None:
                break
            image = link.of(image)
        return image

    def image(self, node: Level, outside: Tree | None) -> Tree:
        tree: Tree = node
        for link in self.links:
            if not (isinstance(tree, Level) and tree.attribute == node.attribute):
                tree = Level(node.attribute, tree, (), (tree,), NO_POINTS)
            tree = link.image(tree, outside)
        return tree

    def __call__(self, value: Number) -> Number:
        for link in self.links:
            value = link(value)
        return value

    def inverse(self) -> Chain:
        return Chain(tuple(link.inverse() for link in reversed(self.links)))

    def of_double(self, value: float) -> float:
        for link in self.links:
            value = link.of_double(value)
        return value

    def sql(self, column: str) -> str:
        """Returns SQL that takes the same steps; null outside of the domain."""
        result = column
        for link in self.links:
            result = f"({link.sql(result)})"
        return f"CASE WHEN abs({column}) < double('Infinity') THEN {result} END"

    def text(self, parameter: str) -> str:
        """Returns the functions one inside of the other; those by points, and after them, in their order."""
        texts = [parameter]
        for link in self.links:
            if isinstance(link, ByPoints):
                texts += [link.text(parameter), parameter]
            else:
                inner = texts[-1] if texts[-1] == parameter else f"({texts[-1]})"
                texts[-1] = link.text(inner)
        return ", then ".join(text for text in texts if text != parameter)


Bent = Reciprocal | ByPoints | Logarithm | Power | Shift | Wrapped | Chain


def affine_of(function: Affine | Bent) -> Affine | None:
    """Returns a function as an affine one, which may fall; `None` if it bends."""
    links = _links(function)
    return links[0] if len(links) == 1 and isinstance(links[0], Affine) else None


def after(last: Affine | Bent, first: Affine | Bent) -> Affine | Bent:
    """Returns the composition `last ∘ first`.

    >>> pace = after(Reciprocal(60), Affine(1, -5))  # first minus 5, then 60 through it
    >>> pace.text("y")
    '60 / (y - 5)'
    >>> pace.takes(6), pace.takes(5)  # it takes the values above 5
    (True, False)
    >>> after(Reciprocal(60), pace).text("y")  # a reciprocal undoes itself
    'y - 5'
    """
    if isinstance(last, Affine) and isinstance(first, Affine):
        return last.after(first)
    links: list[Link] = []
    for following in (*_links(first), *_links(last)):
        link = following
        while links and (both := _merged(links[-1], link)) is not None:
            links.pop()
            link = both
        if not link.is_identity:
            links.append(link)
    match links:
        case []:
            return IDENTITY
        case [only]:
            return _alone(only)
        case several:
            return Chain(tuple(several))


@lru_cache(4096)
def composed(last: Function, first: Function) -> Function:
    """Returns `last ∘ first` of two functions of one kind: both are value mappings, or neither, but for identities."""
    if first.is_identity:
        return last
    if last.is_identity:
        return first
    if isinstance(first, ValueMapping):
        return cast("ValueMapping", last).after(first)
    return after(cast("Affine | Bent", last), cast("Affine | Bent", first))


def _merged(first: Link, last: Link) -> Link | None:
    """Returns two functions as one, if that is possible."""
    match first, last:
        case Affine(), Affine():
            return last.after(first)
        case Shift(), Shift():
            return Shift(first.micros + last.micros)
        case _ if not isinstance(last, Affine) and first.inverse() == last:
            return IDENTITY
        case _:
            return joined(first, last)


def _alone(link: Link) -> Affine | Bent:
    """Returns a link as a function: an affine one that falls is a chain."""
    return Chain((link,)) if isinstance(link, Affine) and not link.rises else cast("Affine | Bent", link)


def _links(function: Affine | Bent) -> tuple[Link, ...]:
    return function.links if isinstance(function, Chain) else (function,)


def parts(function: Affine | Bent) -> tuple[Affine | Bent, ...]:
    """Returns functions that together are one, the first one first; an accent can write each of them.

    >>> scale = after(ByPoints(((0, 0), (1, 5))), Affine(2, 0))
    >>> [part.text("y") for part in parts(after(Affine(-3, 0), scale))]
    ['y * 2', 'by points {(0, 0), (1, 5)}', 'y * -3']
    """
    return tuple(_alone(link) for link in _links(function))


def ends_with(function: Affine | Bent, last: Bent) -> bool:
    """Returns True if the last steps of a function are those of another one. Several shifts are one, of a multiple."""
    if last.is_identity:
        return False
    if isinstance(last, Shift):
        *_, final = _links(function)
        return isinstance(final, Shift) and final.micros % last.micros == 0 and final.micros * last.micros > 0
    return _links(function)[-len(_links(last)) :] == _links(last)


FUNCTIONS: tuple[type[Function], ...] = (ValueMapping, *get_args(Link), Chain)
"""The classes of all functions."""
_BY_NAME = {function.name: function for function in FUNCTIONS}


def load_function(data: list[Any]) -> Function:
    """Returns a function that `Function.dump` wrote."""
    name, *parameters = data
    of = _BY_NAME.get(name)
    return Affine.load(*data) if of is None else of.load(*parameters)
