"""Plan to epochs: reads sources, runs compiled programs on Spark, writes sinks (design, section 5).

The docstrings of the packages describe them, and `tests/packages.toml` lists them from the ground up. Generated
programs and users import from here only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cedilla.runtime.epochs.operators.epoch import Epoch, all_but
    from cedilla.runtime.epochs.pipeline.program import run
    from cedilla.runtime.hosts.terminal.program import main
    from cedilla.runtime.tools.reading.reading import read
    from cedilla.runtime.tools.simulation.simulation import simulate

__all__ = ["Epoch", "all_but", "main", "read", "run", "simulate"]

_HOMES = {
    "Epoch": "epochs.operators.epoch",
    "all_but": "epochs.operators.epoch",
    "main": "hosts.terminal.program",
    "read": "tools.reading.reading",
    "run": "epochs.pipeline.program",
    "simulate": "tools.simulation.simulation",
}


def __getattr__(name: str) -> Any:
    """A public name on its first use: it takes a second to import pyspark, and most commands need none."""
    if name in _HOMES:
        return getattr(import_module(f"cedilla.runtime.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
