"""Keeps results of long computations between processes, next to the bytecode of this package and as safe as that."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source
from pathlib import Path


def place(name: str) -> Path | None:
    """Returns a file or folder next to the bytecode for dispensable data; `None` if it cannot be written."""
    if sys.dont_write_bytecode or getattr(sys.implementation, "cache_tag", None) is None:
        return None
    bytecode = Path(cache_from_source(__file__))
    folder = bytecode.parent
    version = bytecode.stem.removeprefix(f"{Path(__file__).stem}.")
    return folder / f"{name}.{version}" if os.access(folder, os.W_OK) else None
