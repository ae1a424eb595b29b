"""The registry of codes: the meaning and the resolution of every diagnostic."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from attrs import field, frozen

from cedilla.grammar.diagnostics import Severity

FAMILIES = {
    "RQ0": "The text",
    "RQ1": "The query",
    "RQ2": "Accents and punctuations",
    "RQ3": "Tuples",
    "RQ4": "The run",
}
"""The first letters of codes -> their subject."""

_ELSEWHERE = {"RQ46": "RQ2", "RQ324": "RQ4", "RQ325": "RQ4", "RQ5": "RQ4", "RQ600": "RQ2", "RQ6": "RQ1"}
"""The first letters of codes that belong to another subject than their number says."""


@frozen
class Code:
    """One code.

    `example`: a relation, or statements. `markers`: accents of a stream. `lines`: lines of a stream, or of the table
    that gives its domain. `file`: the file of the lines, if its name matters. `command`: what reports the code;
    otherwise `trace` does for accents, and `check` or else `simulate` for the rest. `test`: the module of `tests` that
    produces a code without an example. `page`: a page of `docs`.
    """

    name: str
    meaning: str
    fix: str
    page: str
    severity: Severity = "error"
    example: str | None = None
    markers: tuple[str, ...] = field(default=(), converter=tuple)
    lines: tuple[str, ...] = field(default=(), converter=tuple)
    file: str | None = None
    command: str | None = None
    test: str | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """Returns the parts of the example in order."""
        return tuple(filter(None, (self.example, *self.markers, self.file, *self.lines, self.command)))

    @property
    def family(self) -> str:
        """Returns the key of `FAMILIES` that the code belongs to."""
        return next((key for start, key in _ELSEWHERE.items() if self.name.startswith(start)), self.name[:3])


@cache
def codes() -> dict[str, Code]:
    """Returns all codes by their names, in their order."""
    import tomllib  # only commands about codes read them

    text = files("cedilla.grammar").joinpath("codes.toml").read_text("utf-8")
    return {name: Code(name, **entry) for name, entry in sorted(tomllib.loads(text).items())}
