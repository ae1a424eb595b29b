"""The status of a source or an output, and the lines that show it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from cedilla.compiler.explain.tree import unit_lines
from cedilla.grammar.diagnostics.printable import counted
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.journal import JOURNAL, Undeclared, read_journal

_SHOWN = 20
"""The number of undeclared fields that are shown."""


@frozen
class Stream:
    """A source or an output, with its accents and punctuations so far as texts.

    Descriptions are in canonical values: the units of the query's start. `domains`: those that come from
    tables. `units`: those of canonical values, as declared, added or computed. `offsets`: the next ones, by
    partition of a topic. `inferred`: attributes that `set drift = infer` added, with their epoch. `undeclared`: fields
    that no attribute reads, with the number of files, of those that were looked at.
    """

    name: str
    accents: tuple[str, ...]
    closed: str | None
    domains: tuple[str, ...] = ()
    units: Mapping[str, str] = {}
    offsets: Mapping[str, int] = {}
    inferred: Mapping[str, int] = {}
    undeclared: Mapping[str, int] = {}


def source_lines(stream: Stream) -> list[str]:
    """Returns what `status` shows below the name of a stream."""
    closed = [] if stream.closed is None else [f"closed: {stream.closed}"]
    offsets = ", ".join(f"{partition}: {offset}" for partition, offset in stream.offsets.items())
    read = [f"next offsets: {offsets}"] if offsets else []
    inferred = ", ".join(f"{name} in epoch {epoch}" for name, epoch in stream.inferred.items())
    return [
        *read,
        *unit_lines(stream.units),
        *([f"inferred, announced by nothing: {inferred}"] if inferred else []),
        *_undeclared(stream.undeclared),
        *stream.domains,
        *(stream.accents or ("as at its start",)),
        *closed,
    ]


def undeclared_fields(checkpoint: str) -> Undeclared:
    """Returns the files with each such field, by source."""
    journal = read_journal(Files(), f"{checkpoint.rstrip('/')}/{JOURNAL}") or {}
    return journal.get("undeclared", {})


def _undeclared(fields: Mapping[str, int]) -> list[str]:
    """Returns a line about the fields of a source, the commonest first; no line without fields."""
    if not fields:
        return []
    most = sorted(fields.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = ", ".join(f"`{name}` in {counted(files, 'file')}" for name, files in most[:_SHOWN])
    more = f", and {len(most) - _SHOWN:,} more" if len(most) > _SHOWN else ""
    return [f"read by no attribute: {shown}{more}"]
