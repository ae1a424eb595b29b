"""Versions of software and devices: texts that look like one."""

from __future__ import annotations

import re

_LIKE_ONE = re.compile(r"[vV]?[0-9]+(?:\.[0-9]+)+(?:[-+].*)?")


def is_like_version(value: object) -> bool:
    """Returns True for a string of numbers between dots, as in `v1.10.0-rc1`, which texts do not order."""
    return isinstance(value, str) and _LIKE_ONE.fullmatch(value) is not None
