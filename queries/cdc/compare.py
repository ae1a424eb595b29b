"""Compares invoices with the orders of a database: `python compare.py EVENTS INVOICES`. Exits with 1 if one is wrong.

EVENTS is the folder with the change events, INVOICES the output of `queries/cdc.rq`. A plain script would read the
column `total` of each event, which was its name when the script was written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def lines(folder: Path, pattern: str) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.glob(pattern)):
        yield from map(json.loads, file.read_text("utf-8").splitlines())


def main(events: Path, invoices: Path) -> bool:
    """Prints both results, and returns True if the invoices are those of the orders."""
    orders = [event["after"] for event in lines(events, "orders.jsonl")]
    plain = [(order["id"], order.get("total")) for order in orders]
    whole = [(order["id"], order.get("total", order.get("amount"))) for order in orders]
    rows = [(row["id"], row.get("total")) for row in lines(invoices, "epoch=*/*.jsonl") if "id" in row]
    for name, totals in (("a plain script", plain), ("this query", rows)):
        nulls = sum(total is None for _, total in totals)
        print(
            f"{name:>14}: {len(totals)} rows, {nulls} of them NULL, {sum(t or 0 for _, t in totals)} in all"
        )
    return sorted(rows) == whole


if __name__ == "__main__":
    sys.exit(not main(Path(sys.argv[1]), Path(sys.argv[2])))
