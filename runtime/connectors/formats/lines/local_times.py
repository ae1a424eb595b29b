"""Converts columns of local times to moments (theory N13).

pyarrow knows no changes of clocks after the year 2037, so they come from `zoneinfo`, as for single values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from cedilla.compiler.expressions.types import TIMESTAMP
from cedilla.compiler.expressions.types.zones import clock_changes, offset_in

pc: Any = pyarrow.compute

_MAX_YEARS = 200
"""Maximum number of years that the times of a column span."""


def moments_in(local: pa.Array, zone: str) -> pa.Array | None:
    """Returns the moments, in UTC, of local times of a zone, both without a zone in their type; `None` if some time has
    no moment or two, or is outside the years 1 to 9999, or the times span too many years."""
    ends = pc.min_max(local)
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None:
        return local
    if last.year - first.year > _MAX_YEARS:
        return None
    years = range(first.year - 1, last.year + 2)
    changes = np.array([change for year in years for change in clock_changes(zone, year)], np.int64)
    micros = pc.fill_null(local, first).cast(pa.int64()).to_numpy()
    if len(changes):
        at, before, after = changes.T
        starts, stops = at + np.minimum(before, after), at + np.maximum(before, after)
        passed = np.searchsorted(stops, micros, side="right")
        if (micros >= np.append(starts, np.iinfo(np.int64).max)[passed]).any():
            return None
        micros = micros - np.append(before[:1], after)[passed]
    else:
        micros = micros - offset_in(zone, first)
    if micros.min() < TIMESTAMP.first or micros.max() > TIMESTAMP.last:
        return None
    return pa.array(micros, pa.int64(), mask=local.is_null().to_numpy(zero_copy_only=False)).cast(local.type)
