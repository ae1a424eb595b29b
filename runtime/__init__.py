"""Plan to epochs: reads sources, runs compiled programs on Spark, writes sinks (design, section 5).

The docstrings of the packages describe them, and `tests/packages.toml` lists them from the ground up. Generated
programs and users import from here only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cedilla.runtime.operators.epoch import Epoch
    from cedilla.runtime.pipeline.program import run
    from cedilla.runtime.reading.reading import read
    from cedilla.runtime.simulation.simulation import simulate
    from cedilla.runtime.terminal.program import main

__all__ = ["Epoch", "main", "read", "run", "simulate"]

_HOMES = {
    "Epoch": "operators.epoch",
    "main": "terminal.program",
    "read": "reading.reading",
    "run": "pipeline.program",
    "simulate": "simulation.simulation",
}


def __getattr__(name: str) -> Any:
    """A public name on its first use: it takes a second to import pyspark, and most commands need none."""
    if name in _HOMES:
        return getattr(import_module(f"cedilla.runtime.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
