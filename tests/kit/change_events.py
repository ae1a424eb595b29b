"""Change events of Debezium: of its own writing, and made here in each of its forms."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.kit.stream import Item

CAPTURED = Path(__file__).with_name("debezium.jsonl.gz")
"""What Debezium 3.3.1 wrote of a table of PostgreSQL: two rows of its snapshot, an insert, an update and a delete, an
insert after `name` became `full_name`, and a truncate."""


def captured() -> list[str]:
    """Returns these lines."""
    return gzip.decompress(CAPTURED.read_bytes()).decode().splitlines()


def event(operation: str, row: Item | None, *, before: Item | None = None, lsn: int = 1) -> Item:
    """Returns an event without the schema of Connect."""
    source = {"connector": "postgresql", "ts_ms": lsn * 1000, "table": "r", "lsn": lsn}
    return {"before": before, "after": row, "source": source, "op": operation, "ts_ms": lsn * 1000 + 7}


def with_schema(payload: Item, types: Mapping[str, Mapping[str, Any]]) -> Item:
    """Returns an event in the envelope of Connect. `types`: the schema of each column."""
    columns = [{"field": name, **type_} for name, type_ in types.items()]
    rows = [{"type": "struct", "fields": columns, "optional": True, "field": n} for n in ("before", "after")]
    fields = [*rows, {"type": "struct", "fields": [], "field": "source"}, {"type": "string", "field": "op"}]
    return {"schema": {"type": "struct", "fields": fields, "name": "r.Envelope"}, "payload": payload}


def flattened(operation: str, row: Item) -> Item:
    """Returns a row as `ExtractNewRecordState` writes it, with the operation that `add.fields=op` adds."""
    return {**row, "__op": operation, "__deleted": str(operation == "d").lower()}


def compact(item: Item) -> str:
    """Returns a line as Debezium writes it, without blanks."""
    return json.dumps(item, separators=(",", ":"), ensure_ascii=False)
