"""The DDL around a query: tables over files, and a sink."""

from __future__ import annotations

from collections.abc import Sequence

CONNECTOR = "'connector' = 'filesystem', 'path' = '{path}', 'format' = '{format}'"


def source(
    name: str, columns: str, path: str, format: str, watermark: tuple[str, int] | None, key: str | None
) -> str:
    """A table with `arrived`, the time of processing; and `event_time` where there is a watermark: the column with
    seconds, and how many it is behind."""
    parts = [columns, "arrived AS PROCTIME()"]
    if watermark is not None:
        column, delay = watermark
        parts.append(f"event_time AS TO_TIMESTAMP_LTZ({column}, 0)")
        parts.append(f"WATERMARK FOR event_time AS event_time - INTERVAL '{delay // 60}' MINUTE")
    if key is not None:
        parts.append(f"PRIMARY KEY ({key}) NOT ENFORCED")
    with_ = CONNECTOR.format(path=f"file://{path}", format=format)
    return f"CREATE TEMPORARY TABLE {name} ({', '.join(parts)}) WITH ({with_})"


def insert(columns: str, format: str, select: str) -> Sequence[str]:
    """The sink, and the statement that fills it."""
    with_ = CONNECTOR.format(path="{out}", format=format)
    return [
        f"CREATE TEMPORARY TABLE answers ({columns}) WITH ({with_})",
        f"INSERT INTO answers {select}",
    ]
