"""The arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from attrs import fields, frozen
from click.shell_completion import CompletionItem

from cedilla.compiler import ENGINES
from cedilla.runtime.terminal.options import allow_path_option, param_option


def query_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the query that a command is about, and the values that its constants take."""
    return click.argument("query", metavar="QUERY", shell_complete=_files)(param_option(command))


def _files(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Lets the shell complete paths."""
    return [CompletionItem(incomplete, type="file")]


format_option = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="Text, or JSON as data."
)

engine_option = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="spark",
    help="The engine; a call that it computes differently is an error (RQ425).",
)

schema_option = click.option(
    "--schema",
    metavar="ATTRIBUTES",
    help='The attributes, as a stream declares them: "ts: long, p?: double".',
)
_MARKERS = click.option("--markers", metavar="FOLDER", help="A marker folder, as in a query.")
_QUERY = click.option("--query", metavar="QUERY", help="Take the attributes from a source of this query.")
_SOURCE = click.option("--source", metavar="NAME", help="Which source of the query; its only one otherwise.")


@frozen
class Stream:
    """What a command on one stream is told of it: where it is, where markers stand beside it, and where its attributes
    are declared, if they are."""

    path: str
    markers: str | None
    schema: str | None
    query: str | None
    source: str | None


def stream_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the stream that a command is about, which gets it as one `stream: Stream`."""

    @wraps(command)
    def with_stream(*args: Any, **given: Any) -> Any:
        stream = Stream(**{attribute.name: given.pop(attribute.name) for attribute in fields(Stream)})
        return command(*args, stream=stream, **given)

    argument = click.argument("path", metavar="STREAM")
    return argument(_MARKERS(schema_option(_QUERY(_SOURCE(allow_path_option(with_stream))))))
