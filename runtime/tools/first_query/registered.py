"""Writes a first query over a topic from the schemas of its registry: nothing is guessed from records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from cedilla.compiler.plan.topics import is_topic, topic_of
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.formatting.expression_formatter import quote, unit_text
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.control.schemas.changes import Changes
from cedilla.runtime.control.schemas.registry_changes import (
    Declaration,
    are_of_events,
    declaration_of,
    import_subject,
    versions_of,
)


@frozen
class RegisteredQuery:
    """The files of a query, and the changes that its accents state."""

    paths: list[Path]
    base: str
    changes: Changes


def create_from_registry(folder: Path, topic: str, registry: str, subject: str | None) -> RegisteredQuery:
    """Writes a query over a topic in the names of the newest schema, and a file with accents for the older ones.

    `subject`: `TOPIC-value` by default. Raises `DiagnosticError`: RQ440 if the topic or the registry has no address,
    RQ455 if a file exists, RQ505, RQ510 if the registry has no schema that can be read.
    """
    if not is_topic(topic):
        raise failure(
            "RQ440", f"`{topic}` is not the address of a topic", hint="`HOST:PORT/TOPIC`, with --registry URL"
        )
    subject = subject or f"{topic_of(topic).name}-value"
    versions = versions_of(subject, registry)
    newest = versions[-1].number if versions else None
    keys = versions_of(re.sub("-value$", "-key", subject), registry) if are_of_events(versions) else []
    stream = declaration_of(subject, versions, registry, newest, topic, keys)
    changes = import_subject(subject, versions, registry, newest, stream.plan, stream.name)
    query, accents = folder / f"{stream.name}.rq", folder / f"{stream.name}.rqm"
    for path in (query, accents):
        if path.exists():
            hint = "another folder: `cedilla init FOLDER --from TOPIC --registry URL`"
            raise failure("RQ455", f"{path} exists already", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(_lines(stream, subject, changes, accents.name))
    query.write_text(format_query(parse_query(text, query.name, keep_names=True), text), "utf-8")
    accents.write_text(changes.text(), "utf-8")
    return RegisteredQuery([query, accents], stream.base, changes)


def _lines(stream: Declaration, subject: str, changes: Changes, accents: str) -> Iterator[str]:
    yield f"# A first query, written by `cedilla init --from`, from the schemas of `{subject}`."
    yield f"# Names, types and units are those of {stream.base}; accents state what differs in the others."
    yield from (f"# {remark}" for remark in stream.remarks)
    yield stream.text
    if changes.stated:
        yield f"accent {stream.name} from file {quote(accents)};"
    units = ", ".join(f"{name} in {unit_text(unit)}" for name, unit in stream.units.items())
    yield f"\nemit {stream.name} to json {quote(f'out/{stream.name}')}{f' with {units}' if units else ''};"
