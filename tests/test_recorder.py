"""The archive of Home Assistant's recorder: queries/home.rq gives on it what it gives on the states themselves."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from queries.home.archive import archive
from tests.kit import ROOT
from tests.kit.stream import Item, is_tuple, read_output

STATES = ROOT / "queries" / "home" / "data" / "states.jsonl"
SCHEMA = """
    CREATE TABLE states_meta (metadata_id INTEGER PRIMARY KEY, entity_id VARCHAR(255) UNIQUE);
    CREATE TABLE state_attributes (attributes_id INTEGER PRIMARY KEY, hash BIGINT, shared_attrs TEXT);
    CREATE TABLE states (
        state_id INTEGER PRIMARY KEY, entity_id CHAR(0), state VARCHAR(255), attributes CHAR(0), event_id SMALLINT,
        last_changed CHAR(0), last_changed_ts FLOAT, last_reported_ts FLOAT,
        last_updated CHAR(0), last_updated_ts FLOAT, old_state_id INTEGER REFERENCES states (state_id),
        attributes_id INTEGER REFERENCES state_attributes (attributes_id),
        context_id CHAR(0), context_user_id CHAR(0), context_parent_id CHAR(0), origin_idx SMALLINT,
        context_id_bin BLOB, context_user_id_bin BLOB, context_parent_id_bin BLOB,
        metadata_id INTEGER REFERENCES states_meta (metadata_id));
    CREATE INDEX ix_states_metadata_id_last_updated_ts ON states (metadata_id, last_updated_ts);
    CREATE INDEX ix_states_last_updated_ts ON states (last_updated_ts);
"""
"""The tables of the recorder that the archive reads, with all columns; those of length 0 are of old versions."""


def record(database: Path, states: Iterable[dict[str, Any]]) -> None:
    """Writes states as the recorder does: entities and equal attributes once, times as seconds since 1970."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        if not connection.execute("SELECT name FROM sqlite_master").fetchall():
            connection.executescript(SCHEMA)

        def number(table: str, key: str, column: str, value: str) -> int:
            row = connection.execute(f"SELECT {key} FROM {table} WHERE {column} = ?", (value,)).fetchone()
            if row is not None:
                return int(row[0])
            new = connection.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (value,)).lastrowid
            assert new is not None
            return new

        for state in states:
            entity = number("states_meta", "metadata_id", "entity_id", state["entity_id"])
            attributes = json.dumps(state["attributes"], ensure_ascii=False)
            shared = number("state_attributes", "attributes_id", "shared_attrs", attributes)
            time = datetime.fromisoformat(state["last_updated"]).timestamp()
            connection.execute(
                "INSERT INTO states (state, last_updated_ts, attributes_id, metadata_id) VALUES (?, ?, ?, ?)",
                (state["state"], time, shared, entity),
            )


def states() -> list[dict[str, Any]]:
    """The states of the page, and one of another class."""
    lines = [json.loads(line) for line in STATES.read_text("utf-8").splitlines()]
    light = {
        "entity_id": "sensor.lux",
        "state": "300",
        "attributes": {"unit_of_measurement": "lx", "device_class": "illuminance"},
        "last_updated": "2026-03-30T10:00:00+00:00",
    }
    return [light, *filter(is_tuple, lines)]


def history(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[Item]:
    monkeypatch.chdir(ROOT)
    query = (ROOT / "queries" / "home.rq").read_text("utf-8")
    simulate(query, Options(sources={"states": str(folder)}, sinks={"history": str(out)}))
    return [*filter(is_tuple, read_output(out))]


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 30, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize("cuts", [[at(13)], [at(11, 7), at(11, 7), at(12, 40), at(13)]])
def test_the_history_of_an_archive_is_that_of_the_states(
    cuts: list[datetime], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, folder = tmp_path / "home-assistant_v2.db", tmp_path / "archive"
    waiting = states()
    unavailable = sum(state["state"] == "unavailable" for state in waiting)
    total: dict[str, int] = {}
    for until in cuts:  # the recorder writes on, and deletes what is old
        record(database, [s for s in waiting if datetime.fromisoformat(s["last_updated"]) < until])
        waiting = [s for s in waiting if datetime.fromisoformat(s["last_updated"]) >= until]
        for name, count in archive(database, folder, "temperature", until).items():
            total[name] = total.get(name, 0) + count
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("DELETE FROM states WHERE last_updated_ts < ?", (until.timestamp() - 1800,))
    assert total == {"states": len(states()) - 1 - unavailable, "RQ301": unavailable}
    expected = history(STATES.parent, tmp_path / "expected", monkeypatch)
    assert history(folder, tmp_path / "out", monkeypatch) == expected
    assert expected


def test_the_program_archives_what_is_settled(tmp_path: Path) -> None:
    database, folder = tmp_path / "home-assistant_v2.db", tmp_path / "archive"
    now = states()[1] | {"last_updated": datetime.now(UTC).isoformat()}
    record(database, [*states(), now])
    command = [sys.executable, str(ROOT / "queries" / "home" / "archive.py"), str(database), str(folder)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in "12")
    assert first.startswith("RQ301: 1; states: ")
    assert second == "nothing new\n"
