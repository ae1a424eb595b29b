"""`%%cedilla`: a cell of a notebook that is a query."""

from __future__ import annotations

import sys
from typing import Any

from cedilla.grammar.diagnostics import DiagnosticError, render
from cedilla.runtime.hosts.embedding.query import Query, query


def register(shell: Any) -> None:
    """Adds the cell magic to a shell of IPython: `%%cedilla NAME` puts the query into a variable, `q` by default."""

    def cell(line: str, text: str) -> Query | None:
        name = line.strip() or "q"
        if not name.isidentifier():
            print(f"%%cedilla NAME: `{name}` is not the name of a variable", file=sys.stderr)
            return None
        try:
            compiled = query(text + "\n")
        except DiagnosticError as error:
            print(render(error.diagnostics, {"<text>": text + "\n"}), file=sys.stderr)
            return None
        shell.user_ns[name] = compiled
        return compiled

    shell.register_magic_function(cell, "cell", "cedilla")
