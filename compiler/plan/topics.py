"""Topics of Kafka as sources and sinks: their addresses, and what a declaration of one cannot have."""

from __future__ import annotations

import re

from attrs import frozen

from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import Span, failure

TOPIC = "kafka"
"""The format whose paths are addresses of topics."""

_ADDRESS = re.compile(r"(?P<servers>[\w.-]+:\d+(?:,[\w.-]+:\d+)*)/(?P<name>[A-Za-z0-9._-]{1,249})")


@frozen
class Topic:
    """A topic: the brokers that are asked first, `host:9092,other:9092`, and its name."""

    servers: str
    name: str


def is_topic(path: str) -> bool:
    """Whether a path is the address of a topic."""
    return _ADDRESS.fullmatch(path) is not None


def topic_of(path: str, span: Span | None = None) -> Topic:
    """The topic of an address. Raises `DiagnosticError` RQ440 where it is none."""
    if (found := _ADDRESS.fullmatch(path)) is None:
        hint = 'brokers and a topic: `"host:9092/topic"`, `"one:9092,two:9092/topic"`'
        raise failure("RQ440", f"`{path}` is no address of a topic", span, hint=hint)
    return Topic(found["servers"], found["name"])


def check_topic(node: syntax.StreamDeclaration) -> None:
    """Raise RQ440 where a topic has no address, RQ441 where it is declared with what no topic has. Stored plans have
    `-` in place of it."""
    if node.path != "-":
        topic_of(node.path, node.span)
    if node.kind == "table":
        hint = "a table is read to its end, and a topic has none: a `stream`, or a folder"
        raise failure("RQ441", f"a topic is a stream, and `{node.name}` is a table", node.span, hint=hint)
    if node.markers is not None:
        hint = "markers are records of the topic: one in each partition that it concerns"
        raise failure(
            "RQ441", f"a topic has no folder of markers, and `{node.name}` does", node.span, hint=hint
        )
