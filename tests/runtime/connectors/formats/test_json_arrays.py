"""Files of JSON that are not in lines: a query ends before them, with the command that makes lines of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.kit.command import cedilla
from tests.kit.errors import error_of, place_of
from tests.kit.lines import write_files
from tests.kit.query import Query

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


@pytest.mark.either_engine
def test_a_run_ends_before_the_file_and_a_restart_goes_on_once_it_is_in_lines(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = Query(spark, tmp_path, QUERY)
    for number, (text, command) in enumerate(FILES.items()):
        query.root = tmp_path / str(number)
        write_files(query.root / "in" / "r", {"0.jsonl": b'{"a": 0}\n', "1.json": text.encode()})
        error, by_run = error_of(query.simulate), error_of(query.run)
        assert (error.code, place_of(error)[:7]) == ("RQ404", "1.json:")
        assert f"`{command} FILE`" in str(error.help)
        assert (by_run.code, by_run.help, place_of(by_run)) == (error.code, error.help, place_of(error))
        assert query.output("r") == [{"a": 0}]
    write_files(query.root / "in" / "r", {"1.json": b'{"a": 1}\n'})
    query.run()
    assert query.output("r") == [{"a": 0}, {"a": 1}]


@pytest.mark.either_engine
def test_a_bad_first_line_is_one_bad_tuple(spark: SparkSession, tmp_path: Path) -> None:
    """A sender's slip spoils its line only; a whole array on a line is reported with its command."""
    files = {f"{n}.jsonl": f'{line}\n{{"a": {n}}}\n'.encode() for n, line in enumerate(BAD_LINES)}
    files["9.jsonl"] = b'{"a": 9}\n[\n' + json.dumps(ROWS).encode() + b"\n"
    write_files(tmp_path / "in" / "r", files)
    query = Query(spark, tmp_path, QUERY)
    query.run()
    assert [row["a"] for row in query.output("r")] == [*range(len(BAD_LINES)), 9]
    aside = query.quarantine("r")
    assert {rejected["raw"] for rejected in aside} == {*BAD_LINES, "[", json.dumps(ROWS)}
    assert [rejected["raw"] for rejected in aside if ARRAY in rejected["reason"]] == [json.dumps(ROWS)]


def test_tools_for_streams_say_it_too(tmp_path: Path) -> None:
    write_files(tmp_path, {"1.json": json.dumps(ROWS, indent=2).encode()})
    for command in ("validate", "canonize", "suspect"):
        result = cedilla(command, str(tmp_path / "1.json"), "--schema", "a: int")
        assert result.exit_code == 1
        assert "RQ404" in result.output
