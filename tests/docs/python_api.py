"""Writes the page of the Python API from signatures and docstrings.

A docstring describes a parameter as `name`: text, and errors after "Raises"; the rest of it is shown as it stands.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import attrs
import click

import cedilla
from cedilla.compiler.compile import CompiledQuery
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.produce import Stream
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.hosts.cli.main import main
from cedilla.runtime.hosts.embedding.query import Query, Run
from cedilla.runtime.hosts.embedding.results import Results
from cedilla.runtime.tools.reading import reading
from cedilla.runtime.tools.reading.reading import Reading
from tests.docs.markdown import table

CLASSES: tuple[type, ...] = (Query, Run, Results, Reading, Stream, CompiledQuery, EpochReport, Diagnostic)
"""Classes that public functions return or pass on, beside those with public names."""
_INTERNAL = ("check", "decoded", "frames", "items", "of_query")
"""Public members that only the package itself uses."""
_SENTENCE = re.compile(r"(?<=\.)\s(?=[A-Z`(])")
_PART = re.compile(r"; (?=`\w+`(?:, `\w+`)*: )")
_DESCRIBED = re.compile(r"(?P<names>`\w+`(?:, `\w+`)*): (?P<text>.+?)\.?$")


def python() -> str:
    parts = [
        "# Python API\n\n`import cedilla` gives the names below; `from cedilla.produce import Stream` the one that "
        "writes streams. Nothing is imported before it is used, and only `run`, `Query.run`, `Query.start` and "
        "`foreach_batch` start an engine. [In your own program](../in-your-own-program.md) and "
        "[writing a stream](../produce.md) have examples."
    ]
    public = [(name, getattr(cedilla, name)) for name in cedilla.__all__ if name != "__version__"]
    for name, value in sorted(public, key=lambda item: inspect.isclass(item[1])):
        parts += (
            _class(f"cedilla.{name}", value)
            if inspect.isclass(value)
            else _function(f"cedilla.{name}", value, "##")
        )
    for kind in CLASSES:
        parts += _class("cedilla.produce.Stream" if kind is Stream else kind.__name__, kind)
    return "\n\n".join(parts)


def without_meaning() -> Iterator[str]:
    """Yields parameters that no docstring describes; the methods of a `Stream` have those of accents."""
    for function in _functions():
        if function.__qualname__.startswith("Stream."):
            continue
        names = _parameters(function)
        yield from (
            f"{function.__qualname__}: {name}" for name in names if name not in _parsed(function, names)[1]
        )


def _functions() -> Iterator[Any]:
    for name in cedilla.__all__:
        value = getattr(cedilla, name)
        if inspect.isfunction(value):
            yield value
    for kind in CLASSES:
        yield from (member for _, member in _members(kind) if inspect.isfunction(member))
    yield Stream


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yields the methods and properties of a class in their order."""
    for name, member in vars(kind).items():
        is_shown = inspect.isfunction(member) or isinstance(member, property)
        if is_shown and not name.startswith("_") and name not in _INTERNAL and inspect.getdoc(member):
            yield name, member


def _class(title: str, kind: type) -> Iterator[str]:
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    names = [field.name for field in fields if not field.name.startswith("_") and field.name not in _INTERNAL]
    is_called = (
        title.startswith("cedilla.") and not issubclass(kind, Exception) and kind is not cedilla.DataSource
    )
    prose, meanings, errors = _parsed(
        kind, [*names, *(_parameters(kind) if is_called and not fields else ())]
    )
    yield f"## {title}"
    if is_called and not fields:
        yield _signature(title, kind)
    yield from prose
    if kind is cedilla.Options:
        rows = (
            (f"`{f.name}`", f"`{_type(str(f.type), kind)}`", f"`{_default(f.default)}`", _help(f.name))
            for f in fields
        )
        yield table(("field", "type", "default", "meaning"), rows)
    elif names:
        rows = ((f"`{n}`", f"`{_type(str(_field(kind, n).type), kind)}`", meanings.get(n, "")) for n in names)
        yield table(("field", "type", "meaning"), rows)
    elif is_called:
        yield _table(kind, meanings)
    if errors:
        yield f"Errors: {errors}"
    if issubclass(kind, Exception) or kind is cedilla.DataSource:
        return
    for name, member in _members(kind):
        if isinstance(member, property):
            type_ = _type(_returned(member.fget), member.fget)
            yield f"### {kind.__name__}.{name}\n\n`{type_}`. {' '.join((inspect.getdoc(member) or '').split())}"
        else:
            yield from _function(f"{kind.__name__}.{name}", member, "###")


def _field(kind: type, name: str) -> Any:
    return getattr(attrs.fields(kind), name)


def _function(title: str, function: Any, level: str) -> Iterator[str]:
    prose, meanings, errors = _parsed(function, _parameters(function))
    yield f"{level} {title}"
    yield _signature(title, function, is_typed=not meanings)
    yield from prose
    if meanings:
        yield _table(function, meanings)
    if errors:
        yield f"Errors: {errors}"


def _parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def _signature(title: str, function: Any, *, is_typed: bool = False) -> str:
    """Returns a call with names and defaults, and with types if no table has them."""
    words: list[str] = []
    is_keyword = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            words.append("*")
            is_keyword = True
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = f": {_type(str(parameter.annotation), function)}" if is_typed else ""
        equal = " = " if is_typed else "="
        default = "" if parameter.default is parameter.empty else f"{equal}{_default(parameter.default)}"
        words.append(f"{star}{parameter.name}{kind}{default}")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            words.append("/")
    returns = "" if inspect.isclass(function) else _type(_returned(function), function)
    return f"```python\n{title}({', '.join(words)}){f' -> {returns}' if returns else ''}\n```"


def _returned(function: Any) -> str:
    return str(inspect.signature(function).return_annotation)


def _table(function: Any, meanings: Mapping[str, str]) -> str:
    rows = (
        (f"`{name}`", f"`{_type(str(p.annotation), function)}`", meanings.get(name, ""))
        for name, p in inspect.signature(function).parameters.items()
        if name not in ("self", "cls")
    )
    return table(("parameter", "type", "meaning"), rows)


def _default(value: Any) -> str:
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
        return repr(value.factory())
    return "..." if callable(value) else repr(value)


def _type(text: str, owner: Any) -> str:
    """Returns a type in which names of literals and mappings stand for their content."""
    names = {**vars(reading), **vars(sys.modules[owner.__module__])}

    def expanded(word: re.Match[str]) -> str:
        value = names.get(word[0])
        if value is None or inspect.isclass(value) or inspect.ismodule(value) or value is Any:
            return word[0]
        options = get_args(value)
        if options and all(isinstance(option, str) for option in options):
            return f"Literal[{', '.join(map(repr, options))}]"
        return re.sub(r"\b(?:[a-z_]+\.)+", "", str(value))

    return re.sub(r"\b\w+\b(?![\[.])", expanded, text)


def _help(name: str) -> str:
    """Returns what `cedilla run --help` says of an option."""
    option = next(p for p in main.commands["run"].params if isinstance(p, click.Option) and p.name == name)
    return f"{' '.join((option.help or '').split())} (`{option.opts[0]}`)"


def _parsed(value: Any, names: list[str]) -> tuple[list[str], Mapping[str, str], str]:
    """Returns the paragraphs of a docstring without its parameters, the meanings of these, and errors."""
    paragraphs: list[str] = []
    meanings: dict[str, str] = {}
    errors: list[str] = []
    doc = inspect.getdoc(value) or ""
    if value is Stream:
        names = _parameters(value)
    for paragraph in doc.split("\n\n"):
        rest: list[str] = []
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            if sentence.startswith("Raises ") or (errors and not rest):
                errors.append(sentence.removeprefix("Raises "))
                continue
            for part in _PART.split(sentence):
                match = _DESCRIBED.match(part)
                described = re.findall(r"\w+", match["names"]) if match else []
                if match and described and set(described) <= set(names):
                    meanings |= dict.fromkeys(described, match["text"])
                else:
                    rest.append(part if part.endswith((".", ":")) else f"{part}.")
        if rest:
            paragraphs.append(" ".join(rest))
    return paragraphs, meanings, " ".join(errors)
