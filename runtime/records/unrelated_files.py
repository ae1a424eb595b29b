"""Finds files whose tuples have no attribute of the stream (RQ320). If all attributes are optional, each line is an
empty tuple, and nothing else reports it. A missing required attribute quarantines the lines (RQ302)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from cedilla.compiler.plan import Source
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.records.json_objects import parse_line
from cedilla.runtime.records.near_markers import marker_of

_MAX_SHOWN = 5
_OVERLAP = 256
"""Number of bytes of a block that are searched again with the next block; names are shorter."""


def is_asked(source: Source) -> bool:
    """Returns True for a source whose tuples may lack all attributes."""
    return source.format in ("json", "xml", "parquet") and all(a.optional for a in source.attributes)


def names_read(source: Source, attributes: Iterable[str]) -> frozenset[str]:
    """Returns the keys under which a source reads attributes. `attributes`: its attributes by all of their names."""
    return source.columns(attributes)


def keys_of(blocks: Iterable[bytes], names: Set[str], form: str) -> list[str] | None:
    """Returns the keys of the first tuple of a file; `None` if a tuple has one of some names. `form`: json or xml."""
    return _keys_of_lines(blocks, names) if form == "json" else _keys_of_elements(blocks, names)


def _keys_of_lines(blocks: Iterable[bytes], names: Set[str]) -> list[str] | None:
    first: list[str] | None = None
    for line in _lines(blocks):
        try:
            item = parse_line(line.decode())
        except ValueError:
            continue
        if marker_of(line.decode(), item) is None:
            if not names.isdisjoint(item):
                return None
            first = [*item] if first is None else first
    return first or []


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
    near = next(
        (f"did you mean `{guess}` by `{key}`? " for key in keys if (guess := suggest(key, names))), ""
    )
    notes = (f"the first one has {shown}",) if keys else ()
    return Diagnostic("RQ320", "warning", message, None, notes, f"{near}known attributes: {', '.join(names)}")
