"""The light installation: `requirements-light.txt` is what Cedilla needs, and queries run with nothing else."""

import json
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from tests.kit import ROOT
from tests.kit.environments import environment
from tests.kit.lines import write_lines

REQUIREMENTS = ROOT / "requirements-light.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
QUERY = """\
stream pumps(ts: long, pump: int in {1, 2}, litres: double unit L) from json "pumps" punctuated on ts;
flow := aggregate[avg(litres) as litres by minute](window[60 on ts as minute](pumps));
emit flow to json "flow";
"""
LINES = [
    {"ts": 0, "pump": 1, "litres": 100.0},
    {"$accent": "[[pump = 2, unit(litres, m3)]]"},
    {"ts": 1, "pump": 2, "litres": 0.14},
    {"$punctuation": "[ts < 60]"},
]
RESULT = [{"minute": 0, "litres": 120.0}, {"$punctuation": "[minute < 1]"}]


def test_the_requirements_are_those_of_the_project_with_the_client_of_pyspark() -> None:
    lines = [line for line in REQUIREMENTS.read_text("utf-8").splitlines() if not line.startswith("#")]
    dependencies = [line.replace("pyspark", "pyspark-client") for line in PROJECT["dependencies"]]
    (engine,) = [line for line in PROJECT["optional-dependencies"]["sail"] if line.startswith("pysail")]
    assert lines == [*dependencies, engine]


ONLY_IN_SPARK = {"py4j", "core", "jars"}
"""What PySpark has and its client lacks: the bridge to Java, the package that starts it, and Spark itself."""


def without_spark(folder: Path) -> Path:
    """The Python of an environment with all packages of this one, and with PySpark as its client has it."""
    here = Path(sysconfig.get_path("purelib"))
    python = environment(
        folder, *(e.name for e in here.iterdir() if e.name not in {*ONLY_IN_SPARK, "pyspark"})
    )
    (target,) = folder.glob("lib/python*/site-packages")
    (target / "pyspark").mkdir()
    for entry in (here / "pyspark").iterdir():
        if entry.name not in ONLY_IN_SPARK:
            (target / "pyspark" / entry.name).symlink_to(entry)
    return python


def installed(folder: Path) -> Path:
    """The Python of an environment in which pip has followed the page."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    for arguments in (["-r", str(REQUIREMENTS)], ["--no-deps", str(ROOT)]):
        subprocess.run([python, "-m", "pip", "install", "--quiet", *arguments], check=True)
    assert not list(folder.glob("lib/*/site-packages/pyspark/jars"))
    return python


@pytest.mark.parametrize(
    "installation",
    [pytest.param(without_spark, marks=pytest.mark.rest), pytest.param(installed, marks=pytest.mark.soak)],
)
def test_a_query_is_checked_simulated_and_run_without_spark(tmp_path: Path, installation) -> None:
    python = installation(tmp_path / "environment")
    work = tmp_path / "work"
    write_lines(work / "pumps" / "1.jsonl", LINES)
    (work / "pumps.rq").write_text(QUERY)

    def cedilla(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), "-m", "cedilla.runtime.hosts.cli.main", *arguments]
        return subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)

    def items(text: str) -> list[object]:
        return [json.loads(line) for line in text.splitlines()]

    assert subprocess.run([python, "-c", "import py4j"], capture_output=True, check=False).returncode == 1
    assert "no errors or warnings" in cedilla("check", "pumps.rq").stdout
    assert items(cedilla("simulate", "pumps.rq").stdout) == RESULT
    run = cedilla("run", "pumps.rq", "--once", "--checkpoint", "ck")
    assert (run.returncode, "because this machine lacks Spark" in run.stderr) == (0, True), run.stderr
    assert items("".join(file.read_text() for file in sorted((work / "flow").rglob("*.jsonl")))) == RESULT
    assert items(cedilla("read", "flow").stdout) == RESULT[:1]
    refused = cedilla("run", "pumps.rq", "--once", "--checkpoint", "ck", "--engine", "spark")
    assert (refused.returncode, "RQ403" in refused.stderr) == (1, True), refused.stderr
