"""Writes the states of Home Assistant's recorder into a folder that a query reads, before the recorder deletes them.

    python queries/home/archive.py home-assistant_v2.db FOLDER

continues where the folder ends. docs/cases/home-assistant.md says what the recorder keeps, and for how long.
"""

import argparse
import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cedilla.grammar import DiagnosticError
from cedilla.produce import Stream

QUERY = Path(__file__).parent.with_suffix(".rq")
SETTLED = timedelta(minutes=1)
"""The age of states that the recorder has surely written; by default it writes them every five seconds."""
STATES = """
    SELECT states_meta.entity_id, state, json_extract(shared_attrs, '$.unit_of_measurement'), last_updated_ts
    FROM states JOIN states_meta USING (metadata_id) JOIN state_attributes USING (attributes_id)
    WHERE last_updated_ts >= ? AND last_updated_ts < ? AND json_extract(shared_attrs, '$.device_class') = ?
    ORDER BY last_updated_ts, state_id
"""


def archived_until(folder: Path) -> float:
    """The time until which a folder has all states: that of its last line, a punctuation."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        return 0.0
    punctuation = json.loads(files[-1].read_text("utf-8").splitlines()[-1])["$punctuation"]
    return datetime.fromisoformat(punctuation.split('"')[1]).timestamp()


def archive(database: Path, folder: Path, device_class: str, until: datetime) -> Counter[str]:
    """Writes the states before `until` that the folder lacks. Returns how many, and the codes of those that are left
    out: a sensor without a value has the state `unavailable`."""
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    between = archived_until(folder), until.timestamp()
    with (
        closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
        Stream(folder, query=QUERY) as stream,
    ):
        for entity, state, unit, updated in connection.execute(STATES, (*between, device_class)):
            row = {"entity_id": entity, "state": state, "attributes": {"unit_of_measurement": unit}}
            try:
                stream.tuple(row, last_updated=datetime.fromtimestamp(updated, UTC))
                counts["states"] += 1
            except DiagnosticError as error:
                counts[error.diagnostics[0].code] += 1
        if counts["states"]:
            stream.punctuate(f'time < "{until.isoformat()}"')
    return counts


def main() -> None:
    """Reads the arguments, and archives what is settled."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device-class", default="temperature")
    options = parser.parse_args()
    until = (datetime.now(UTC) - SETTLED).replace(microsecond=0)
    counts = archive(options.database, options.folder, options.device_class, until)
    print("; ".join(f"{name}: {count}" for name, count in sorted(counts.items())) or "nothing new")


if __name__ == "__main__":
    main()
