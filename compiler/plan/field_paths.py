"""Paths of values in objects: the keys that lead to an attribute's value, from outside in.

A path is keys with dots between them, `address.city`. A key with a dot, or with a backtick (which is
doubled), is put in backticks, `` labels.`service.name` ``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import evolve

from cedilla.compiler.plan.change_events import CHANGE, EVENT
from cedilla.compiler.plan.formats import FORMATS, names_where
from cedilla.compiler.plan.record_fields import ROOTS, path_of
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure

if TYPE_CHECKING:
    from cedilla.compiler.expressions.types import Type

FieldPath = tuple[str, ...]


class TextPath(FieldPath):
    """The path of a text which contains a number: `from text "state"`."""


class CommaPath(TextPath):
    """The path of a text which contains a number with a decimal comma: `x: double decimal ","`. It may be the
    attribute's own name."""


class EitherSignPath(CommaPath):
    """The same with a comma or a point, `x: double decimal "," or "."`, for texts that cannot be whole thousands."""


class PointPath(TextPath):
    """The same with a point again, after an accent `decimal(x, ".")`."""


_SIGNED: Mapping[str, type[TextPath]] = {",": CommaPath, ",.": EitherSignPath, ".": PointPath}


def with_signs(keys: FieldPath, signs: str) -> FieldPath:
    """Returns the path of a text which contains a number with one of these decimal signs."""
    return _SIGNED[signs](keys)


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


def kinds_of(paths: Mapping[str, FieldPath]) -> dict[str, tuple[type[FieldPath], FieldPath]]:
    """Returns paths that are equal only if they are read in the same way; the paths themselves compare their keys."""
    return {name: (type(keys), keys) for name, keys in paths.items()}


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


def levels(paths: Iterable[FieldPath]) -> set[FieldPath]:
    """Returns the objects that contain the last keys of paths, by the keys that lead there; `()`: the tuple itself."""
    return {path[:-1] for keys in paths for path in alternatives(keys)}


TEXT = "text"
"""The word before the path of a number inside a text."""

_PLAIN = re.compile(r"[^.`]+")
_KEY = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))(\.|$)")


def field_path_of(origin: syntax.Origin | None, format_: str, *, of_rows: bool = False) -> FieldPath:
    """Parses the path of an origin; returns an empty path for `None`. In CSV it is the name of a column. `of_rows`: the
    tuples are rows in change events. Raises RQ145 for an invalid path."""
    if origin is None:
        return ()
    if of_rows and origin.root == CHANGE:
        return (EVENT, *_keys_in(origin.text, origin.span))
    if FORMATS[format_].has_columns and origin.root is None:
        return (origin.text,)
    if FORMATS[format_].beside and origin.root in ROOTS:
        return path_of(origin.root, origin.text)
    if origin.root == TEXT:
        return TextPath(_keys_in(origin.text, origin.span))
    return _keys_in(origin.text, origin.span) if origin.root is None else (origin.root, origin.text)


def in_files(origin: syntax.Origin, format_: str) -> syntax.Origin:
    """Returns the origin that reads the same in files: a field of records is a key in their lines."""
    if not FORMATS[format_].is_topic or origin.root not in ROOTS:
        return origin
    return evolve(origin, root=None, text=path_text(path_of(origin.root, origin.text)))


def other_paths_of(origin: syntax.Origin | None, format_: str) -> tuple[FieldPath, ...]:
    """Parses the paths of an origin after `or`, as `field_path_of`."""
    others = () if origin is None else origin.others
    return tuple(field_path_of(evolve(origin, text=text, others=()), format_) for text in others)


def renamed_field(name: str, format_: str, span: Span | None) -> str:
    """Returns the name of a field in a rename; a path in its usual form. Raises RQ145 for an invalid path, RQ146 in a
    format whose fields have plain names only."""
    if name.isidentifier():
        return name
    if not FORMATS[format_].has_any_names:
        message = f'tuples of format `{format_}` have plain names, and the accent renames to "{name}"'
        formats = names_where(lambda kind: kind.has_any_names)
        raise failure("RQ146", message, span, hint=f"names in quotes are for {', '.join(formats)}")
    if not name.isprintable():
        raise failure("RQ145", "the accent renames to a name with control characters", span)
    return path_text(_keys_in(name, span)) if FORMATS[format_].has_objects else name


def field_path(field: str, format_: str) -> FieldPath:
    """Returns the keys of a field that has no declared path: its name, or those in the path of a rename."""
    return _keys_in(field, None) if FORMATS[format_].has_objects and not field.isidentifier() else (field,)


def paths_after(
    paths: Mapping[str, FieldPath], names: Mapping[str, str], format_: str
) -> dict[str, FieldPath]:
    """Returns the paths of fields after renames. `paths`: those of attributes. `names`: new names -> attributes.
    Numbers inside of texts stay there, with their signs."""
    after = dict(paths)
    for name, attribute in names.items() if FORMATS[format_].texts else ():
        keys, of = field_path(name, format_), paths.get(attribute)
        if isinstance(of, TextPath):
            after[name] = type(of)(keys)
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
