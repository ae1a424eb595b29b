"""Topics of Kafka as sources and sinks: their addresses, and clauses that they cannot have."""

from __future__ import annotations

import re
from collections.abc import Collection

from attrs import frozen

from cedilla.compiler.plan.formats import FORMATS
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure
from cedilla.grammar.diagnostics.suggestions import did_you_mean

_ADDRESS = re.compile(r"(?P<servers>[\w.-]+:\d+(?:,[\w.-]+:\d+)*)/(?P<name>[A-Za-z0-9._-]{1,249})")


_KEY = "?key="


@frozen
class Topic:
    """A topic: its bootstrap brokers, `host:9092,other:9092`, and its name.

    `key`: the attribute whose value becomes the key of the records.
    """

    servers: str
    name: str
    key: str | None = None


def is_topic(path: str) -> bool:
    """Returns True if a path is the address of a topic."""
    return _ADDRESS.fullmatch(path.partition(_KEY)[0]) is not None


def topic_of(path: str, span: Span | None = None) -> Topic:
    """Parses the address of a topic. Raises `DiagnosticError` RQ440 for another text."""
    address, _, key = path.partition(_KEY)
    if (match := _ADDRESS.fullmatch(address)) is None:
        hint = 'brokers and a topic: `"host:9092/topic"`, `"one:9092,two:9092/topic"`'
        if (whole := re.fullmatch(r"(.+/.+)/\d+", address)) and _ADDRESS.fullmatch(whole[1]):
            hint = f'all partitions of a topic are read and written: `"{whole[1]}"`'
        raise failure("RQ440", f"`{path}` is not the address of a topic", span, hint=hint)
    return Topic(match["servers"], match["name"], key or None)


_REGISTRY = re.compile(r"https?://[^\s/?#@,]+(?:/[^\s?#@,]*)?")


def check_registry(address: str, span: Span | None = None) -> None:
    """Raises RQ440 if a text is not the address of a registry of schemas."""
    if _REGISTRY.fullmatch(address) is None:
        message = "the text after `registry` is not the address of a registry"
        hint = '`"http://host:8081"`; a user and a password belong into the file of Kafka\'s properties'
        raise failure("RQ440", message, span, hint=hint)


def check_topic(node: syntax.StreamDeclaration) -> None:
    """Raises RQ440 if a topic or its registry has no address, RQ441 for clauses that topics cannot have.

    Stored plans contain `-` in place of the address.
    """
    if node.path != "-" and topic_of(node.path, node.span).key is not None:
        hint = "the keys of records that are read mean nothing"
        raise failure("RQ441", f"a stream has no key, and `{node.path}` names one", node.span, hint=hint)
    if node.kind == "table":
        hint = "a table is read to its end, and a topic has none: a `stream`, or a folder"
        raise failure("RQ441", f"a topic is a stream, and `{node.name}` is a table", node.span, hint=hint)
    if node.registry is not None:
        check_registry(node.registry, node.span)
        if FORMATS[node.format].has_requests:
            hint = "requests of OpenTelemetry have no schema of a registry; records of `kafka` may"
            raise failure(
                "RQ441", f"`{node.name}` is `from {node.format}`, without schemas", node.span, hint=hint
            )
    if node.markers is not None:
        hint = "markers are records of the topic: one in each partition that it concerns"
        raise failure(
            "RQ441", f"a topic has no folder of markers, and `{node.name}` does", node.span, hint=hint
        )


def check_output(path: str, attributes: Collection[str], span: Span | None) -> None:
    """Raises RQ440 if an output has no address of a topic, RQ449 if its key is not an attribute of the
    output.
    """
    key = topic_of(path, span).key
    if key is not None and key not in attributes:
        message = f"`{key}` is the key of records, and is not an attribute of the output"
        raise failure("RQ449", message, span, hint=did_you_mean(key, attributes, "attributes"))
