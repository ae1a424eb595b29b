"""Files of JSON that are not in lines: a query ends before them, with the command that makes lines of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.runtime import run, simulate
from cedilla.runtime.terminal.options import Options
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.lines import write_files
from tests.kit.stream import read_output

QUERY = 'stream r(a: int) from json "r"; emit r to json "out"; set bad_markers = quarantine;'
ROWS = [{"a": 1}, {"a": 2}]
ARRAY, OBJECT = "jq -c '.[]'", "jq -c ."
FILES = {
    json.dumps(ROWS, indent=2): ARRAY,
    "\ufeff\n" + json.dumps(ROWS, indent=2).replace("\n", "\r\n"): ARRAY,
    '[{"a": 1},\n{"a": 2}]\n': ARRAY,
    '[{\n"a": 1\n}, {"a": 2}]\n': ARRAY,
    '[ {"a": 1},\n  {"a": 2} ]': ARRAY,
    json.dumps(ROWS[0], indent=2): OBJECT,
}
BAD_LINES = ["[1,", "[1, 2]", "{'", '{"a": 1', "[]", "[{]", '["a",', '[[{"a": 1}],']


def options(root: Path) -> Options:
    return Options(
        once=True,
        checkpoint=root / "ck",
        sources={"r": root / "r"},
        sinks={"r": root / "out"},
    )


@pytest.mark.either_engine
def test_a_run_ends_before_the_file_and_a_restart_goes_on_once_it_is_in_lines(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path
    for number, (text, command) in enumerate(FILES.items()):
        root = tmp_path / str(number)
        write_files(root / "r", {"0.jsonl": b'{"a": 0}\n', "1.json": text.encode()})
        simulated = Options(sources=options(root).sources, sinks={"r": str(root / "simulated")})
        error = error_of(lambda to=simulated: simulate(QUERY, to))
        assert (error.code, error.notes[-1].rpartition("/")[2][:7]) == ("RQ404", "1.json:")
        assert f"`{command} FILE`" in str(error.help)
        by_run = error_of(lambda root=root: run(QUERY, options(root), spark=spark))
        assert (by_run.code, by_run.help, by_run.notes[-1]) == (error.code, error.help, error.notes[-1])
        assert read_output(root / "out") == [{"a": 0}]
    write_files(root / "r", {"1.json": b'{"a": 1}\n'})
    run(QUERY, options(root), spark=spark)
    assert read_output(root / "out") == [{"a": 0}, {"a": 1}]


@pytest.mark.either_engine
def test_a_bad_first_line_is_one_bad_tuple(spark: SparkSession, tmp_path: Path) -> None:
    """A sender's slip spoils its line only; a whole array on a line is reported with its command."""
    files = {f"{n}.jsonl": f'{line}\n{{"a": {n}}}\n'.encode() for n, line in enumerate(BAD_LINES)}
    files["9.jsonl"] = b'{"a": 9}\n[\n' + json.dumps(ROWS).encode() + b"\n"
    write_files(tmp_path / "r", files)
    run(QUERY, options(tmp_path), spark=spark)
    assert [row["a"] for row in read_output(tmp_path / "out")] == [*range(len(BAD_LINES)), 9]
    aside = [
        json.loads(line)
        for file in sorted((tmp_path / "ck/quarantine/r").glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    assert {each["raw"] for each in aside} == {*BAD_LINES, "[", json.dumps(ROWS)}
    assert [each["raw"] for each in aside if ARRAY in each["reason"]] == [json.dumps(ROWS)]


def test_tools_for_streams_say_it_too(tmp_path: Path) -> None:
    write_files(tmp_path, {"1.json": json.dumps(ROWS, indent=2).encode()})
    for command in ("validate", "canonize", "suspect"):
        result = cedilla(command, str(tmp_path / "1.json"), "--schema", "a: int")
        assert result.exit_code == 1
        assert "RQ404" in result.output
