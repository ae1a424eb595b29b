"""Commands for those who write queries: lsp."""

from __future__ import annotations

import click

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.cli.inputs import reported
from cedilla.runtime.terminal.console import Console


@click.command("lsp")
def lsp_command() -> None:
    """Serve an editor over standard input and output (language server protocol). Starts no Spark.

    Findings with their fixes, hovers, completion, definitions, renames, layout: of queries, and of the accents in
    `.jsonl` files that a query reads.
    """
    with reported(Console(), {}):
        try:
            from cedilla.runtime.language_server.server import serve
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
                raise
            hint = "pip install 'cedilla[lsp]'"
            raise failure("RQ498", "the language server requires the package pygls", hint=hint) from None
    serve()
