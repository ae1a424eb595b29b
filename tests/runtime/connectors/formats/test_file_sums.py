"""Counts and checksums of what the engine has written: the same from tasks of a cluster as from the driver, which then
reads none of it."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla.runtime.connectors.formats import file_sums
from cedilla.runtime.connectors.formats.file_sums import checksum, counts, joined
from cedilla.runtime.connectors.formats.sinks.formats import SINKS
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.stores import LocalStore
from cedilla.runtime.engines.spark import costs
from cedilla.runtime.engines.spark.connect import is_far
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.state.segments import check_files
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.columns import columns_in


@given(st.binary(), st.binary(), st.integers(0, 1 << 16))
def test_a_checksum_of_two_texts_follows_from_theirs(first: bytes, second: bytes, zeros: int) -> None:
    second += bytes(zeros)
    assert joined(zlib.crc32(first), zlib.crc32(second), len(second)) == zlib.crc32(first + second)


@pytest.fixture
def _far(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session's tasks run on other machines, and files are large."""
    assert not is_far(spark)
    monkeypatch.setattr(file_sums, "is_far", lambda session: True)
    monkeypatch.setattr(costs, "PARSED_BY_DRIVER", 0)


@pytest.mark.either_engine
@pytest.mark.usefixtures("_far")
def test_tasks_give_what_the_driver_gives(spark: SparkSession, tmp_path: Path) -> None:
    files = Files()
    for number, text in enumerate(("", "a\n", "\n\nb", "x" * (5 << 20) + "\n")):
        files.write(str(tmp_path / f"{number}.jsonl"), text)
    listed = files.list(str(tmp_path))
    assert counts(spark, files, listed, b"\n") == [0, 1, 2, 1]
    assert checksum(spark, files, listed) == files.checksum(listed)
    files.write(str(tmp_path / "1.jsonl"), "b\n")
    assert checksum(spark, files, listed) == files.checksum(listed)


@pytest.mark.rest
@pytest.mark.spark
@pytest.mark.usefixtures("_far")
def test_the_driver_of_a_cluster_reads_nothing_of_what_tasks_have_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output as text, and a segment of state; a changed byte of that is noticed."""

    def read(*arguments: Any) -> None:
        raise AssertionError(arguments)

    files, frame = Files(), spark.range(20_000).repartition(3)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "checksum", read)
        patch.setattr(Files, "blocks", read)
        for format_ in ("json", "xml"):
            sink = SINKS[format_](files, str(tmp_path / format_), "r")
            assert sink.stage(0, frame, columns_in(frame)) == 20_000
        store = StateStore(spark, files, str(tmp_path / "state"), jobs := Jobs())
        store.append("s", frame, columns_in(frame), 0)
        (segment,) = store.measured(store.segments)["s"]
        jobs.close()
    check_files(files, segment, files.checksum)
    check_files(files, segment, lambda listed: checksum(spark, files, listed))
    changed = files.list(segment.path)[0]
    content = bytearray(Path(changed.path.removeprefix("file:")).read_bytes())
    content[len(content) // 2] ^= 1
    files.write(changed.path, bytes(content))
    with pytest.raises(Exception, match="RQ478"):
        check_files(files, segment, lambda listed: checksum(spark, files, listed))
