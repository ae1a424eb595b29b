"""The archive of the classes that Spark loads: Java takes them from there, and starts without it where it is not."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cedilla.runtime.engines.spark.session import ARCHIVE, java_options

START = """
from cedilla.runtime.engines.spark.session import local_session
print(local_session().range(3).count())
"""


def test_java_is_told_of_an_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(ARCHIVE, raising=False)
    assert "SharedArchiveFile" not in java_options()
    monkeypatch.setenv(ARCHIVE, str(tmp_path / "a b.jsa"))
    assert f"-XX:SharedArchiveFile={tmp_path / 'a b.jsa'}" in shlex.split(java_options())


@pytest.mark.rest
def test_spark_starts_from_an_archive_and_without_it(tmp_path: Path) -> None:
    # The archive that `make test-rest` has just written by this command; without one, a new one in a folder.
    archive = Path(os.environ.get(ARCHIVE) or tmp_path / "made" / "classes.jsa")
    if not archive.exists():
        write = [sys.executable, "-m", "cedilla.runtime.epochs.pipeline.class_archive", str(archive)]
        subprocess.run(write, check=True, cwd=tmp_path)
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    assert list(archive.parent.glob(".archive-*")) == []
    shared = {}
    for file in (archive, tmp_path / "missing.jsa"):
        log = tmp_path / f"{file.name}.txt"
        done = subprocess.run(
            [sys.executable, "-c", START],
            env={**environment, ARCHIVE: str(file), "SPARK_SUBMIT_OPTS": f"-Xlog:class+load:file={log}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("3\n", "")
        loaded = [line for line in log.read_text().splitlines() if " org.apache.spark." in line]
        shared[file] = sum("shared objects file (top)" in line for line in loaded) / len(loaded)
    assert shared[archive] > 0.5
    assert shared[tmp_path / "missing.jsa"] == 0
