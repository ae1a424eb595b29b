"""Comparisons of values and of rows."""

from __future__ import annotations

import math
from typing import Any


def same(one: Any, other: Any) -> bool:
    return (
        one == other or (one != one and other != other) or (type(one) is float and math.isclose(one, other))
    )
