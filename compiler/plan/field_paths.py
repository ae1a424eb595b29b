"""Paths of values in objects: the keys that lead to an attribute's value, from outside in.

A path is keys with dots between them, `address.city`. A key with a dot, or with a backtick (which is
doubled), is put in backticks, `` labels.`service.name` ``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import evolve

from cedilla.compiler.expressions.types.zones import check_zone
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure

if TYPE_CHECKING:
    from cedilla.compiler.expressions.types import Type
    from cedilla.compiler.plan.sources import Attribute

FieldPath = tuple[str, ...]


class TextPath(FieldPath):
    """The path of a text which contains a number: `from text "state"`."""


class CommaPath(TextPath):
    """The path of a text which contains a number with a decimal comma: `x: double decimal ","`. It may be the
    attribute's own name."""


class EitherSignPath(CommaPath):
    """The same with a comma or a point, `x: double decimal "," or "."`, for texts that cannot be whole thousands."""


class EitherPath(FieldPath):
    """The first path of an attribute with several: `from "state" or "state.reading"`. `every`: all of them. `type`:
    the attribute's, because values of several paths are compared."""

    every: tuple[FieldPath, ...]
    type: Type

    @classmethod
    def of(cls, every: tuple[FieldPath, ...], type_: Type) -> EitherPath:
        """Returns the paths as one."""
        path = cls(every[0])
        path.every, path.type = every, type_
        return path


def alternatives(keys: FieldPath) -> tuple[FieldPath, ...]:
    """Returns all paths of an attribute; usually one."""
    return keys.every if isinstance(keys, EitherPath) else (keys,)


def leads_into(outer: FieldPath, keys: FieldPath) -> bool:
    """Returns True if a path leads into the value of another."""
    return len(outer) < len(keys) and keys[: len(outer)] == outer


def overlap(one: FieldPath, other: FieldPath) -> bool:
    """Returns True if two paths are equal, or one leads into the value of the other."""
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def outer_keys(paths: Iterable[FieldPath]) -> set[str]:
    """Returns the keys of a tuple with which paths begin."""
    return {path[0] for keys in paths for path in alternatives(keys)}


TEXT = "text"
"""The word before the path of a number inside a text."""

_PLAIN = re.compile(r"[^.`]+")
_KEY = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))(\.|$)")

WITH_TEXTS = ("csv", "json", "kafka", "xml")
"""The formats of sources whose texts may be numbers with a decimal comma, or local times."""
NESTED = ("json", "kafka", "kafka_otlp", "otlp")
"""The formats of sources whose tuples are nested objects."""
_WITH_PATHS = ("json", "kafka")
"""The formats in which a rename may give a path."""
_WITH_ANY_NAMES = (*_WITH_PATHS, "csv", "kafka_otlp", "otlp")
"""The formats in which a field may have any name, in quotes."""


def field_path_of(origin: syntax.Origin | None, format_: str) -> FieldPath:
    """Parses the path of an origin; returns an empty path for `None`. In CSV it is the name of a column. Raises RQ145
    for an invalid path."""
    if origin is None:
        return ()
    if format_ == "csv" and origin.root is None:
        return (origin.text,)
    if origin.root == TEXT:
        return TextPath(_keys_in(origin.text, origin.span))
    return _keys_in(origin.text, origin.span) if origin.root is None else (origin.root, origin.text)


def other_paths_of(origin: syntax.Origin | None, format_: str) -> tuple[FieldPath, ...]:
    """Parses the paths of an origin after `or`, as `field_path_of`."""
    others = () if origin is None else origin.others
    return tuple(field_path_of(evolve(origin, text=text, others=()), format_) for text in others)


def renamed_field(name: str, format_: str, span: Span | None) -> str:
    """Returns the name of a field in a rename; a path in its usual form. Raises RQ145 for an invalid path, RQ146 in a
    format whose fields have plain names only."""
    if name.isidentifier():
        return name
    if format_ not in _WITH_ANY_NAMES:
        message = f'tuples of format `{format_}` have plain names, and the accent renames to "{name}"'
        raise failure("RQ146", message, span, hint=f"names in quotes are for {', '.join(_WITH_ANY_NAMES)}")
    if not name.isprintable():
        raise failure("RQ145", "the accent renames to a name with control characters", span)
    return path_text(_keys_in(name, span)) if format_ in _WITH_PATHS else name


def field_path(field: str, format_: str) -> FieldPath:
    """Returns the keys of a field that has no declared path: its name, or those in the path of a rename."""
    return _keys_in(field, None) if format_ in _WITH_PATHS and not field.isidentifier() else (field,)


def paths_after(
    paths: Mapping[str, FieldPath], names: Mapping[str, str], format_: str
) -> dict[str, FieldPath]:
    """Returns the paths of fields after renames. `paths`: the declared ones. `names`: new names -> attributes. Numbers
    inside of texts stay there."""
    after = dict(paths)
    for name, attribute in names.items() if format_ in _WITH_PATHS else ():
        keys = field_path(name, format_)
        if isinstance(paths.get(attribute), TextPath):
            after[name] = TextPath(keys)
        elif keys != (name,):
            after[name] = keys
    if len(after) > len(paths):
        outer = outer_keys(after.values())
        after |= {n: (n,) for n in (*names, *names.values()) if n in outer and n not in after}
    return after


def _keys_in(text: str, span: Span | None) -> FieldPath:
    keys: list[str] = []
    position, end = 0, "."
    while end and (match := _KEY.match(text, position)) is not None:
        quoted, plain, end = match.groups()
        keys.append(plain if quoted is None else quoted.replace("``", "`"))
        position = match.end()
    if end or position < len(text):
        hint = "keys with dots between them, as in `address.city`; a key with a dot is written in backticks"
        raise failure("RQ145", f'"{text}" is not a path', span, hint=hint)
    return tuple(keys)


def path_text(keys: FieldPath) -> str:
    """Writes keys as a path, and alternatives with `or`."""
    return " or ".join(
        ".".join(key if _PLAIN.fullmatch(key) else f"`{key.replace('`', '``')}`" for key in path)
        for path in alternatives(keys)
    )


def _check_text(declared: syntax.AttributeDeclaration, origin: syntax.Origin) -> None:
    if declared.type.name not in ("int", "long", "double", "decimal"):
        message = f"`{declared.name}` is {declared.type.name}, and `from text` reads numbers"
        hint = f'`from "{origin.text}"` reads a text as it is'
        raise failure("RQ164", message, origin.span, hint=hint)


def _check_comma(declared: syntax.AttributeDeclaration, format_: str) -> None:
    if declared.type.name not in ("double", "decimal"):
        message = f"`{declared.name}` is {declared.type.name}, which has no decimal comma"
        raise failure(
            "RQ164", message, declared.span, hint='`decimal ","` is for `double` and `decimal(p, s)`'
        )
    if format_ not in WITH_TEXTS:
        message = (
            f"`{declared.name}` has a decimal comma, and format `{format_}` has no texts of numbers here"
        )
        raise failure("RQ164", message, declared.span, hint=f"decimal commas are for {', '.join(WITH_TEXTS)}")


def _check_zone(declared: syntax.AttributeDeclaration, zone: str, format_: str) -> None:
    if declared.type.name != "timestamp":
        message = f"`{declared.name}` is {declared.type.name}, which has no zone"
        raise failure("RQ174", message, declared.span, hint='`at: timestamp zone "Europe/Berlin"`')
    if format_ not in WITH_TEXTS:
        message = f"`{declared.name}` has a zone, and format `{format_}` has no texts of times"
        hint = f"zones are for {', '.join(WITH_TEXTS)}; elsewhere a timestamp is a moment"
        raise failure("RQ174", message, declared.span, hint=hint)
    check_zone(zone, declared.span)


def _check_alternatives(
    node: syntax.StreamDeclaration, declared: syntax.AttributeDeclaration, origin: syntax.Origin
) -> None:
    is_plain = origin.root is None and not declared.decimal_comma and declared.zone is None
    if origin.others and not (is_plain and node.format in _WITH_ALTERNATIVES):
        hint = '`from "PATH" or "PATH"`, in `json`, `kafka` and `csv`, without a decimal comma or a zone'
        message = "`or` is between paths or names of columns"
        raise failure("RQ242", message, origin.span, hint=hint)


_WITH_ALTERNATIVES = ("json", "kafka", "csv")


def check_field_paths(node: syntax.StreamDeclaration, attributes: Mapping[str, Attribute]) -> None:
    """Checks the paths of a declaration.

    Raises RQ146 for a path in a flat format, RQ145 if two attributes come from one key, or one from inside
    another, RQ164 if an attribute that is read from a text, or has a decimal comma, is not such a number, RQ173 and
    RQ174 for zones, and RQ242 for alternatives that are not paths.
    """
    taken: dict[FieldPath, str] = {}
    for declared in node.attributes:
        if (origin := declared.origin) is not None and origin.root == TEXT:
            _check_text(declared, origin)
        if declared.decimal_comma:
            _check_comma(declared, node.format)
        if declared.zone is not None:
            _check_zone(declared, declared.zone, node.format)
        attribute = attributes[declared.name]
        every = (attribute.keys or (declared.name,), *attribute.others)
        span = declared.span if declared.origin is None else declared.origin.span
        is_column = node.format == "csv" and declared.origin is not None and declared.origin.root is None
        if declared.origin is not None and node.format not in NESTED and not is_column:
            message = f"`{declared.name}` has a path, and tuples of format `{node.format}` are flat here"
            hint = (
                "paths are for `json`, `kafka` and `otlp`, names of columns for `csv`; "
                "elsewhere an attribute has its column's name"
            )
            if declared.origin.root == TEXT:
                hint = f"a number is read as it is declared there, `{declared.name}: {declared.type.name}`"
            raise failure("RQ146", message, span, hint=hint)
        if declared.origin is not None:
            _check_alternatives(node, declared, declared.origin)
        if (twice := next((keys for keys in every if every.count(keys) > 1), None)) is not None:
            message = f"`{declared.name}` has the path {path_text(twice)} twice"
            raise failure("RQ145", message, span, hint="leave one of them out")
        for keys in every:
            _check_own(declared.name, keys, taken, span)
        taken |= dict.fromkeys(every, declared.name)


def _check_own(name: str, keys: FieldPath, taken: Mapping[FieldPath, str], span: Span) -> None:
    for other, of in taken.items():
        if overlap(other, keys):
            message = f"`{name}` is read from {path_text(keys)}, and `{of}` from {path_text(other)}"
            raise failure("RQ145", message, span, hint="each attribute has a value of its own")
