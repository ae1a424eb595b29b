"""Compares a query with the subject of a registry: `cedilla check --registry`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from cedilla.compiler import regions
from cedilla.compiler.expressions.types import patterns
from cedilla.compiler.plan import Plan, Source
from cedilla.compiler.plan.record_fields import is_schema
from cedilla.compiler.plan.topics import topic_of
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.grammar.parser import parse_accent
from cedilla.grammar.syntax.marker_nodes import Primitive
from cedilla.runtime.connectors.topics.registry import SchemaVersion
from cedilla.runtime.control.schemas.changes import Entry, Stated, Undecided
from cedilla.runtime.control.schemas.registry_changes import (
    ComparedVersion,
    compared,
    listed_ids,
)

_Statement = tuple[str, str]
"""A word for the change that a part of an accent states, and its attribute."""
_WORDS = {
    syntax.RenameAttribute: "name",
    syntax.SetUnit: "unit",
    syntax.AlterAttribute: "unit",
    syntax.DropAttribute: "drop",
    syntax.AddAttribute: "add",
    syntax.RecodeAttribute: "codes",
}


def usual_subject(source: Source) -> str:
    """Returns the subject that serializers give the values of a topic."""
    return f"{topic_of(source.path).name}-value"


def check_source(
    plan: Plan, source: Source, subject: str, versions: Sequence[SchemaVersion]
) -> tuple[str, list[Diagnostic]]:
    """Returns which versions of a subject a query names, as text, and warnings: RQ523 to RQ525.

    Raises `DiagnosticError` RQ510 as `compared` does.
    """
    comparison = compared(subject, versions, source)
    ids = listed_ids(source)
    diagnostics = [
        Diagnostic("RQ525", "warning", f"`{name}` is in no version of `{subject}`", source.span, help=_ABSENT)
        for name in comparison.absent
    ]
    others: list[ComparedVersion] = []
    for version in comparison.versions:
        if ids is None or version.id in ids:
            diagnostics += _of_version(source, version)
        else:
            others.append(version)
            diagnostics.append(_unknown(plan, source, subject, version))
    read = ", ".join(version.name for version in comparison.versions if version not in others)
    unread = ", ".join(version.name for version in others)
    more = f"; not {unread}" if unread else ""
    return f"{source.name} reads of `{subject}`: {read or 'no version'}{more}", diagnostics


_ABSENT = 'a field of another name is read by `from "path"`; one that comes later is added by an accent'


def _unknown(plan: Plan, source: Source, subject: str, version: ComparedVersion) -> Diagnostic:
    (name,) = (a.name for a in source.attributes if is_schema(a))
    then = {
        "quarantine": "its records are set aside (RQ520)",
        "abort": "its first record ends the query (RQ520)",
        "import": "a run imports it",
    }[plan.settings["unknown_schema"]]
    return Diagnostic(
        "RQ523",
        "warning",
        f"`{name}` does not list the schema {version.id} of `{subject}` ({version.name}): {then}",
        source.span,
        help=f"`cedilla import registry {subject} --query QUERY` has its accents; then add {version.id} to the domain",
    )


def _of_version(source: Source, version: ComparedVersion) -> Iterator[Diagnostic]:
    """Yields what the accents of a query do not say about a version."""
    stated = _stated(source, version.id)
    optional = {a.name for a in source.attributes if a.optional}
    for entry in version.entries:
        if any(_is_said(statement, stated, optional) for statement in _statements(entry)):
            continue
        match entry:
            case Stated():
                message = f"{version.name}: {entry.says}, and no accent of `{source.name}` says so"
                hint = f"`accent {source.name} {entry.text};`"
                if not any(map(is_schema, source.attributes)):
                    hint = f'declare `schema: int from record "schema"`, and {hint}'
                yield Diagnostic("RQ524", "warning", message, source.span, help=hint)
            case Undecided(is_needed=True):
                message = f"{version.name}: {entry.why}"
                choices = "".join(f"; `accent {source.name} {choice};`" for choice in entry.choices)
                yield Diagnostic("RQ525", "warning", message, source.span, help=f"{entry.hint}{choices}")
            case Undecided():
                pass
            case _:
                assert_never(entry)


def _stated(source: Source, id_: int) -> set[_Statement]:
    """Returns what accents of a query state about the tuples of a schema."""
    schema = next(filter(is_schema, source.attributes), None)
    stated: set[_Statement] = set()
    for accent in source.accents:
        node = parse_accent(accent.text)
        conditions = [c for c in node.description if schema is not None and c.attribute == schema.name]
        values = (patterns.value_set(c.attribute, schema.type, c.pattern) for c in conditions if schema)
        if all(
            regions.contains(members, {c.attribute: id_})
            for members, c in zip(values, conditions, strict=True)
        ):
            stated.update(map(_statement, node.primitives))
    return stated


def _statements(entry: Entry) -> list[_Statement]:
    match entry:
        case Stated():
            texts = (entry.text,)
        case Undecided():
            texts = entry.choices
        case _:
            assert_never(entry)
    return [_statement(primitive) for text in texts for primitive in parse_accent(text).primitives]


def _statement(primitive: Primitive) -> _Statement:
    return _WORDS.get(type(primitive), ""), primitive.name


def _is_said(statement: _Statement, stated: set[_Statement], optional: set[str]) -> bool:
    """Returns whether a query states a change, or needs no accent: an attribute that may be missing, one that it does
    not read."""
    word, name = statement
    if word == "drop" and (name in optional or ("name", name) in stated):
        return True
    return word == "add" or statement in stated
