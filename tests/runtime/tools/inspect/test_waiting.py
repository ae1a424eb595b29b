"""Without punctuation there is no output: an epoch and the status say so, and which punctuation is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.releases import releases
from cedilla.runtime.hosts.terminal.console import epoch_line
from cedilla.runtime.tools.inspect.status import read_status, status_text
from tests.kit.query import Query

pytestmark = pytest.mark.either_engine

PUMPS = 'stream pumps(ts: long, pump: int, site: string, flow: double) from json "in";\n'
SITES = 'table sites(site: string, town: string) from json "sites";\n'
FLOW = "flow := aggregate[avg(flow) as f by pump, minute](window[60 on ts as minute](pumps));\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The window's time comes before `pump`, which would do too.
        (f'{PUMPS}{FLOW}emit flow to json "o";', [("flow", ("minute",), {"pumps": ("ts",)})]),
        # A promised attribute comes first.
        (
            f'{PUMPS.replace(";", " punctuated on pump;")}{FLOW}emit flow to json "o";',
            [("flow", ("pump",), {"pumps": ("pump",)})],
        ),
        (
            f'{PUMPS.replace(";", " heartbeat ts delay 5;")}{FLOW}emit flow to json "o";',
            [("flow", ("minute",), {"pumps": ("ts",)})],
        ),
        # No punctuation but the last one closes a group of everything, or of what the table says.
        (f'{PUMPS}emit aggregate[count() as n](pumps) to json "o";', [("aggregate", (), {"pumps": ()})]),
        (
            f'{PUMPS}{SITES}emit aggregate[sum(flow) as f by town](pumps join sites on site) to json "o";',
            [("aggregate", (), {"pumps": ()})],
        ),
        (f'{PUMPS}emit sort[ts](pumps) to json "o";', [("sort", ("ts",), {"pumps": ("ts",)})]),
        (f'{PUMPS}emit distinct[pump](pumps) to json "o";', []),
        (f'{PUMPS}{SITES}emit pumps join sites on site to json "o";', []),
        # Full sooner or later, whatever is closed.
        (
            f'{PUMPS}emit aggregate[avg(flow) as f by pump, n](window[2 rows per pump as n](pumps)) to json "o";',
            [],
        ),
    ],
)
def test_what_the_rows_of_an_operator_wait_for(
    text: str, expected: list[tuple[str, tuple[str, ...], dict[str, tuple[str, ...]]]]
) -> None:
    actual = releases(compile_query(text).plan)
    assert [(r.operator.name, r.on, dict(r.sources)) for r in actual] == expected


def test_an_epoch_and_the_status_say_what_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    """Rows out and groups are counted by the jobs that write them; the status agrees with the epochs."""
    run = Query(spark, tmp_path, f'{PUMPS}{FLOW}emit flow to json "out";')
    run.write("pumps", [{"ts": 20 * i, "pump": i % 2, "site": "a", "flow": 1.0} for i in range(9)])
    run.write("pumps", [{"ts": 170, "pump": 0, "site": "a", "flow": 3.0}])
    accents = ["[[pump = 1, alter(flow, y -> y * 2)]]", "[[+(level: double)]]"]
    run.write("pumps", [{"$punctuation": "[ts < 120]"}, *({"$accent": accent} for accent in accents)])
    run.process(files_per_epoch=1)
    first, second, _, third = run.reports  # the Add begins an epoch
    assert epoch_line(first).endswith(
        "0 accents in force · 6 groups of `flow` wait for a punctuation on `minute`; none has come on `ts` of `pumps`"
    )
    assert [(report.tuples, report.written, report.files_left) for report in run.reports] == [
        (9, {"flow": 0}, 2),
        (1, {"flow": 0}, 1),
        (0, {"flow": 4}, 1),
        (0, {"flow": 0}, 0),
    ]
    # Seven partial results are stored of six groups, and two of them are left.
    (waiting,) = second.waiting
    assert (waiting.count, waiting.exact, waiting.missing) == (7, False, {"pumps": ("ts",)})
    assert epoch_line(third).endswith("2 accents in force · up to 7 groups of `flow` open")
    status = read_status(str(tmp_path / "checkpoint"))
    assert status.rows_waiting == third.waiting
    assert (status.read, status.written, status.backlog) == ({"pumps": 10}, {"flow": 4}, {"pumps": 0})
    assert "  up to 7 groups of `flow` wait for a punctuation on `minute`\n" in status_text(status)
    record = json.loads((tmp_path / "checkpoint" / "commits" / "000000000003.json").read_text())
    assert status.committed == record["time"]
    assert [item for item in run.output("flow") if "$punctuation" in item] == [
        {"$punctuation": "[minute < 2]"}
    ]
    # An Add is in force, too, and the epoch counts as the status lists.
    assert third.in_force == sum(len(source.accents) for source in status.sources) == 2
