"""Renames a relation, an attribute through all operators, a constant or a user's operator."""

from __future__ import annotations

import re
from collections.abc import Callable

from cedilla.compiler.plan import Source
from cedilla.compiler.plan.formats import FORMATS
from cedilla.grammar.formatting.expression_formatter import quote
from cedilla.runtime.hosts.language_server.document import Document
from cedilla.runtime.hosts.language_server.fixes import Edit
from cedilla.runtime.hosts.language_server.symbols import Occurrence

_CAN_CHANGE = ("relation", "attribute", "constant", "operator")


class Refused(ValueError):
    """A name cannot be changed; the text gives the reason."""


def renamed_at(document: Document, offset: int) -> Occurrence:
    """Returns the name at a place. Raises `Refused` if it cannot be changed."""
    name = document.names.at(offset, document.source)
    if name is None or name.kind not in _CAN_CHANGE:
        raise Refused("no name of this query is here")
    if any(use.source != document.source for use in document.names.uses(name.symbol)):
        raise Refused(f"{name.name} is also in a file that other queries may use")
    return name


def rename(
    document: Document,
    offset: int,
    new: str,
    in_markers: Callable[[Source, str], str | None] = lambda source, name: None,
) -> list[Edit]:
    """Returns the edits that give a thing another name, so that the query means the same.

    A source still reads the field of the old name: its attribute gets `from "old"`. Raises `Refused` if the name cannot
    be changed, or if the text after it has an error or mixes the new name with another thing of that name. Also if
    markers name a declared attribute: those that were sent cannot be changed. `in_markers`: returns a file with such
    markers.
    """
    name = renamed_at(document, offset)
    uses = sorted(document.names.uses(name.symbol), key=lambda use: use.start)
    for source in () if document.plan is None else document.plan.sources:
        if (
            any(_declares(source, use) for use in uses)
            and (file := in_markers(source, name.name)) is not None
        ):
            hint = f"`rename[{name.name} as {new}](R)` renames it after the source"
            raise Refused(f"markers of {file} name `{name.name}`, and are in the stream for good; {hint}")
    edits = [Edit(use.start, use.end, new) for use in dict.fromkeys(uses)]
    edits += [edit for use in uses if use.declares and (edit := _origin(document, use)) is not None]
    edits.sort(key=lambda edit: edit.start)
    text = applied(document.text, edits)
    after = Document(text, document.source)
    before = {(use.code, use.message) for use in document.diagnostics if use.severity == "error"}
    for use in after.diagnostics:
        if use.severity == "error" and (use.code, use.message.replace(new, name.name)) not in before:
            raise Refused(f"{use.code}: {use.message}")
    changed = after.names.at(_moved(name.start, edits), document.source)
    if changed is None or len([*after.names.uses(changed.symbol)]) != len(uses):
        raise Refused(f"`{new}` has another meaning in this query")
    return edits


def _declares(source: Source, use: Occurrence) -> bool:
    span = source.span
    return use.declares and span is not None and span.start <= use.start < span.end


def applied(text: str, edits: list[Edit]) -> str:
    """Returns a text after several edits, which do not overlap."""
    for edit in sorted(edits, key=lambda item: item.start, reverse=True):
        text = edit.applied(text)
    return text


def _moved(offset: int, edits: list[Edit]) -> int:
    return offset + sum(len(edit.new) - (edit.end - edit.start) for edit in edits if edit.end <= offset)


_TYPE = re.compile(r"\s*\??\s*:\s*\w+(?:\s*\([^)]*\))?")
_FORMAT = re.compile(r"\)\s*from\s+(\w+)\s+[\"']")


def _origin(document: Document, declared: Occurrence) -> Edit | None:
    """Returns the edit that keeps the field of a declared attribute; `None` if the declaration names its field.

    Raises `Refused` if its format has no other names.
    """
    type_ = _TYPE.match(document.text, declared.end)
    end = declared.end if type_ is None else type_.end()
    if document.text[end:].lstrip().startswith("from"):
        return None
    format_ = _FORMAT.search(document.text, end)
    if format_ is None or not FORMATS[format_[1]].has_objects:
        raise Refused(
            f"`{declared.name}` is a column of its files; `rename[{declared.name} as ...](R)` renames it"
        )
    return Edit(end, end, f" from {quote(declared.name)}")
