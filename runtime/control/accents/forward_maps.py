"""The functions from canonical to raw values, by attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from cedilla.compiler.regions import Tree


class ForwardMaps(Mapping[str, Tree]):
    """Trees of functions. A description needs few of them, so each is made when something asks for it.

    `ready`: the trees that exist already. `others`: further attributes, whose trees `of` makes.
    """

    def __init__(self, ready: Mapping[str, Tree], others: Iterable[str], of: Callable[[str], Tree]) -> None:
        self._trees = dict(ready)
        self._names = dict.fromkeys((*ready, *others))
        self._of = of

    def __getitem__(self, name: str) -> Tree:
        if name not in self._trees and name in self._names:
            self._trees[name] = self._of(name)
        return self._trees[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names
