"""Queries on other engines than Spark in this process: the same output, from the same checkpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run, simulate
from cedilla.runtime.engines.spark import costs, java
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.sessions import engine_of
from tests.kit.command import cedilla
from tests.kit.compare import plain, texts
from tests.kit.errors import code_of
from tests.kit.lines import write_lines
from tests.kit.query import canonical_rows
from tests.kit.stream import Item, decode, read_output

pytest.importorskip("pysail")

QUERY = """
stream pumps(ts: long, pump: int, t: double) from json "pumps" punctuated on ts;
wide := window[10 on ts as w](pumps);
average := aggregate[avg(t) as t by pump, w](wide);
late := sort[t desc](select[t > 30](pumps));
emit average to json "average";
emit late to json "late";
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The query and its stream, with an Alter in the middle, a bad line and values that are no numbers of JSON."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    (tmp_path / "q.rq").write_text(QUERY)
    for number in range(6):
        write_lines(tmp_path / "pumps" / f"{number}.jsonl", sensor_lines(number), number)
    return tmp_path


def sensor_lines(number: int) -> Sequence[Item | str]:
    rows: list[Item | str] = [{"ts": number * 10 + k // 3, "pump": k % 3, "t": 20.5 + k} for k in range(30)]
    if number == 2:
        rows += ["no json", {"$accent": "[[pump = 1, alter(t, y -> (y - 32) * 5/9)]]"}]
    if number == 4:
        rows += [{"ts": 49, "pump": 2, "t": "NaN"}, {"ts": 49, "pump": 0, "t": "Infinity"}]
    return [*rows, {"$punctuation": f"[ts < {number * 10 + 10}]" if number < 5 else "[]"}]


def by_reference(folder: Path, name: str) -> list[Item]:
    if not (folder / "plain").exists():
        simulate("q.rq", Options(sinks={n: f"plain/{n}" for n in ("average", "late")}))
    return read_output(folder / "plain" / name)


def check_outputs(folder: Path) -> None:
    assert texts(canonical_rows(folder / "average", 9)) == texts(
        plain(decode(by_reference(folder, "average")), 9)
    )
    assert canonical_rows(folder / "late", 9) == plain(decode(by_reference(folder, "late")), 9)
    (bad,) = (folder / ".cedilla" / "q" / "quarantine" / "pumps").iterdir()
    assert [
        (line["code"], line["position"]["line"]) for line in map(json.loads, bad.read_text().splitlines())
    ] == [("RQ301", 31)]


def table_of(items: Sequence[Item]) -> pa.Table:
    kinds = {"ts": pa.int64(), "pump": pa.int64(), "t": pa.float64()}
    markers = dict.fromkeys(("$accent", "$punctuation"), pa.string())
    return pa.Table.from_pylist(list(items), pa.schema([*kinds.items(), *markers.items()]))


@pytest.mark.rest
def test_parquet_in_and_out_on_sail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a task for each row group: an Alter in the middle of a file, a row that is no tuple, a NaN."""
    monkeypatch.setattr(costs, "PART", 1)
    bad = {"ts": 29, "pump": 1 << 40, "t": 1.5}
    numbers = {"NaN": float("nan"), "Infinity": float("inf")}
    (folder / "table").mkdir()
    for number in range(6):
        items = [bad if isinstance(item, str) else item for item in sensor_lines(number)]
        if number == 1:
            items.insert(0, {"ts": 10, "pump": 2, "t": "NaN"})
        write_lines(folder / "pumps" / f"{number}.jsonl", items, number)
        rows = [{n: numbers.get(str(v), v) for n, v in item.items()} for item in items]
        path = folder / "table" / f"{number}.parquet"
        parquet.write_table(table_of(rows), path, row_group_size=7)
        os.utime(path, (number, number))
    query = QUERY.replace('json "pumps"', 'parquet "table"').replace("to json", "to parquet")
    run(
        compile_query(query),
        Options(once=True, engine="sail", files_per_epoch=2, checkpoint="of_tables"),
    )
    for name in ("average", "late"):
        actual, wanted = (
            [str({n: round(float(v), 9) for n, v in sorted(row.items())}) for row in decode(items)]
            for items in (read_output(folder / name), by_reference(folder, name))
        )
        assert actual == wanted if name == "late" else sorted(actual) == sorted(wanted)
    (rejected,) = (folder / "of_tables" / "quarantine" / "pumps").iterdir()
    (line,) = map(json.loads, rejected.read_text().splitlines())
    assert (line["code"], line["position"]["line"], json.loads(line["raw"])) == ("RQ301", 30, bad)
    assert line["reason"] == "`pump` must be an int, found 1099511627776"


SORTED = """
stream r(ts: long, pump: int, t: double) from parquet "table";
numbers := sort[t desc](select[t < 2](project[ts, t](r)));
every := sort[t desc](project[ts, t](r));
emit numbers to json "numbers";
emit every to json "texts";
emit every to parquet "tables";
"""


@pytest.mark.rest
def test_what_is_sorted_is_written_so(folder: Path) -> None:
    """Enough rows for Sail to compute parts of them on several cores."""
    count = 200_000
    values = np.arange(count) * 7919 % 1_000_003 / 1_000_003
    table = pa.table({"ts": range(count), "pump": [1] * count, "t": [*values[1:], float("nan")]})
    (folder / "table").mkdir()
    parquet.write_table(table, folder / "table" / "1.parquet")
    parquet.write_table(table_of([{"$punctuation": "[]"}]), folder / "table" / "2.parquet")
    run(compile_query(SORTED), Options(once=True, engine="sail", checkpoint="of_sorted"))
    wanted = np.sort(values[1:])[::-1].tolist()
    assert [row["t"] for row in read_output(folder / "numbers") if "t" in row] == wanted
    assert [row["t"] for row in read_output(folder / "texts") if "t" in row] == ["NaN", *wanted]
    files = sorted((folder / "tables").glob("epoch=*/1-tuples*.parquet"))
    assert [t for file in files for t in parquet.ParquetFile(file).read()["t"].to_pylist()][1:] == wanted


def test_a_damaged_page_of_a_table_is_told(folder: Path) -> None:
    """Its footer is whole, so a task finds it."""
    (folder / "table").mkdir()
    path = folder / "table" / "1.parquet"
    parquet.write_table(table_of([{"ts": 1, "pump": 1, "t": 1.0}] * 100), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    query = compile_query(QUERY.replace('json "pumps"', 'parquet "table"'))
    assert code_of(lambda: run(query, Options(once=True, engine="sail", checkpoint="of_tables"))) == "RQ414"


@pytest.mark.parametrize("files_per_epoch", [None, 1])
def test_a_query_runs_on_sail(folder: Path, files_per_epoch: int | None) -> None:
    run("q.rq", Options(once=True, engine="sail", files_per_epoch=files_per_epoch))
    check_outputs(folder)


@pytest.mark.rest
def test_a_checkpoint_goes_from_engine_to_engine(folder: Path, spark: SparkSession) -> None:
    """In the middle of accents; nothing is read twice, nothing is left out, whatever Spark's own record knows."""
    for number in range(1, 6):
        (folder / "pumps" / f"{number}.jsonl").unlink()
    for number in range(6):
        write_lines(folder / "pumps" / f"{number}.jsonl", sensor_lines(number), number)
        if number % 2:
            run("q.rq", Options(once=True, engine="sail"), spark=None if number == 3 else spark)
    check_outputs(folder)


def test_the_command_says_what_it_does(folder: Path) -> None:
    result = cedilla("run", "q.rq", "--once", "--engine", "sail")
    assert result.exit_code == 0
    assert any(line.endswith(" starting Sail") for line in result.stderr.splitlines())
    assert "epoch 0 on sail · 182 tuples in" in result.stderr
    assert cedilla("status", ".cedilla/q").stdout.splitlines()[0].endswith(" UTC by sail; no run")


@pytest.mark.rest
def test_a_process_that_has_grown_too_much_is_replaced_by_a_new_one(folder: Path) -> None:
    """In the middle of a micro-batch of six epochs, each third of which is too much."""
    program = (
        "import os\n"
        "from cedilla.runtime.hosts.cli.main import main\n"
        "from cedilla.runtime.engines.spark import memory\n"
        "memory._MAX_GROWTH, memory._MIN_EPOCHS = -(1 << 40), 3\n"
        "print(os.getpid())\n"
        "main(['run', 'q.rq', '--once', '--files-per-epoch', '1', '--engine', 'sail'])\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
    )
    check_outputs(folder)
    processes = done.stdout.split()
    assert len(processes) in (2, 3)  # the last epoch may end the run, or its process
    assert len(set(processes)) == 1  # whoever started it still has it
    assert done.stderr.count("going on in a new process") == len(processes) - 1
    assert [line[9:16] for line in done.stderr.splitlines() if line[9:].startswith("epoch")] == [
        f"epoch {number}" for number in range(6)
    ]


def test_without_java_sail_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_java", lambda: None)
    assert engine_of(Options()) == "sail"
    assert engine_of(Options(engine="spark")) == engine_of(Options(master="local[2]")) == "spark"
    assert engine_of(Options(remote="sc://a:1")) == "connect"


WRONG = {
    "--remote sc://h --engine sail": "--remote is for the engine connect",
    "--engine connect": "the engine connect requires --remote",
    "--engine sail --master local": "--master is for the engine spark",
    "--remote sc://h --master local": "--master is for the engine spark",
}


@pytest.mark.parametrize("options", WRONG)
def test_options_of_two_engines_are_refused(folder: Path, options: str) -> None:
    result = cedilla("run", "q.rq", *options.split())
    assert (result.exit_code, WRONG[options] in result.stderr) == (2, True)


NAMES = """
stream r(s: string) from json "pumps";
a := project[initcap(s) as s](r);
emit a to json "a";
"""


def test_what_cannot_be_is_refused_before_anything_runs(folder: Path) -> None:
    def options(**fields: object) -> Options:
        return Options(once=True, **fields)  # type: ignore[arg-type]

    assert code_of(lambda: run("q.rq", options(engine="sail", checkpoint="a[1]"))) == "RQ434"
    assert code_of(lambda: run("q.rq", options(engine="sail", sinks={"late": "a*"}))) == "RQ434"
    assert code_of(lambda: run("q.rq", options(remote="sc://127.0.0.1:1"))) == "RQ428"
    initcap = compile_query(NAMES)
    with pytest.raises(DiagnosticError, match=r"RQ425\][^\n]* \(line \d+ of the query\)|--> "):
        run(initcap, options(engine="sail"))


def test_names_that_are_words_of_an_engine_are_attributes(folder: Path) -> None:
    """On Sail `current_date` would be today."""
    names = ("all", "distinct", "table", "current_date", "current_user", "date", "left")
    text = f"""
stream r({", ".join(f"{n}: long" for n in names)}) from json "words";
a := select[{" and ".join(f"{n} >= {k}" for k, n in enumerate(names))}](r);
emit a to json "words_out";
"""
    (folder / "words").mkdir()
    row = {name: number for number, name in enumerate(names)}
    (folder / "words" / "1.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, "all": -1}) + "\n")
    run(compile_query(text), Options(once=True, engine="sail", checkpoint="words_checkpoint"))
    assert decode(read_output(folder / "words_out")) == [row]


@pytest.mark.rest
@pytest.mark.parametrize("bad", [False, True])
def test_no_job_counts_what_is_valid(folder: Path, monkeypatch: pytest.MonkeyPatch, bad: bool) -> None:
    """Statistics of parsed tuples prove all of them valid. A job counts only if some are rejected."""
    for cost in ("PARSED_BY_DRIVER", "PART"):
        monkeypatch.setattr(costs, cost, 300)
    counted: list[int] = []

    def count(*arguments: Any) -> Any:
        counted.append(1)
        return of_intake(*arguments)

    of_intake = intake.counted
    monkeypatch.setattr(intake, "counted", count)
    if not bad:
        for number in (2, 4):
            write_lines(
                folder / "pumps" / f"{number}.jsonl",
                [line for line in sensor_lines(number) if line != "no json"],
                number,
            )
    run("q.rq", Options(once=True, engine="sail"))
    assert texts(canonical_rows(folder / "average", 9)) == texts(
        plain(decode(by_reference(folder, "average")), 9)
    )
    assert len(counted) == bad
