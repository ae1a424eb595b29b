"""The embedded engine: how it starts and stops, and that it bears what plans of ours are like."""

from __future__ import annotations

import os
import subprocess
import sys
from math import isnan, nan
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.spark.frames import of_table
from cedilla.runtime.engines.spark.sail import _ENVIRONMENT, sail_session
from tests.kit.tiers import tiered


def test_a_session_has_the_settings_of_sparks(sail: SparkSession) -> None:
    settings = {
        name: sail.conf.get(f"spark.sql.{name}")
        for name in ("session.timeZone", "ansi.enabled", "caseSensitive")
    }
    assert settings == {"session.timeZone": "UTC", "ansi.enabled": "true", "caseSensitive": "true"}
    assert [(row.t, row["T"]) for row in sail.range(1).selectExpr("1 AS t", "2 AS T").collect()] == [(1, 2)]
    with pytest.raises(Exception, match="Can't cast"):
        sail.range(1).selectExpr("CAST(id + 3000000000 AS INT)").collect()


def test_an_answer_is_not_kept_for_a_connection_that_breaks(
    sail: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is in this process. To keep an answer, and to release it, are calls of their own."""
    asked: list[object] = []
    iterator = "pyspark.sql.connect.client.core.ExecutePlanResponseReattachableIterator"
    monkeypatch.setattr(iterator, lambda *request, **_: asked.append(request))
    assert sail.range(3).count() == 3
    assert asked == []


def _printed(program: str) -> tuple[str, str]:
    """Returns what a program in a process of its own writes to its output and errors, if it ends well."""
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_no_call_looks_up_its_place_in_the_program() -> None:
    """PySpark would pass over the stack, and load packages of notebooks. It decides once in a process."""
    pytest.importorskip("pysail")
    program = (
        "import sys\n"
        "from cedilla.runtime.engines.spark.sail import sail_session\n"
        "with sail_session() as session:\n"
        "    from pyspark.errors import utils\n"
        "    from pyspark.sql import functions as F\n"
        "    utils._capture_call_site = lambda depth: sys.exit('looked up')\n"
        "    print(session.range(3).select(F.sqrt(F.col('id') + 1)).count(), 'IPython' in sys.modules)\n"
        "from IPython.utils.terminal import get_terminal_size\n"
    )
    assert _printed(program) == ("3 False\n", "")


def test_hundreds_of_operators_in_a_row_do_not_overflow_the_stack(sail: SparkSession) -> None:
    """The engine would end the process: an overflow of the stack is no error that anybody can catch."""
    rows = sail.range(10)
    for number in range(400):
        rows = rows.where(f"id != {number + 5}").withColumn("x", F.expr(f"id + {number}"))
    assert rows.agg(F.max("x")).collect()[0][0] == 4 + 399


def test_a_table_without_rows_keeps_its_types(sail: SparkSession) -> None:
    """PySpark refuses to guess them where it speaks Spark Connect."""
    table = pa.table({"a": pa.array([], pa.int64()), "at": pa.array([], pa.timestamp("us", "UTC"))})
    frame = of_table(sail, table)
    assert (frame.dtypes, frame.count()) == ([("a", "bigint"), ("at", "timestamp")], 0)


def test_nan_in_a_parquet_file_stays_nan(sail: SparkSession, tmp_path: Path) -> None:
    """Statistics of a column leave NaN out: the engine would read it as the only other value, and pass over files by
    conditions that only NaN satisfies."""
    table = pa.table({"k": [1, 2], "x": [nan, 0.5]})
    parquet.write_table(table, tmp_path / "part.parquet")
    rows = sail.read.parquet(str(tmp_path))
    assert [isnan(row.x) for row in rows.orderBy("k").collect()] == [True, False]
    for condition in ("x > 0.7D", "NOT (x <= 0.7D)", "x = double('NaN')", "x != 0.5D"):
        assert [row.k for row in rows.where(condition).collect()] == [1], condition


@pytest.mark.rest
def test_the_engine_starts_and_stops_more_than_once_and_leaves_no_mode_behind() -> None:
    pytest.importorskip("pysail")
    program = (
        "import os\n"
        "from cedilla.runtime.engines.spark.sail import sail_session\n"
        "for number in (1, 2):\n"
        "    with sail_session({'spark.sql.session.timeZone': 'Asia/Tokyo'}) as session:\n"
        "        print(session.range(number).count(), session.conf.get('spark.sql.session.timeZone'))\n"
        "    assert 'SPARK_CONNECT_MODE_ENABLED' not in os.environ\n"
    )
    assert _printed(program) == ("1 Asia/Tokyo\n2 Asia/Tokyo\n", "")


@pytest.mark.rest
def test_children_that_the_process_forks_live() -> None:
    """One in twenty ended in gRPC's own handlers of forks, among them the JVM of a session of Spark."""
    pytest.importorskip("pysail")
    program = (
        "import os\n"
        "from subprocess import DEVNULL, Popen\n"
        "from cedilla.runtime.engines.spark.sail import sail_session\n"
        "with sail_session() as session:\n"
        "    for number in range(150):\n"
        "        session.range(number).count()\n"
        "        assert Popen(['true'], stdin=DEVNULL, preexec_fn=os.getpid).wait() == 0, number\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_without_the_engine_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysail", None)
    with pytest.raises(DiagnosticError) as caught, sail_session():
        pass
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("RQ424", "pip install 'cedilla[sail]'")


IDLE = """
import time
from cedilla.runtime.engines.spark import sail

with sail.sail_session() as session:
    session.range(3).count()
    time.sleep(4)
    print(session.range(3).count())
"""


@pytest.mark.rest
@pytest.mark.parametrize(("seconds", "survives"), tiered([(None, True), ("1", False)]))
def test_a_session_survives_hours_without_work(seconds: str | None, survives: bool) -> None:
    """The second case shows that Sail reads the variable of this name."""
    name = "SAIL_SPARK__SESSION_TIMEOUT_SECS"
    environment = {key: value for key, value in os.environ.items() if key != name}
    environment |= {} if seconds is None else {name: seconds}
    run = subprocess.run(
        [sys.executable, "-c", IDLE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode == 0, run.stdout.endswith("3\n")) == (survives, survives)
    assert survives or "is not running" in run.stderr
    assert int(_ENVIRONMENT[name]) > 365 * 86_400
