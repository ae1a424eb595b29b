"""Finds the extensions in C, which are there if there was a compiler where Cedilla was installed."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

WITHOUT = "CEDILLA_WITHOUT_EXTENSION"
"""The environment variable that makes a run do without them, as where there is no compiler."""


def extension(name: str) -> Any:
    """Returns a module below `cedilla.runtime.connectors`; `None` without a compiler."""
    try:
        return import_module(f"cedilla.runtime.connectors.{name}")
    except ImportError:
        return None


def are_wanted() -> bool:
    """Returns False if the environment says that a run does without extensions."""
    return not os.environ.get(WITHOUT)
