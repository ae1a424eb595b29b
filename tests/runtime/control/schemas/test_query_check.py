"""A query beside the subject of a registry: `cedilla check --registry`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.command import cedilla
from tests.kit.registry import Registry, record_schema, registry

TS = {"name": "ts", "type": "long"}
FIRST = record_schema(TS, {"name": "t", "type": "double", "unit": "degF"})
TEMP = {"name": "temp", "type": "double", "unit": "Cel", "aliases": ["t"]}
SECOND = record_schema(TS, TEMP, {"name": "site", "type": "string"})
DECLARATION = """
stream r(schema: int from record "schema" in {3, 5}, ts: long, t: double unit degF)
  from kafka "host:9092/r" registry "http://registry:8081";
"""
STATED = """
accent r [[schema = 5, unit(t, Cel)]];
accent r [[schema = 5, rename(temp, t)]];
"""
EMIT = 'emit r to json "out" with t in degF;\n'


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("r-value", 3, FIRST)
        started.register("r-value", 5, SECOND)
        yield started


def findings(text: str, schemas: Registry, folder: Path, *arguments: str) -> list[tuple[str, str, str]]:
    """The code, message and hint of each finding about schemas."""
    file = folder / "q.rq"
    file.write_text(text)
    done = cedilla("check", file, "--registry", schemas.address, "--format", "json", *arguments)
    return [
        (item["code"], item["message"], item["help"])
        for item in json.loads(done.stdout)["diagnostics"]
        if item["code"] in ("RQ510", "RQ523", "RQ524", "RQ525", "RQ505", "RQ440")
    ]


def codes(*arguments: Any) -> list[str]:
    return [code for code, *_ in findings(*arguments)]


def test_a_query_that_says_all_has_no_findings(schemas: Registry, tmp_path: Path) -> None:
    assert findings(DECLARATION + STATED + EMIT, schemas, tmp_path) == []
    done = cedilla("check", tmp_path / "q.rq", "--registry", schemas.address)
    assert done.exit_code == 0
    assert "r reads of `r-value`: version 1, schema 3, version 2, schema 5\n" in done.stdout


@pytest.mark.parametrize(
    ("accents", "is_complete"),
    [
        ("[[schema >= 4, unit(t, Cel)]] [[schema >= 4, rename(temp, t)]]", True),
        ("[[schema = 5, alter(t, y -> (y - 32) * 5 / 9)]] [[schema in {5, 5}, rename(temp, t)]]", True),
        ("[[schema = 5, rename(temp, t)]]", False),
    ],
)
def test_accents_may_be_of_other_forms(
    accents: str, is_complete: bool, schemas: Registry, tmp_path: Path
) -> None:
    lines = "".join(f"accent r [[{text}]];\n" for text in accents.strip("[]").split("]] [["))
    assert codes(DECLARATION + lines + EMIT, schemas, tmp_path) == ([] if is_complete else ["RQ524"])


def test_what_no_accent_says_is_shown_with_its_accent(schemas: Registry, tmp_path: Path) -> None:
    assert findings(DECLARATION + EMIT, schemas, tmp_path) == [
        (
            "RQ524",
            "version 2, schema 5: the unit of `temp` is Cel, and no accent of `r` says so",
            "`accent r [[schema = 5, unit(t, Cel)]];`",
        ),
        (
            "RQ524",
            "version 2, schema 5: `temp` was `t`, and no accent of `r` says so",
            "`accent r [[schema = 5, rename(temp, t)]];`",
        ),
    ]


def test_a_query_without_ids_is_told_to_read_them(schemas: Registry, tmp_path: Path) -> None:
    text = DECLARATION.replace('schema: int from record "schema" in {3, 5}, ', "")
    assert {hint.partition(",")[0] for _, _, hint in findings(text + EMIT, schemas, tmp_path)} == {
        'declare `schema: int from record "schema"`'
    }


@pytest.mark.parametrize(
    ("setting", "then"),
    [
        ("quarantine", "set aside (RQ520)"),
        ("abort", "ends the query (RQ520)"),
        ("import", "a run imports it"),
    ],
)
def test_a_schema_that_the_query_does_not_name(
    setting: str, then: str, schemas: Registry, tmp_path: Path
) -> None:
    text = f"set unknown_schema = {setting};{DECLARATION.replace('{3, 5}', '{3}')}{EMIT}"
    ((code, message, _),) = findings(text, schemas, tmp_path)
    assert (code, then in message, "schema 5" in message) == ("RQ523", True, True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([TS, {"name": "t", "type": "string", "unit": "degF"}], "`t` is of type string, and `t` of double"),
        ([TS, {"name": "t", "type": "double", "unit": "warm"}], "a unit that is not known, warm"),
        ([TS, {"name": "t", "type": "double"}], "`t` has no unit, and `t` has one"),
        ([TS, {"name": "warmth", "type": "double"}], "`t` is gone and `warmth` is new"),
    ],
)
def test_what_does_not_fit_is_a_question(
    fields: list[Any], message: str, schemas: Registry, tmp_path: Path
) -> None:
    schemas.register("r-value", 7, record_schema(*fields))
    text = DECLARATION.replace("{3, 5}", "{3, 5, 7}") + STATED + EMIT
    questions = [item for code, item, _ in findings(text, schemas, tmp_path) if code == "RQ525"]
    assert [message in question for question in questions] == [True]


def test_a_question_that_an_accent_answers_is_none(schemas: Registry, tmp_path: Path) -> None:
    schemas.register("r-value", 7, record_schema(TS, {"name": "warmth", "type": "double"}))
    text = DECLARATION.replace("{3, 5}", "{3, 5, 7}") + STATED
    assert codes(text + "accent r [[schema = 7, rename(warmth, t)]];" + EMIT, schemas, tmp_path) == []


def test_an_attribute_that_no_version_has(schemas: Registry, tmp_path: Path) -> None:
    text = DECLARATION.replace("ts: long", 'ts: long, p?: double, place?: string from header "place"')
    ((code, message, _),) = findings(text + STATED + EMIT, schemas, tmp_path)
    assert (code, message) == ("RQ525", "`p` is in no version of `r-value`")


def test_the_first_version_may_have_the_wrong_types(schemas: Registry, tmp_path: Path) -> None:
    text = DECLARATION.replace("ts: long", "ts: string") + STATED + EMIT
    assert codes(text, schemas, tmp_path) == ["RQ525"]


def test_a_subject_that_is_not_there(schemas: Registry, tmp_path: Path) -> None:
    text = DECLARATION + STATED + EMIT
    ((code, _, _),) = findings(text, schemas, tmp_path, "--subject", "others")
    assert code == "RQ510"
    assert (
        cedilla("check", tmp_path / "q.rq", "--registry", schemas.address, "--subject", "others").exit_code
        == 1
    )


def test_strict_fails_on_what_is_missing(schemas: Registry, tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    file.write_text(DECLARATION + EMIT)
    assert cedilla("check", file, "--registry", schemas.address).exit_code == 0
    assert cedilla("check", file, "--registry", schemas.address, "--strict").exit_code == 1
