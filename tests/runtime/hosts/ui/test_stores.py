"""A checkpoint in an object store is shown like the same one on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla import Options
from cedilla import run as run_query
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.journal import EpochEntry, Journal
from cedilla.runtime.tools.inspect.newest_rows import newest_rows
from cedilla.runtime.tools.inspect.replay import replays, texts
from cedilla.runtime.tools.inspect.run_model import RunModel
from cedilla.runtime.tools.inspect.status import read_status, status_json
from tests.conftest import MODE
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.pages import served
from tests.kit.query import Query
from tests.runtime.hosts.ui.pumps import run

NOW = 1795680000.0


@pytest.fixture(scope="module")
def query(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        yield run(_embedded, tmp_path_factory.mktemp("pumps"))


@pytest.fixture
def stored(query: Query, bucket: str) -> str:
    """The checkpoint of the run, copied into a store."""
    root, files = query.root / "checkpoint", Files()
    for path in (path for path in root.rglob("*") if path.is_file()):
        files.write(f"{bucket}/ck/{path.relative_to(root)}", path.read_bytes())
    return f"{bucket}/ck"


def without_path(content: Any, path: str) -> Any:
    """Replaces the path of a checkpoint in all texts."""
    if isinstance(content, dict):
        return {name: without_path(value, path) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_path(value, path) for value in content]
    return content.replace(path, "CHECKPOINT") if isinstance(content, str) else content


@pytest.mark.rest
def test_the_model_and_the_status_are_those_of_a_copy_on_this_machine(query: Query, stored: str) -> None:
    here = str(query.root / "checkpoint")
    models = [without_path(RunModel(path, lambda: NOW).read(), path) for path in (here, stored)]
    assert models[1] == models[0]
    assert models[0]["quarantine"]
    assert models[0]["sources"][0]["groups"][0]["rows"][0]["total"] == 120
    statuses = [without_path(status_json(read_status(path)), path) for path in (here, stored)]
    assert statuses[1] == statuses[0]
    assert [*texts(replays(stored, "RQ301", None))] == [*texts(replays(here, "RQ301", None))]


def test_the_page_answers_questions_about_it(stored: str) -> None:
    with served(stored) as page:
        assert page.get("/model").json()["run"]["epoch"] == 3
        answer = page.post("/trace", {"source": "pumps", "marker": "[[pump = 4, unit(litres, m3)]]"})
        assert answer["markers"][0]["relations"]
        assert page.post("/rows", {"output": "flow", "units": "as written"})["rows"]
        assert "cedilla_epoch 3.0" in page.get("/metrics").text


def test_the_command_says_where_nothing_is_and_what_cannot_be_reached(bucket: str) -> None:
    assert "error[RQ411]" in cedilla("ui", f"{bucket}/nothing").stderr
    assert "error[RQ430]" in cedilla("ui", "gopher://host/ck").stderr


def test_rows_of_an_output_in_a_store_are_shown(query: Query, bucket: str) -> None:
    files, folder = Files(), query.root / "out" / "flow"
    for path in (path for path in folder.rglob("*") if path.is_file()):
        files.write(f"{bucket}/flow/{path.relative_to(folder)}", path.read_bytes())
    checkpoint = RunModel(str(query.root / "checkpoint"))
    checkpoint.read()
    assert checkpoint.folder is not None
    here = newest_rows(checkpoint.folder, "flow", "as written")
    (emit,) = (emit for emit in checkpoint.folder.stored.plan.emits if emit.name == "flow")
    object.__setattr__(emit, "path", f"{bucket}/flow")
    assert here["rows"]
    assert newest_rows(checkpoint.folder, "flow", "as written") == here


def test_a_run_keeps_its_journal_in_the_store_of_its_checkpoint(
    sail: SparkSession, tmp_path: Path, bucket: str
) -> None:
    write_lines(tmp_path / "in" / "1.jsonl", [{"pump": 1 + n % 2, "litres": 1.0} for n in range(5)])
    text = 'stream pumps(pump: int in {1, 2, 3}, litres: double unit L) from json "in"; emit pumps to json "out";'
    options = Options(
        once=True,
        sources={"pumps": str(tmp_path / "in")},
        sinks={"pumps": str(tmp_path / "out")},
        checkpoint=f"{bucket}/ck",
    )
    run_query(text, options, spark=sail)
    (group,) = RunModel(f"{bucket}/ck").read()["sources"][0]["groups"]
    assert {row["value"]: row["total"] for row in group["rows"]} == {"1": 3, "2": 2, "3": 0}


def test_a_journal_in_a_store_is_written_every_ten_seconds_and_at_the_end(bucket: str) -> None:
    now, files = [1000.0], Files()
    files.write(f"{bucket}/ck/plan.json", "{}")
    journal = Journal.open(files, f"{bucket}/ck", lambda: now[0])

    def epochs_after(seconds: float) -> int:
        now[0] += seconds
        journal.note(EpochEntry(0, 1, 1, 0.1, {}, {}, (0, 0)))
        return Journal.open(files, f"{bucket}/ck").content["totals"]["epochs"]

    assert [epochs_after(seconds) for seconds in (0, 1, 8, 1)] == [1, 1, 1, 4]
    epochs_after(1)
    journal.write()
    assert Journal.open(files, f"{bucket}/ck").content["totals"]["epochs"] == 5
