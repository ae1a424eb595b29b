"""The standard streams of a process, as its caller leaves them."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def open_closed_streams() -> None:
    """Opens the null device in the place of standard streams that the caller has closed. The next file that a library
    opens would else have the number of one, and get messages of Java or Sail."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # it stays open
