"""Cedilla: standing queries over data streams that survive a change of schema or of meaning.

`compile_query`, `simulate` and `read` need no Java; `run` starts Spark. Nothing is imported before it is used: pyspark
alone takes a second. The sources are the folders `grammar`, `compiler` and `runtime` of the repository's root; the
links beside this file let type checkers and editable installs see them as one package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cedilla.compiler.compile import compile_query
    from cedilla.grammar.diagnostics import DiagnosticError
    from cedilla.runtime.epochs.options.options import Options
    from cedilla.runtime.hosts.embedding.batches import foreach_batch
    from cedilla.runtime.hosts.embedding.data_source import DataSource
    from cedilla.runtime.hosts.embedding.plotting import plot
    from cedilla.runtime.hosts.embedding.query import query, run
    from cedilla.runtime.tools.reading.reading import read
    from cedilla.runtime.tools.simulation.simulation import simulate

    __version__: str

__all__ = [
    "DataSource",
    "DiagnosticError",
    "Options",
    "__version__",
    "compile_query",
    "foreach_batch",
    "plot",
    "query",
    "read",
    "run",
    "simulate",
]

_HOMES = {
    "DataSource": "cedilla.runtime.hosts.embedding.data_source",
    "DiagnosticError": "cedilla.grammar.diagnostics",
    "Options": "cedilla.runtime.epochs.options.options",
    "compile_query": "cedilla.compiler.compile",
    "foreach_batch": "cedilla.runtime.hosts.embedding.batches",
    "plot": "cedilla.runtime.hosts.embedding.plotting",
    "query": "cedilla.runtime.hosts.embedding.query",
    "read": "cedilla.runtime.tools.reading.reading",
    "run": "cedilla.runtime.hosts.embedding.query",
    "simulate": "cedilla.runtime.tools.simulation.simulation",
}
"""Public name -> the module that defines it."""


def __getattr__(name: str) -> Any:
    """A public name on its first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("cedilla")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Adds `%%cedilla` to a notebook: `%load_ext cedilla`."""
    from cedilla.runtime.hosts.embedding.cells import register

    register(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
