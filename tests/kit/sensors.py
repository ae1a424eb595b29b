"""The paper's query with many readings in large files, run by the command in a process of its own, as users do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from cedilla import Options, simulate
from tests.kit import ROOT
from tests.kit.clusters import spark_environment
from tests.kit.stream import Item, decode, read_output

QUERY = ROOT / "queries" / "sensors.rq"
DATA = ROOT / "queries" / "sensors" / "data"
FILES, TUPLES = 5, 3_000
"""Large files: a field that is passed over makes workers parse them, not the driver."""
REST = "x" * 330


def write_streams(root: Path) -> None:
    """The sensors of the paper with many more readings, each file of one window: their units change and an attribute
    appears amid the files."""
    rng = Random(20)
    (root / "in" / "sensors").mkdir(parents=True)
    (root / "in" / "placement").mkdir()
    celsius: set[int] = set()
    pressure: set[int] = set()
    for number in range(FILES):
        lines: list[str] = []
        for at in range(TUPLES):
            if at == TUPLES // 2 and number < 3:
                celsius.add(number + 1)
                lines.append(f'{{"$accent": "[[s = {number + 1}, alter(t, y -> (y - 32) * 5/9)]]"}}')
            if at == TUPLES // 3 and number == 1:
                pressure.add(2)
                lines.append('{"$accent": "[[s = 2, +(p: double)]]"}')
            sensor = rng.randrange(1, 4)
            t = rng.randrange(100, 400) / 10 * (1 if sensor in celsius else 9 / 5)
            p = ', "p": 1013.0' if sensor in pressure else ""
            lines.append(
                f'{{"ts": {number * 300 + at * 300 // TUPLES}, "s": {sensor}, "t": {t:.2f}{p}, "rest": "{REST}"}}'
            )
        lines.append(f'{{"$punctuation": "[ts < {(number + 1) * 300}]"}}')
        path = root / "in" / "sensors" / f"{number}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        assert path.stat().st_size > 1 << 20
        os.utime(path, (number + 1, number + 1))
    placement = DATA / "placement" / "0-placement.jsonl"
    (root / "in" / "placement" / "0.jsonl").write_text(placement.read_text())


def options(root: Path, name: str) -> list[str]:
    """Returns the options that runs share: their folders."""
    return [
        *("--once", "--files-per-epoch", "1", "--checkpoint", str(root / name / "checkpoint")),
        *("--source", f"sensors={root}/in/sensors", "--source", f"placement={root}/in/placement"),
        *("--sink", f"average={root / name / 'average'}"),
    ]


def averages(root: Path, name: str) -> dict[tuple[str, int], Item]:
    """The rows of an output in its first units, by place and window."""
    rows = decode(read_output(root / name / "average"))
    result = {(row["l"], row["wid"]): {n: float(row[n]) for n in ("t", "p") if n in row} for row in rows}
    assert len(result) == len(rows), "a group was passed twice"
    return result


def cedilla(*arguments: str, python: str | None = None) -> subprocess.Popen[str]:
    """The command; `python`: that of the workers."""
    return subprocess.Popen(
        [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=spark_environment({"PYSPARK_PYTHON": python or sys.executable}),
    )


def finished(process: subprocess.Popen[str]) -> str:
    """Returns the output of a command, which has to succeed."""
    output = process.communicate(timeout=900)[0]
    assert process.returncode == 0, output
    return output


def prepared(root: Path) -> Path:
    """A folder with the streams, and with what the reference makes of them."""
    write_streams(root)
    sources = {name: str(root / "in" / name) for name in ("sensors", "placement")}
    simulate(QUERY, Options(sources=sources, sinks={"average": str(root / "reference" / "average")}))
    return root


def check(root: Path, name: str) -> None:
    """Compares an output with that of the reference."""
    expected, actual = averages(root, "reference"), averages(root, name)
    assert len(expected) == 2 * FILES
    assert actual.keys() == expected.keys()
    for key, row in expected.items():
        assert actual[key] == pytest.approx(row, abs=1e-9, rel=1e-12)
