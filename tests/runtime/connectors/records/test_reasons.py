"""Why a tuple is rejected: the same words by `run`, `simulate` and `validate`, and they name the attribute."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.stream_tools.places import stream_lines
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.query import Query, save_parquet

SCHEMA = "k: int in {1, 2, 3}, n: long, x: double, d?: decimal(5, 2), s?: string, b?: boolean"
SCHEMA += ", at?: timestamp, day?: date"
QUERY = f'stream r({SCHEMA}) from json "r"; emit r to json "out"; set drift = quarantine;'
GOOD = {"k": "1", "n": "5", "x": "0.5"}


def line(**fields: str) -> str:
    """A line with the texts of its values, but for those that are empty."""
    texts = {name: text for name, text in {**GOOD, **fields}.items() if text}
    return f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in texts.items())}}}"


SAID = {
    line(x='"abc"'): '`x` must be a double, found "abc"',
    line(x='"5"'): '`x` must be a double, found "5"',
    line(k="1.50"): "`k` must be an int, found 1.50",
    line(k="12E-1"): "`k` must be an int, found 12E-1",
    line(k="2147483648.0"): "`k` must be an int, found 2147483648.0",
    line(n="1e19"): "`n` must be a long, found 1e19",
    line(d="1.255"): "`d` must be a decimal(5,2), found 1.255",
    line(d="0.001"): "`d` must be a decimal(5,2), found 0.001",
    line(d='"1.5"'): '`d` must be a decimal(5,2), found "1.5"',
    line(s=r'"\ud83d"'): "`s` must be a string, found a text with half a pair of surrogates",
    line(s=r'"a\ude00\ud83db"'): "`s` must be a string, found a text with half a pair of surrogates",
    line(n="123456789012345678901234567890"): "`n` must be a long, found 123456789012345678901234567890",
    line(n="true"): "`n` must be a long, found true",
    line(n="NaN"): "`n` must be a long, found NaN",
    line(x='{"x": 5}'): "`x` must be a double, found an object",
    line(x="[1, 2]"): "`x` must be a double, found a list",
    line(d="12345.6"): "`d` must be a decimal(5,2), found 12345.6",
    line(b="1"): "`b` must be a boolean, found 1",
    line(at='"T05"'): '`at` must be a timestamp, found "T05"',
    line(at="1700000000"): "`at` must be a timestamp, found 1700000000",
    line(day='"2020-01-02T00:00"'): '`day` must be a date, found "2020-01-02T00:00"',
    line(day="false"): "`day` must be a date, found false",
    line(x='"' + "y" * 41 + '"'): f'`x` must be a double, found "{"y" * 40}"…',
    line(x=r'"\u001f\"\/\n\u2028ä🦀"'): '`x` must be a double, found "\\u001F\\"/\\n\u2028ä🦀"',
    line(x=r'"\ud800"'): "`x` must be a double, found a text with half a pair of surrogates",
    '{"k": "a", "n": "b", "x": "c"}': '`k` must be an int, found "a"',
    '{"x": "c", "n": "b", "k": 1}': '`n` must be a long, found "b"',
    '{"k": 1, "n": {"n": 7}, "x": {"k": 1.5}}': "`n` must be a long, found an object",
    '{"s": {"n": 7}, "k": 1, "n": 1.5, "x": 1}': "`n` must be a long, found a number",
    '{"k": 1, "n": 1.5, "n": 1.75, "x": 1}': "`n` must be a long, found a number",
    '{"k": 1, "n"\t:  2.5, "x": 1}': "`n` must be a long, found 2.5",
    "no json": "the line is not a JSON object",
    "[]": "the line is not a JSON object",
    f"{line()} {line()}": "the line is not a JSON object",
    line(n=""): "`n` is required, but missing",
    line(n="null", x="null"): "`n` is required, but missing",
    line(k="7"): "`k` has a value outside of its domain",
    line(k="7", x=""): "`k` has a value outside of its domain",
    line(zoo="1", ape='"x"'): "`ape` was never declared or added",
    line(**{"n ": "1"}): "`n ` was never declared or added",
}


def _without_detail(diagnostic: Diagnostic) -> str:
    """The message without the value, which `run` and `simulate` show by the line itself."""
    has_detail = diagnostic.code in ("RQ303", "RQ305", "RQ314", "RQ315", "RQ334")
    return diagnostic.message.partition(": ")[0] if has_detail else diagnostic.message


def reasons(
    spark: SparkSession, root: Path, lines: list[str], query: str = QUERY, schema: str = SCHEMA
) -> list[str | None]:
    """Why `run` and `simulate` reject each line; `validate` says it, too."""
    run = Query(spark, root, query)
    run.write("r", lines)
    result: list[str | None] = [None] * len(lines)
    for rejection in run.agreed()[1]:
        result[rejection.line - 1] = rejection.text
    findings: list[set[str]] = [set() for _ in lines]

    def finding(diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "error":
            number = diagnostic.notes[-1].split(": ")[0].rpartition(":")[2]
            message = _without_detail(diagnostic)
            findings[int(number) - 1].add(f"{diagnostic.code} {message}")

    validate(stream_lines(str(root / "in" / "r")), declared_schema(schema), finding)
    assert [bool(texts) for texts in findings] == [reason is not None for reason in result]
    assert all(reason is None or reason in texts for reason, texts in zip(result, findings, strict=True))
    return result


@pytest.mark.either_engine
def test_reasons_name_the_attribute_and_what_was_expected(spark: SparkSession, tmp_path: Path) -> None:
    lines = [*SAID, line()]
    actual = reasons(spark, tmp_path, lines)
    assert [reason and reason[6:] for reason in actual] == [*SAID.values(), None]


@pytest.mark.either_engine
def test_reasons_that_depend_on_markers(spark: SparkSession, tmp_path: Path) -> None:
    schema = "k: int in {1, 2}, ts: long, n?: int, p?: double"
    query = f'stream r({schema}) from json "r"; emit r to json "out"; set drift = quarantine;'
    lines = [
        '{"$accent": "[[-(p)]]"}',
        '{"k": 1, "ts": 1, "p": 1}',
        '{"$accent": "[[k = 1, +(p: double)]]"}',
        '{"k": 1, "ts": 1, "p": 1}',
        '{"k": 2, "ts": 1, "p": 1}',
        '{"k": 1, "ts": 1, "p": "1"}',
        '{"$punctuation": "[ts < 3]"}',
        '{"k": 1, "ts": 1}',
        '{"k": 1, "ts": 4, "n": 1.5}',
        '{"$accent": "[[k = 1, alter(n, y -> y * 2)]]"}',
        '{"k": 1, "ts": 4, "n": 1.5}',
        '{"k": 1, "ts": 4, "n": 9007199254740993}',
        '{"k": 1, "ts": 4, "n": "x"}',
    ]
    assert reasons(spark, tmp_path, lines, query, schema) == [
        None,
        "RQ304 tuples like this one have no `p`: they come before its add, or after its drop",
        None,
        None,
        "RQ304 tuples like this one have no `p`: they come before its add, or after its drop",
        'RQ301 `p` must be a double, found "1"',
        None,
        "RQ305 the tuple is late, because a punctuation or a heartbeat promised that none like it follows",
        "RQ301 `n` must be an int, found 1.5",
        None,
        None,
        "RQ310 `n` is beyond 2^53, and an accent converts its values as doubles",
        'RQ301 `n` must be a double, found "x"',
    ]


VALUES = (
    *(
        "1",
        "2",
        "0",
        "-1",
        "1.5",
        "1e3",
        "-0.0",
        "1e400",
        "9007199254740993",
        "9223372036854775808",
        "123.456",
    ),
    *("true", "null", '""', '"1"', '"abc"', '"NaN"', "NaN", "-Infinity", "+INF", '"2020-01-02"', '"1.5"'),
    *('"2020-01-02T03:04:05Z"', '"2020"', "[]", '["n"]', '{"n": 1}', r'"\u0041\t"', '"1,000"', '"\\\\"'),
)


@pytest.mark.either_engine
def test_random_bad_lines(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(5)
    names = ["k", "n", "x", "d", "s", "b", "at", "day", "other"]
    lines = [
        line(**{name: rng.choice(VALUES) for name in rng.sample(names, rng.randint(0, 3))})[
            : rng.choice([-1, 999, 999, 999])
        ]
        for _ in range(400)
    ]
    actual = reasons(spark, tmp_path, lines)
    assert len({reason for reason in actual if reason}) > 60


@pytest.mark.either_engine
def test_fields_that_cannot_be_added(spark: SparkSession, tmp_path: Path) -> None:
    query = 'stream r(k: int) from json "r"; emit r to json "out"; set drift = infer;'
    run = Query(spark, tmp_path, query)
    run.write(
        "r", ['{"k": 1, "b c": 1, "and": 2, "z": 1}', '{"k": 1, "y": [1], "x": {}}', '{"k": 1, "z": 2}']
    )
    run.process()
    assert [(row["code"], row["reason"]) for row in run.quarantine("r")] == [
        ("RQ307", "`and` is a name that no accent can write, so it cannot be added"),
    ]
    assert [(item["y"], item["x"]) for item in run.output("r") if "y" in item] == [("[1]", "{}")]


@pytest.mark.either_engine
@pytest.mark.parametrize("drift", ["quarantine", "infer"])
def test_names_that_stand_twice_and_empty_objects(spark: SparkSession, tmp_path: Path, drift: str) -> None:
    query = f'stream r(k: int) from json "r"; emit r to json "out"; set drift = {drift};'
    run = Query(spark, tmp_path, query)
    run.write(
        "r", ['{"k": 1, "k": 2}', '{"k": 3, "x": {}}', '{"k": 4, "y": 1, "y": 2}', '{"k": 5, "z": null}']
    )
    run.process()
    aside: list[tuple[str, str]] = []
    options = Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")})
    simulate(query, options, lambda line, code: aside.append((code, line.reason)))
    actual = [(row["code"], row["reason"]) for row in run.quarantine("r")]
    if drift == "infer":
        assert actual == aside == []
    if drift == "quarantine":
        assert actual == aside == [("RQ306", f"`{name}` was never declared or added") for name in "xy"]
        assert [item["k"] for item in run.output("r")] == [2, 5]


@pytest.mark.either_engine
def test_an_abort_says_the_first_reason(spark: SparkSession, tmp_path: Path) -> None:
    query = f"{QUERY} set invalid = abort;"
    run = Query(spark, tmp_path, query)
    run.write("r", [line(), line(n='"a"'), line(x='"b"')])
    with pytest.raises(DiagnosticError) as ran:
        run.process()
    options = Options(sources={"r": str(tmp_path / "in" / "r")}, sinks={"r": str(tmp_path / "simulated")})
    with pytest.raises(DiagnosticError) as simulated:
        simulate(query, options)
    for error in (ran, simulated):
        assert error.value.diagnostics[0].message == '2 rejected, the first: `n` must be a long, found "a"'


@pytest.mark.either_engine
def test_elements_of_xml(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "r"
    folder.mkdir(parents=True)
    (folder / "1.xml").write_text(
        "<r><k>1</k><n>5</n><x>a &amp; b</x></r>\n<r><k>1.5</k><n>5</n><x>1</x></r>\n<r><k>1</k><n>5</n></r>\n<r>\n"
    )
    run = Query(spark, tmp_path, QUERY.replace("from json", "from xml"))
    run.process()
    assert [row["reason"] for row in run.quarantine("r")] == [
        '`x` must be a double, found "a & b"',
        '`k` must be an int, found "1.5"',
        "`x` is required, but missing",
        "the element is malformed",
    ]


@pytest.mark.either_engine
def test_rows_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql(
        "SELECT 1 AS k, 1.5D AS n, 'a' AS x UNION ALL SELECT 1, 2D, NULL UNION ALL SELECT 1, 3D, 'b'"
    )
    save_parquet(rows, tmp_path / "in" / "r" / "1.parquet")
    run = Query(spark, tmp_path, QUERY.replace("from json", "from parquet"))
    run.process()
    assert {row["reason"] for row in run.quarantine("r")} == {
        "`n` must be a long, found 1.5",
        "`x` is required, but missing",
        '`x` must be a double, found "b"',
    }
