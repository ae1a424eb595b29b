"""The commands that pages print on lines of their own run in a clone with a stream of pumps, as they are printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import PAGES, page_name
from tests.kit import ROOT

pytestmark = pytest.mark.rest

_TYPED = re.compile(r"^ {4}(cedilla .*)$", re.MULTILINE)
TRIED_ELSEWHERE = {
    "docs/start.md": "tests/docs/test_start.py types the whole page",
    "docs/reference/commands.md": "forms",
    "docs/running.md": "a checkpoint of another query: tests/runtime/hosts/cli",
    "queries/kafka/README.md": "a broker",
    "queries/compose/README.md": "tests/test_compose.py",
    "queries/nexmark/README.md": "data of the generator of the benchmarks",
}
"""Pages -> who tries their commands, or what these need."""
NOT_ALONE = {
    r"localhost:9092": "a broker",
    r"--remote sc://|http://registry": "a server",
    r"import otel-schema": "a published schema: tests/runtime/tools/importing/test_telemetry.py",
    r" Q\.rq|NAME|STREAM": "a form, not a command",
    r"--ui|--metrics|--follow|cedilla ui ": "does not end by itself",
    r"--on stop": "a site of the reader",
    r"cedilla replay": "a quarantine: tests/runtime/tools/inspect/test_replay.py",
    r"queries/weather": "the data of make demo",
    r"=archive|=house": "files that a program of the page writes: tests/test_mqtt.py, tests/test_recorder.py",
    r"read used": "the output of a query of the page: tests/runtime/epochs/pipeline/test_latest.py",
    r"\.\.\.|\bcheckpoint \\": "a text that is cut",
}
"""What a command contains that cannot be tried here -> why."""


def commands() -> Iterator[Any]:
    """Yields each page with the commands that it prints one after the other."""
    for page in PAGES:
        lines = [
            line
            for line in _TYPED.findall(page.read_text("utf-8"))
            if not any(re.search(pattern, line) for pattern in NOT_ALONE)
        ]
        if page_name(page) not in TRIED_ELSEWHERE and lines:
            yield pytest.param(lines, id=page_name(page))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the queries of the repository, a query over pumps, its data, and a checkpoint of a run of it."""
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(
        ROOT / "queries", folder / "queries", ignore=shutil.ignore_patterns("__pycache__", "weather", "out")
    )
    query = (ROOT / "docs" / "cookbook.md").read_text("utf-8").partition("```rq\n")[2].partition("```")[0]
    lines = '{"ts": 0, "pump": 1, "litres": 100.0}\n{"ts": 1, "pump": 2, "litres": 140.0}\n'
    lines += '{"$punctuation": "[ts < 60]"}\n'
    for stream in ("pumps", "data/pumps", "data/readings"):
        (folder / stream).mkdir(parents=True)
        (folder / stream / "1.jsonl").write_text(lines, "utf-8")
    (folder / "pumps.rq").write_text(query.replace("double", "double unit litre"), "utf-8")
    (folder / "queries" / "pumps.rq").write_text(
        query.replace('"pumps"', '"data/pumps"').replace("double", "double unit litre"), "utf-8"
    )
    for name in ("switches", "ops/pumps"):
        (folder / name).mkdir(parents=True)
    _run(folder, "cedilla run pumps.rq --once --engine sail --checkpoint checkpoint")
    return folder


@pytest.mark.parametrize("lines", list(commands()))
def test_the_commands_of_a_page_run_as_they_are_printed(
    clone: Path, tmp_path: Path, lines: list[str]
) -> None:
    folder = tmp_path / "clone"
    shutil.copytree(clone, folder)
    for line in lines:
        _run(folder, line)
        if line.startswith("cedilla init "):  # the page says to continue there
            folder = folder / shlex.split(line)[2]


def _run(folder: Path, line: str) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    if line.startswith("cedilla run ") and "--engine" not in line:
        line += " --engine sail"  # starts ten times as fast; what runs on Spark, other tests try
    done = subprocess.run(
        ["bash", "-e", "-c", line],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
