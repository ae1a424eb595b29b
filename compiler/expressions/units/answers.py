"""Keeps what units mean between processes, so that most commands need no pint, which takes longer to load than the rest
of a check.

Only answers that are functions of names are kept, no errors. They hold as long as the files that they come from are
unchanged: definitions, pint, and this package.
"""

from __future__ import annotations

import atexit
import pickle
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from attrs import define, field

from cedilla.compiler.regions import affine, logarithms
from cedilla.grammar.parsing import cache_dir

CACHE_SIZE = 1024
_MOST = 4096
"""The number of answers that are kept."""
_Key = tuple[Any, ...]
_P = ParamSpec("_P")
_R = TypeVar("_R")


def remembered(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Returns a function of names and numbers that knows its earlier answers, also those of other processes."""

    compute: Callable[..., _R] = function

    @lru_cache(CACHE_SIZE)
    @wraps(function)
    def answer(*arguments: Any) -> Any:
        kept, key = answers(), (function.__name__, *arguments)
        if key not in kept.by_question:
            kept.add(key, compute(*arguments))
        return kept.by_question[key]

    return cast(Callable[_P, _R], answer)


@define
class Answers:
    """Answers by the name of the function and its arguments. `file`: where they are kept, if anywhere."""

    file: Path | None
    by_question: dict[_Key, Any] = field(factory=dict[_Key, Any])
    is_new: bool = False

    def add(self, key: _Key, answer: Any) -> None:
        """Adds an answer, and keeps all at the end of the process."""
        self.by_question[key] = answer
        if not self.is_new and self.file is not None:
            atexit.register(self.write)
        self.is_new = True

    def write(self) -> None:
        """Writes the answers in one rename, with those that other processes have written. A folder that cannot be
        written costs time only."""
        if self.file is None:
            return
        every = {**_read(self.file), **self.by_question}
        cache_dir.write(self.file, _origin(), pickle.dumps(dict([*every.items()][-_MOST:])))


@cache
def answers() -> Answers:
    """Returns the answers of this process."""
    file = cache_dir.place("units")
    return Answers(file, {} if file is None else _read(file))


def _read(file: Path) -> dict[_Key, Any]:
    """Returns the answers in a file; none if it is spoilt, or of other definitions."""
    return cache_dir.read(file, _origin()) or {}


@cache
def _origin() -> tuple[tuple[str, int, int], ...]:
    """Returns name, length and time of each file that answers come from."""
    return tuple(
        (file.name, status.st_size, status.st_mtime_ns) for file in _files() if (status := file.stat())
    )


def _files() -> Iterator[Path]:
    yield from sorted(file for file in Path(__file__).parent.iterdir() if file.is_file())
    yield from (Path(module.__file__ or "") for module in (affine, logarithms))
    for package, names in (
        ("pint", ("__init__.py", "default_en.txt")),
        ("ucumvert", ("pint_ucum_defs.txt",)),
    ):
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            yield from (Path(spec.origin).with_name(name) for name in names)
