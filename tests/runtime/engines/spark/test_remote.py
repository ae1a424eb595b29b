"""The sensors query by `--remote` on a server of Spark Connect, and checkpoints that change engines amid accents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import sensors
from tests.kit.clusters import connect_server
from tests.kit.processes import until
from tests.kit.sensors import FILES, QUERY, TUPLES, cedilla, check, finished, options

TABLE = 3
"""The number of tuples of `placement`."""

pytestmark = [pytest.mark.rest, pytest.mark.spark]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sensors.prepared(tmp_path_factory.mktemp("remote"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("server")) as (address, _):
        yield address


def test_a_run_on_a_server(root: Path, url: str) -> None:
    output = finished(cedilla("run", str(QUERY), *options(root, "run"), "--remote", url))
    assert f"epoch {FILES - 1} " in output
    check(root, "run")


@pytest.mark.soak
def test_a_checkpoint_goes_from_engine_to_engine(root: Path, url: str, tmp_path: Path) -> None:
    """Each run takes the next files: an Alter, an Add and an Alter come while the query is on its way."""
    (tmp_path / "in" / "sensors").mkdir(parents=True)
    (tmp_path / "in" / "placement").symlink_to(root / "in" / "placement")
    (tmp_path / "reference").symlink_to(root / "reference")
    for number, engine in enumerate(([], ["--remote", url], [], ["--engine", "sail"], ["--remote", url])):
        name = f"{number}.jsonl"
        os.link(root / "in" / "sensors" / name, tmp_path / "in" / "sensors" / name)
        output = finished(cedilla("run", str(QUERY), *options(tmp_path, "run"), *engine))
        # An Add ends an epoch, so a file may be two; the first run reads the table, too.
        counts = re.findall(r"([\d,]+) tuples in", output)
        assert sum(int(count.replace(",", "")) for count in counts) == TUPLES + (0 if number else TABLE)
    check(tmp_path, "run")


@pytest.mark.faults
def test_a_server_that_dies_ends_the_run_and_the_next_one_goes_on(root: Path, tmp_path: Path) -> None:
    """SIGKILL amid the run: what is committed stays, the message says what to do, and nothing comes twice."""
    commits = root / "killed" / "checkpoint" / "commits"
    with connect_server(tmp_path) as (url, server):
        process = cedilla("run", str(QUERY), *options(root, "killed"), "--remote", url)
        until(lambda: any(commits.glob("*.json")), process)
        server.kill()
        output = process.communicate(timeout=600)[0]
    assert process.returncode == 1, output
    assert "error[RQ" in output
    assert "Traceback" not in output
    last = max(int(commit.stem) for commit in commits.glob("*.json"))
    assert last < FILES - 1, "the run was over before the server died"
    (tmp_path / "again").mkdir()
    with connect_server(tmp_path / "again", int(url.rpartition(":")[2])) as (url, _):
        finished(cedilla("run", str(QUERY), *options(root, "killed"), "--remote", url))
    check(root, "killed")
