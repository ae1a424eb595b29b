"""Finds files whose tuples have no attribute of the stream (RQ320). If all attributes are optional, each line is an
empty tuple, and nothing else reports it. A missing required attribute quarantines the lines (RQ302)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.field_paths import FieldPath, levels, path_text
from cedilla.compiler.plan.formats import FORMATS
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.connectors.records.json_objects import JsonObject, parse_line
from cedilla.runtime.connectors.records.near_markers import marker_of
from cedilla.runtime.connectors.records.nested import objects_at, value_at

_MAX_SHOWN = 5
_OVERLAP = 256
"""Number of bytes of a block that are searched again with the next block; names are shorter."""


def is_asked(source: Source) -> bool:
    """Returns True for a source whose tuples may lack all attributes."""
    kind = source.format_kind
    # A header of columns is checked by itself, and a request has points of any attributes.
    is_seen = kind.place == "folder" and kind.fields in ("objects", "name")
    return is_seen and not source.changes and all(a.optional for a in source.attributes)


def paths_read(source: Source, attributes: Iterable[str]) -> list[FieldPath]:
    """Returns all paths at which a source reads attributes. `attributes`: its attributes by all of their names."""
    return [path for paths in source.field_paths(attributes) for path in paths]


def keys_beside(item: Mapping[str, Any], paths: Iterable[FieldPath]) -> list[FieldPath]:
    """Returns the keys of each object of a tuple that contains the end of a path, from outside in. Other keys belong to
    an envelope.

    >>> keys_beside({"id": 7, "payload": {"powr": 1.5}}, [("payload", "power")])
    [('payload', 'powr')]
    """
    return [(*level, key) for level, inner in objects_at(item, levels(paths)) for key in inner]


def has_some(item: Mapping[str, Any], paths: Collection[FieldPath]) -> bool:
    """Returns True if a tuple has a value at some path, or an empty object at the end of one."""
    if any(_has(item, path) for path in paths):
        return True
    filled = {level for level, inner in objects_at(item, levels(paths)) if inner}
    return any(level and level not in filled and _has(item, level) for level in levels(paths))


def outer_paths(paths: Iterable[FieldPath]) -> set[FieldPath]:
    """Returns the objects, except for the tuple itself, through which paths lead."""
    return {path[:end] for path in paths for end in range(1, len(path))}


def _has(item: Mapping[str, Any], path: FieldPath) -> bool:
    inner = value_at(item, path[:-1])
    return isinstance(inner, dict) and path[-1] in inner


def shown_keys(item: Mapping[str, Any], paths: Iterable[FieldPath], form: str) -> list[str]:
    """Returns the keys of a tuple that are named in messages: those next to attributes, else its outer keys."""
    return [shown_path(key, form) for key in keys_beside(item, paths) or [(key,) for key in item]]


def shown_path(path: FieldPath, form: str) -> str:
    """Returns a path as `from` names it; in formats whose tuples are flat the key itself."""
    return path_text(path) if FORMATS[form].has_objects else path[0]


def keys_of(blocks: Iterable[bytes], paths: Collection[FieldPath], form: str) -> list[str] | None:
    """Returns the keys of the first tuple of a file; `None` if a tuple has an attribute at one of some paths. `form`:
    json or xml."""
    if form == "json":
        return _keys_of_lines(blocks, paths)
    return _keys_of_elements(blocks, {path[0] for path in paths})


def _keys_of_lines(blocks: Iterable[bytes], paths: Collection[FieldPath]) -> list[str] | None:
    first: list[str] | None = None
    for item in tuples_in(_lines(blocks)):
        if has_some(item, paths):
            return None
        first = shown_keys(item, paths, "json") if first is None else first
    return first or []


def tuples_in(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yields the objects of lines that are neither markers nor malformed."""
    for line in lines:
        try:
            item = parse_line(line.decode())
        except ValueError:
            continue
        if marker_of(line.decode(), item) is None:
            yield item


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield from lines
    yield rest


def _keys_of_elements(blocks: Iterable[bytes], names: Set[str]) -> list[str] | None:
    sign = re.compile(rf"<(?:{'|'.join(map(re.escape, sorted(names)))})[\s/>]".encode())
    start = rest = b""
    for block in blocks:
        start = start or block
        if sign.search(rest + block):
            return None
        rest = block[-_OVERLAP:]
    names_in_start = re.findall(rb"<([^\s<>/!?:]+)[^<>]*>[^<]*</\1", start)
    return list(dict.fromkeys(name.decode("utf-8", "replace") for name in names_in_start))


_LEAF_OR_END = re.compile(rb"<([^\s<>/!?:]+)[^<>]*>[^<]*</\1\s*>|</")


def keys_of_element(text: bytes) -> list[str]:
    """Returns the names of the elements in the first tuple of XML."""
    keys: list[str] = []
    for match in _LEAF_OR_END.finditer(text):
        if match[1] is not None:
            keys.append(match[1].decode("utf-8", "replace"))
        elif keys:  # the end of the tuple
            break
    return keys


def unrelated_file(source: Source, file: str, keys: Sequence[str], attributes: Iterable[str]) -> Diagnostic:
    """Returns RQ320. `keys`: the keys of the first tuple of the file; `attributes`: the attributes."""
    names = sorted(attributes)
    shown = ", ".join(f"`{key}`" for key in keys[:_MAX_SHOWN]) + (", ..." if len(keys) > _MAX_SHOWN else "")
    message = f"no tuple of {file} has an attribute of `{source.name}`: all of them are empty"
    guesses = ((key, suggest(key.rpartition(".")[2], names)) for key in keys)  # a path by its last key
    near = next((f"did you mean `{guess}` by `{key}`? " for key, guess in guesses if guess), "")
    notes = (f"the first one has {shown}",) if keys else ()
    return Diagnostic("RQ320", "warning", message, None, notes, f"{near}known attributes: {', '.join(names)}")
