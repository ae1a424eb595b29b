"""Tries the example of each code with each command: `python -m tests.docs.codes_by_command [CODE]...`.

That writes `codes_by_command.toml`, from which the page of codes is made. Tests try the examples again. Runs are on
Sail.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import chdir
from functools import cache
from pathlib import Path

from cedilla.grammar.diagnostics.codes import Code, codes
from tests.docs.code_examples import example_query, example_source, write_folders
from tests.kit.command import cedilla

RECORD = Path(__file__).with_suffix(".toml")
ENGINE = "run"
"""The command that needs an engine."""
_REPORTED = re.compile(r"^(?:error|warning|note)\[(RQ\d{3})\]", re.MULTILINE)
_FAILED = re.compile(r"^error\[(RQ\d{3})\]|(?:rejected|quarantined) \((RQ\d{3})", re.MULTILINE)
_HEAD = """\
# Code -> command -> what it reports for the code's example: the code itself, else its first error, else nothing.
# Written by `python -m tests.docs.codes_by_command`; tests/docs/test_reference.py tries the examples again.

"""


@cache
def by_command() -> Mapping[str, Mapping[str, str]]:
    """Returns the recorded reports: code -> command -> a code, or nothing."""
    return tomllib.loads(RECORD.read_text("utf-8"))


def tried_codes() -> tuple[str, ...]:
    """Returns the codes with an example that names no command."""
    return tuple(name for name, code in codes().items() if code.shown and not code.command)


def without_engine(code: Code) -> Mapping[str, str]:
    """Returns the reports of the commands that need no engine; the working directory is empty."""
    prepare(code)
    source = example_source(code)
    reports = {"check": report_of(code, "check", "q.rq"), "simulate": report_of(code, "simulate", "q.rq")}
    if code.markers or code.lines:
        reports["validate"] = report_of(code, "validate", source, "--query", "q.rq", "--source", source)
    if code.markers:
        reports["trace"] = report_of(code, "trace", "q.rq", "--on", source, *code.markers)
    return reports


def with_engine(code: Code) -> str:
    """Returns the report of a run."""
    prepare(code)
    return report_of(code, ENGINE, "q.rq", "--once", "--engine", "sail", "--checkpoint", "checkpoint")


def prepare(code: Code) -> None:
    """Writes the query of a code's example, and its lines or markers."""
    source = example_source(code)
    write_folders(source, code)
    Path("q.rq").write_text(example_query(code), encoding="utf-8")
    if code.markers:
        kinds = ("$accent" if marker.startswith("[[") else "$punctuation" for marker in code.markers)
        lines = (json.dumps({kind: marker}) for kind, marker in zip(kinds, code.markers, strict=True))
        Path(source).mkdir(exist_ok=True)
        Path(source, "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def report_of(code: Code, *command: str) -> str:
    """Returns the code itself if a command reports it, else its first error, else nothing."""
    output = cedilla(*command).output
    failed = [error or rejection for error, rejection in _FAILED.findall(output)]
    return code.name if code.name in (*_REPORTED.findall(output), *failed) else next(iter(failed), "")


def write(names: Iterable[str]) -> None:
    """Tries some codes again, and those without a record."""
    before = by_command() if RECORD.exists() else {}
    records = {name: _tried(codes()[name]) for name in tried_codes() if name in names or name not in before}
    lines = (
        f"{name} = {{{', '.join(f'{command} = {report!r}' for command, report in reports.items())}}}"
        for name, reports in ((name, records.get(name) or before[name]) for name in tried_codes())
    )
    RECORD.write_text(_HEAD + "\n".join(lines).replace("'", '"') + "\n", encoding="utf-8")


def _tried(code: Code) -> Mapping[str, str]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        reports = dict(without_engine(code))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return {**reports, ENGINE: with_engine(code)}


if __name__ == "__main__":
    write(sys.argv[1:] or tried_codes())
