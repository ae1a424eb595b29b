"""Files of a checkpoint replaced by what strangers may put there: a code, and never a traceback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from prometheus_client import generate_latest
from pyspark.sql import SparkSession

from cedilla.runtime.hosts.ui.feed import Feed
from cedilla.runtime.hosts.ui.metrics import registry_of
from tests.conftest import MODE
from tests.kit.command import cedilla
from tests.kit.foreign_json import DEPTH, DOCUMENTS, changed
from tests.kit.fuzz import in_time
from tests.kit.query import Query
from tests.kit.tiers import tiered
from tests.runtime.hosts.ui.pumps import QUERY, run

MARKER = "[[pump = 4, unit(litres, m3)]]"


@pytest.fixture(scope="module")
def whole(_embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run with everything that a checkpoint can have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODE, "1")
        query = run(_embedded, tmp_path_factory.mktemp("whole"))
        checkpoint = query.root / "checkpoint"
        sent = cedilla("replay", checkpoint, "--code", "RQ301", "--as-now")
        assert sent.exit_code == 0, sent.output
        (query.root / "q.rq").write_text(QUERY)
        yield query.root


def look(root: Path) -> None:
    """Looks at a run with every tool that needs no engine."""
    checkpoint = root / "checkpoint"
    for arguments in (
        ("status", checkpoint),
        ("status", checkpoint, "--format", "json"),
        ("doctor", checkpoint),
        ("plan", root / "q.rq", checkpoint),
        ("trace", "--checkpoint", checkpoint, "--on", "pumps", MARKER),
        ("replay", checkpoint, "--code", "RQ301", "--print", "--again"),
        ("replay", checkpoint, "--code", "RQ301"),
        ("replay", checkpoint, "--code", "RQ301", "--again"),
    ):
        with in_time(arguments):
            result = cedilla(*arguments)
        assert result.exit_code in (0, 1), arguments
        assert result.exit_code == 0 or "RQ" in result.output or "plan" in arguments
    feed = Feed(str(checkpoint))
    with in_time("page"):
        feed.get()
        generate_latest(registry_of(feed))


def files_of(whole: Path) -> list[str]:
    """Returns the files of a checkpoint, apart from those of its state."""
    files = (path for path in (whole / "checkpoint").rglob("*") if path.is_file())
    return sorted(str(path.relative_to(whole)) for path in files if path.suffix != ".parquet")


@pytest.mark.parametrize("kind", tiered(sorted(DOCUMENTS, key=lambda kind: kind != "deep objects")))
def test_a_file_of_a_checkpoint_that_is_another(whole: Path, tmp_path: Path, kind: str) -> None:
    for name in files_of(whole):
        copy = shutil.copytree(whole, tmp_path / name.replace("/", "_"))
        (copy / name).write_bytes(DOCUMENTS[kind])
        look(copy)


@pytest.mark.parametrize("seed", tiered(range(12)))
def test_a_line_of_a_quarantine_with_another_value(whole: Path, tmp_path: Path, seed: int) -> None:
    """Nothing seals a quarantine, which people may edit."""
    rng = Random(seed)
    (name,) = (name for name in files_of(whole) if "quarantine" in name)
    line, *others = (whole / name).read_text().splitlines()
    for number in range(4):
        copy = shutil.copytree(whole, tmp_path / str(number))
        (copy / name).write_text("\n".join([changed(rng, line), *others, ""]))
        look(copy)


@pytest.mark.either_engine
def test_a_deep_line_that_was_set_aside_poisons_no_page(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(
        spark, tmp_path, 'stream s(k: int in {1, 2}, t: double) from json "s"; emit s to json "out";'
    )
    query.write("s", [{"k": 1, "t": 2.0}, '{"k": ' + "[" * DEPTH + "]" * DEPTH + "}"])
    query.process().close()
    feed = Feed(str(tmp_path / "checkpoint"))
    assert [entry["count"] for entry in feed.get()["quarantine"]] == [1]
    assert b"cedilla_quarantine_lines" in generate_latest(registry_of(feed))
    assert cedilla("replay", tmp_path / "checkpoint", "--code", "RQ301").exit_code == 0


def test_a_quarantine_without_its_form_is_counted_and_not_replayed(whole: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(whole, tmp_path / "copy")
    (name,) = (name for name in files_of(whole) if "quarantine" in name)
    with (copy / name).open("a") as file:
        file.write("[1]\n")
    assert "RQ301 2, RQ478 1" in cedilla("status", copy / "checkpoint").output
    counts = {entry["code"]: entry["count"] for entry in Feed(str(copy / "checkpoint")).get()["quarantine"]}
    assert counts == {"RQ301": 2, "RQ478": 1}
    result = cedilla("replay", copy / "checkpoint", "--code", "RQ301", "--print", "--again")
    assert "error[RQ478]" in result.output
    assert "line 3 is not what a run has written" in result.output
