"""The first hour of a newcomer with data of their own: from a folder to the first right number, and through a change.

Each of the four beginnings that were tried by people is a list of commands. Results are compared with what plain Python
computes from the values that the test has made, before it wrote half of them in another unit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.kit.lines import write_lines
from tests.kit.otlp import request
from tests.kit.stream import Item

pytestmark = pytest.mark.rest

BEGIN = datetime(2026, 5, 4, tzinfo=UTC)


class Newcomer:
    """Types commands in a folder; `commands` counts them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.commands = folder, 0

    def types(self, *arguments: str, status: int = 0) -> str:
        """Runs `cedilla` in a process of its own. Returns what it prints."""
        self.commands += 1
        command = [str(Path(sys.executable).with_name("cedilla")), *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == status, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout + (done.stderr if status else "")

    def adds(self, query: str, statement: str) -> None:
        """Writes a statement at the end of a query."""
        path = self.folder / query
        path.write_text(f"{path.read_text('utf-8')}{statement}\n", "utf-8")

    def rows(self, printed: str) -> list[Item]:
        items = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        return [item for item in items if "$punctuation" not in item and "$accent" not in item]


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


def averages(rows: Iterable[tuple[datetime, Any, float]], length: timedelta) -> dict[tuple[str, Any], float]:
    """Returns the average of each key in each window, by the begin of the window and the key."""
    groups: dict[tuple[str, Any], list[float]] = defaultdict(list)
    for at, key, value in rows:
        begin = BEGIN + (at - BEGIN) // length * length
        groups[begin.isoformat(timespec="microseconds").replace("+00:00", "Z"), key].append(value)
    return {group: mean(values) for group, values in groups.items()}


def result(rows: Iterable[Item], key: str, value: str) -> dict[tuple[str, Any], float]:
    return {(row["begin"], row[key]): row[value] for row in rows}


def test_a_lake_of_parquet_drops(newcomer: Newcomer) -> None:
    """Three of six meters send W in place of kW from some hour on; nobody says so."""
    true = [
        (BEGIN + timedelta(seconds=10 * n), f"m{n % 6}", round(1 + n * 7 % 17 / 10, 1)) for n in range(2520)
    ]
    changed = BEGIN + timedelta(hours=3)
    folder = newcomer.folder / "drops"
    folder.mkdir()
    for hour in range(7):
        drop = true[360 * hour : 360 * (hour + 1)]
        values = [v * 1000 if at >= changed and meter < "m3" else v for at, meter, v in drop]
        columns = {"event_time": [at for at, _, _ in drop], "meter": [meter for _, meter, _ in drop]}
        parquet.write_table(pa.table({**columns, "power_kw": values}), folder / f"{hour}.parquet")

    newcomer.types("init", "--from", "drops")
    assert newcomer.types("test") == "1 of 1 tests pass\n"
    expected = averages(true, timedelta(hours=1))
    first = result(newcomer.rows(newcomer.types("simulate", "drops.rq", "--end")), "meter", "power_kw")
    wrong = {group for group in expected if first[group] != pytest.approx(expected[group])}
    assert wrong == {(begin, meter) for begin, meter in expected if begin[11:13] >= "03" and meter < "m3"}

    warnings = newcomer.types("suspect", "drops", "--query", "drops.rq", status=1)
    statements = re.findall(r"or in the query: (accent .*;)", warnings)
    assert len(statements) == 3
    for statement in statements:
        newcomer.adds("drops.rq", statement)
    newcomer.types("run", "drops.rq", "--once", "--engine", "sail")
    last = result(newcomer.rows(newcomer.types("read", "out/drops")), "meter", "power_kw")
    assert last == pytest.approx({group: value for group, value in expected.items() if group in last})
    assert len(last) == 5 * 6  # the heartbeat is an hour behind, so two hours are open
    assert newcomer.commands == 6


def test_two_hundred_plugs(newcomer: Newcomer) -> None:
    """Half of them got firmware 2, which sends mW; the release notes say so."""

    def new(n: int) -> bool:
        return n >= 600 and n % 200 >= 100

    true = [(BEGIN + timedelta(seconds=n), n % 200, 5 + n % 7) for n in range(1800)]
    lines = [
        {
            "ts": at.isoformat().replace("+00:00", "Z"),
            "plug": plug,
            "power_w": watts * 1000 if new(n) else watts,
            "firmware": "2.0.1" if new(n) else "1.10.0",
        }
        for n, (at, plug, watts) in enumerate(true)
    ]
    write_lines(newcomer.folder / "plugs" / "1.jsonl", lines)

    newcomer.types("init", "--from", "plugs")
    assert "firmware: version)" in (newcomer.folder / "plugs.rq").read_text("utf-8")
    assert newcomer.types("test") == "1 of 1 tests pass\n"
    newcomer.adds("plugs.rq", 'accent plugs [[firmware >= "2", unit(power_w, mW)]];')
    newcomer.types("check", "--strict", "plugs.rq")
    newcomer.types("run", "plugs.rq", "--once", "--engine", "sail")
    rows = result(newcomer.rows(newcomer.types("read", "out/plugs")), "plug", "power_w")
    expected = averages(true, timedelta(minutes=1))
    assert rows == pytest.approx({group: value for group, value in expected.items() if group in rows})
    assert len(expected) - len(rows) == 2 * 60  # the heartbeat is a minute behind the last tuple
    assert newcomer.commands == 5


def test_metrics_of_two_services(newcomer: Newcomer) -> None:
    """One of them was moved to an SDK that sends s in place of ms, and each request says so: no accent is needed."""
    true = [
        (BEGIN + timedelta(seconds=10 * n), ("cart", "web")[n % 2], 40.0 + n * 3 % 11) for n in range(300)
    ]

    def line(number: int, at: datetime, service: str, milliseconds: float) -> str:
        in_seconds = service == "web" and number >= 100
        point = {
            "metric": "http.server.duration",
            "unit": "s" if in_seconds else "ms",
            "time": at.timestamp(),
            "resource": {"service.name": service},
            "count": 2,
            "sum": milliseconds / 1000 if in_seconds else milliseconds,
        }
        return request([point])

    write_lines(newcomer.folder / "otlp" / "1.jsonl", [line(n, *row) for n, row in enumerate(true)])
    newcomer.types("init", "--from", "otlp")
    assert newcomer.types("test") == "1 of 1 tests pass\n"
    newcomer.types("run", "otlp.rq", "--once", "--engine", "sail")
    rows = newcomer.rows(newcomer.types("read", "out/otlp"))
    totals = {(row["begin"], row["service_name"]): row["total"] / row["n"] for row in rows}
    expected = averages(true, timedelta(minutes=1))
    assert totals == pytest.approx({group: value for group, value in expected.items() if group in totals})
    assert len(expected) - len(totals) == 2 * 2
    assert newcomer.commands == 4


def test_an_evaluation(newcomer: Newcomer) -> None:
    """The example that `init` brings: what comes out, why, the same on an engine, and what it would be without."""
    newcomer.types("init")
    assert newcomer.types("test") == "2 of 2 tests pass\n"
    right = newcomer.rows(newcomer.types("simulate", "pumps.rq"))
    assert right == [{"minute": 0, "litres": 120.0}]
    assert "keeps" in newcomer.types("explain", "pumps.rq")
    newcomer.types("verify", "pumps.rq", "--engine", "sail")
    data = newcomer.folder / "data" / "pumps" / "1.jsonl"
    lines = [line for line in data.read_text("utf-8").splitlines() if "$accent" not in line]
    data.write_text("\n".join(lines) + "\n", "utf-8")
    assert newcomer.rows(newcomer.types("simulate", "pumps.rq")) != right
    assert newcomer.commands == 6
