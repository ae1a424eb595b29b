"""The folders and topics that a plan reads and writes, and the conflicts among them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from attrs import evolve

from cedilla.compiler.plan.formats import FORMATS, catalogued
from cedilla.compiler.plan.plan import Emit, Plan
from cedilla.compiler.plan.topics import check_output, is_topic, topic_of
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax.settings import as_stored


def check_paths(plan: Plan) -> None:
    """Checks that the folders and topics of a plan do not conflict.

    Raises RQ116 if two emits write to one folder (`-` is standard output and not a folder), RQ225 if a folder
    of markers overlaps with one of tuples, RQ440 and RQ449 if an output cannot be written to a topic.
    """
    for source in plan.sources:
        both = (source.path, source.markers or source.path)
        if source.markers is not None and (is_within(*both) or is_within(*reversed(both))):
            message = f"the marker folder {source.markers} of `{source.name}` and {source.path} overlap"
            hint = f"a folder next to {source.path}, or one in it with a name that begins with `_`"
            raise failure("RQ225", message, source.span, hint=hint)
    taken: dict[str, Emit] = {}
    for emit in plan.emits:
        if emit.is_topic:
            check_output(emit.path, plan.start[emit.relation].types, emit.span)
        for target, shown in _targets(emit):
            if (other := taken.setdefault(target, emit)) is not emit:
                message = f"`{other.name}` and `{emit.name}` are both emitted to {shown}"
                hint = f"each emit requires a place of its own; `--sink {emit.name}=PATH` names another"
                raise failure("RQ116", message, emit.span, hint=hint)


def check_catalogs(plan: Plan) -> None:
    """Raises RQ531 if an output that only a catalog commits is not one of its tables."""
    for emit in plan.emits:
        if emit.format_kind.by_catalog and not (emit.path == "-" or catalogued(emit.path)):
            message = f"`{emit.name}` is emitted to {emit.path}, which is not a table of a catalog"
            hint = f'`to {emit.format} "CATALOG:NAMESPACE.TABLE"`, because only a catalog commits a snapshot'
            raise failure("RQ531", message, emit.span, hint=hint)


def at_paths(
    plan: Plan, sources: Mapping[str, str], sinks: Mapping[str, str], settings: Mapping[str, str]
) -> Plan:
    """Returns a plan with other paths and settings. A folder in place of a topic holds recorded records.

    `sources`: path by source, and by `NAME.markers` for its markers; `sinks`: path by emit.
    """
    return evolve(
        plan,
        sources=[
            evolve(
                source,
                path=(path := sources.get(source.name, source.path)),
                format=_format_at(path, source.format),
                markers=sources.get(f"{source.name}.markers", source.markers),
            )
            for source in plan.sources
        ],
        emits=[_written_to(emit, sinks.get(emit.name, emit.path)) for emit in plan.emits],
        settings={**plan.settings, **{name: as_stored(name, value) for name, value in settings.items()}},
    )


def _written_to(emit: Emit, path: str) -> Emit:
    """Returns an emit with another path."""
    return evolve(emit, path=path, format=_format_at(path, emit.format))


def _format_at(path: str, format_: str) -> str:
    return format_ if is_topic(path) else FORMATS[format_].in_files


def _targets(emit: Emit) -> Iterator[tuple[str, str]]:
    """Yields the targets of an emit, each with its text for messages.

    A topic is compared by its name, a folder by its path. A table of Delta also has a table of markers.
    """
    if emit.is_topic:
        yield f"kafka:{topic_of(emit.path).name}", emit.path
    elif emit.path != "-":
        yield _plain(emit.path), emit.path
        if emit.format_kind.is_table:
            markers = markers_table(emit.path)
            yield _plain(markers), markers


def markers_table(table: str) -> str:
    """Returns the table of Delta that contains the markers of another one."""
    return f"{table.rstrip('/')}_markers"


def is_within(folder: str, other: str) -> bool:
    """Returns True if the content of a folder is also seen in the other one, by their paths."""
    inner, outer = _plain(folder), _plain(other)
    rest = inner.removeprefix(outer)
    return rest != inner and rest[:1] in ("", "/") and not re.search(r"/[._]", rest)


def _plain(path: str) -> str:
    """Returns the normal form of a path for comparison."""
    return (posixpath.normpath(path) if ":" in path else posixpath.abspath(path)).rstrip("/")


def printed_labels(plan: Plan) -> dict[str, str]:
    """Returns the text before each line of an emit that is printed; empty if only one is."""
    printed = [emit.name for emit in plan.emits if emit.path == "-"]
    return {name: f"{name}: " if len(printed) > 1 else "" for name in printed}


def folders(plan: Plan, of: str | None = None) -> Iterator[tuple[str, str, str]]:
    """Yields name, path and description of each folder that is read; the name is that of `--source
    NAME=PATH`.

    `of`: the folders of one source. Topics are not folders, and neither are tables of a catalog.
    """
    for source in plan.sources if of is None else [plan.source_of[of]]:
        if source.is_topic:
            continue
        what = f"{'table' if source.table else 'stream'} `{source.name}`"
        if not source.is_catalogued:
            yield source.name, source.path, what
        if source.markers is not None:
            yield f"{source.name}.markers", source.markers, f"the markers of {what}"
