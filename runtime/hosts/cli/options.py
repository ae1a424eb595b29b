"""The arguments and options that several commands share."""

from __future__ import annotations

import click
from attrs import frozen
from click.shell_completion import CompletionItem

from cedilla.compiler import ENGINES
from cedilla.runtime.hosts.terminal.command_options import Command, allow_path_option, as_one, param_option


def query_argument(command: Command) -> Command:
    """Decorator: the query that a command is about, and the values that its constants take."""
    return click.argument("query", metavar="QUERY", shell_complete=_files)(param_option(command))


def queries_argument(command: Command) -> Command:
    """Decorator: the queries that a command is about, one or many, and the values that their constants take."""
    argument = click.argument("queries", metavar="QUERY...", nargs=-1, required=True, shell_complete=_files)
    return argument(param_option(command))


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
    """The arguments of a command on one stream: its path, the folder of its markers, and the declaration of its
    attributes, if there is one."""

    path: str
    markers: str | None
    schema: str | None
    query: str | None
    source: str | None


def stream_options(command: Command) -> Command:
    """Decorator: the stream that a command is about, which gets it as one `stream: Stream`."""
    path = click.argument("path", metavar="STREAM")
    options = (path, _MARKERS, schema_option, _QUERY, _SOURCE, allow_path_option)
    return as_one("stream", Stream, options)(command)
