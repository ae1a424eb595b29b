"""Readings of sensors, which three of the queries are about."""

from __future__ import annotations

from tests.benchmarks.core.query import WINDOW, Size, Stream, last_second, seconds
from tests.benchmarks.inputs import Rows

READINGS = Stream(
    "ts BIGINT, s INT, t DOUBLE",
    lambda size: Rows(
        (
            f"{seconds(size)} AS ts",
            f"int(pmod(xxhash64(id, 1), {size.keys})) AS s",
            "pmod(xxhash64(id, 2), 400) / 4D AS t",  # quarters: sums are exact in any order
        )
    ),
    lambda size, epoch: f"[ts < {last_second(size, epoch)}]",
)

CEDILLA = """
stream readings(ts: long, s: int in [0, {keys}), t: double) from {format} "readings" punctuated on ts;
"""


def closed_windows(size: Size) -> str:
    """The windows that are closed when the input ends."""
    return f"(wid + 1) * {WINDOW} <= {last_second(size, size.epochs - 1)}"
