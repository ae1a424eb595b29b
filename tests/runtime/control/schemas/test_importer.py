"""Schemas that a run imports: their accents, and the lines that they get in front of records; without a broker."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from cedilla import Options
from cedilla.compiler.passes import plan_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.records.record_files import packed
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.topics.imported_schemas import ImportedSchemas
from cedilla.runtime.connectors.topics.registry import SchemaRegistry
from cedilla.runtime.control.schemas.importer import SchemaImporter, importers
from tests.kit.errors import code_of, error_of
from tests.kit.registry import Registry, framed, record_schema, registry

FIRST = record_schema({"name": "t", "type": "double", "unit": "degF"})
SECOND = record_schema({"name": "temp", "type": "double", "unit": "Cel", "aliases": ["t"]})
OTHERS = record_schema({"name": "t", "type": "double", "unit": "degF"}, {"name": "p", "type": "string"})
GUESS = record_schema({"name": "warmth", "type": "double"})
QUERY = """
set unknown_schema = import;
stream r(schema: int from record "schema" in {3}, t: double unit degF, p?: string)
  from kafka "h:9092/r" registry "http://r:8081";
emit r to json "out" with t in degF;
"""


@frozen
class Message:
    """A record of a topic, as the client has it."""

    content: bytes | None

    def value(self) -> bytes | None:
        return self.content

    def headers(self) -> None: ...


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        for id_, schema in {3: FIRST, 5: SECOND, 7: OTHERS, 11: GUESS}.items():
            started.register("r-value", id_, schema)
        yield started


def importer(text: str = QUERY) -> SchemaImporter:
    """That of the query, as another process gets it."""
    return pickle.loads(pickle.dumps(importers(plan_query(parse_query(text)).plan)["r"]))


def test_a_schema_has_its_id_and_its_changes(schemas: Registry) -> None:
    of = SchemaRegistry(schemas.address)
    assert importer(QUERY.replace("{3}", "{3, 4}")).ids == {3, 4}
    assert importer().accents(5, of) == (
        "[[grow(schema, {5})]]",
        "[[schema = 5, unit(t, Cel)]]",
        "[[schema = 5, rename(temp, t)]]",
    )


def test_a_field_that_the_query_reads_already_needs_no_add(schemas: Registry) -> None:
    assert importer().accents(7, SchemaRegistry(schemas.address)) == ("[[grow(schema, {7})]]",)


def test_the_names_are_those_of_the_schema_that_no_accent_describes(schemas: Registry) -> None:
    text = QUERY.replace("{3}", "{3, 5}").replace("t: double unit degF", "temp: double unit degC")
    text = text.replace("with t in degF", "with temp in degC").replace(
        "emit",
        "accent r [[schema = 3, rename(t, temp)]];\naccent r [[schema in {3}, unit(temp, degF)]];\nemit",
    )
    assert importer(text).accents(7, SchemaRegistry(schemas.address)) == (
        "[[grow(schema, {7})]]",
        "[[schema = 7, unit(temp, degF)]]",
        "[[schema = 7, rename(t, temp)]]",
    )


@pytest.mark.parametrize(
    ("id_", "why"),
    [
        (11, "`t` is gone and `warmth` is new"),
        (12, "is of no subject"),
        (13, "is not of the kind of the others"),
        (14, "several subjects, a, b"),
    ],
)
def test_what_is_not_known_in_full_is_refused(id_: int, why: str, schemas: Registry) -> None:
    schemas.register("r-value", 13, {"type": "object"}, "JSON")
    schemas.register("a", 14, SECOND)
    schemas.register("b", 14, SECOND)
    error = error_of(lambda: importer().accents(id_, SchemaRegistry(schemas.address)))
    assert (error.code, why in error.message) == ("RQ522", True)


@pytest.mark.parametrize(
    ("value", "gone"), [("abort", " in {3}"), ("import", " in {3}"), ("import", ' registry "http://r:8081"')]
)
def test_a_setting_needs_a_list_of_ids(value: str, gone: str) -> None:
    text = QUERY.replace("= import", f"= {value}")
    plan = plan_query(parse_query(text)).plan
    text = text.replace(gone, "")
    assert code_of(lambda: plan_query(parse_query(text))) == "RQ521"
    without = plan_query(parse_query(text.replace(f"set unknown_schema = {value};", ""))).plan
    options = Options(settings={"unknown_schema": value})
    options.check(plan)
    assert code_of(lambda: options.check(without)) == "RQ477"


def lines(of: ImportedSchemas, *ids: int | None, begin: int = 0, partition: int = 0) -> list[Any]:
    """The lines of records with these schemas, each with its offset; `None` is a marker."""
    values = [b'{"$punctuation": "[]"}' if i is None else framed(i, b"") for i in ids]
    offsets = range(begin, begin + len(ids))
    texts, places = of.lines([Message(v) for v in values], values, offsets, partition)
    return [
        (at, json.loads(text)["$accent"] if text is not None and b"accent" in text else None)
        for text, at in zip(texts, places, strict=True)
    ]


@pytest.fixture
def kept(schemas: Registry, tmp_path: Path) -> Any:
    """Makes the imported schemas of a process of one run after another."""

    def make(text: str = QUERY, **offsets: int) -> ImportedSchemas:
        of = ImportedSchemas(importer(text), SchemaRegistry(schemas.address), Files(), str(tmp_path))
        of.begin({int(partition[1:]): at for partition, at in offsets.items()})
        return of

    return make


GROW, UNIT, RENAME = (
    "[[grow(schema, {5})]]",
    "[[schema = 5, unit(t, Cel)]]",
    "[[schema = 5, rename(temp, t)]]",
)


def test_accents_are_before_the_first_record_of_each_partition(kept: Any) -> None:
    of = kept()
    assert lines(of, 3, None, 5, 3, 5) == [
        *((0, None), (1, None)),
        *((2, GROW), (2, UNIT), (2, RENAME)),
        *((2, None), (3, None), (4, None)),
    ]
    assert lines(of, 5, 3, begin=5) == [(5, None), (6, None)]
    assert [text for _, text in lines(of, 5, partition=1)] == [GROW, UNIT, RENAME, None]
    of.again(1)
    assert lines(of, 5, begin=7) == [(7, None)]
    assert [text for _, text in lines(of, 5, partition=1)] == [GROW, UNIT, RENAME, None]


def test_a_record_that_cannot_be_read_asks_for_no_schema(kept: Any, schemas: Registry) -> None:
    messages = [Message(framed(id_, b"")) for id_ in (404, 5)]
    values = [packed(framed(404, b""), fault="no schema"), packed(framed(5, b""), fault="cut off")]
    assert kept().lines(messages, values, range(2), 0) == (values, range(2))
    assert schemas.asked == []


def test_a_later_run_has_those_that_are_not_committed_again(kept: Any, schemas: Registry) -> None:
    """Also without the registry, which it has asked before."""
    lines(kept(), 3, 5)
    schemas.stop()
    assert [text for _, text in lines(kept(p0=1), 5, begin=1)] == [GROW, UNIT, RENAME, None]
    assert lines(kept(p0=2), 5, begin=2) == [(2, None)]
    assert [text for _, text in lines(kept(p0=2), 5, partition=1)] == [GROW, UNIT, RENAME, None]


def test_an_edited_query_asks_again_and_keeps_the_places(kept: Any, schemas: Registry) -> None:
    lines(kept(), 5)
    other = QUERY.replace("p?: string", "p?: string, q?: int")
    asked = len(schemas.asked)
    of = kept(other, p0=1)
    assert lines(of, 5, begin=1) == [(1, None)]
    assert len(lines(of, 5, partition=1)) == 4
    assert len(schemas.asked) > asked
    assert lines(kept(other, p0=2, p1=1), 5, begin=2) == [(2, None)]


def test_a_query_that_lists_the_schema_later_has_its_accents_in_each_partition(kept: Any) -> None:
    lines(kept(), 5)
    of = kept(QUERY.replace("{3}", "{3, 5}"), p0=1)
    assert [text for _, text in lines(of, 3, 5, partition=1)] == [None, GROW, UNIT, RENAME, None]
    assert lines(of, 5, begin=1) == [(1, None)]


def test_a_registry_that_is_away_is_no_question(schemas: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cedilla.runtime.connectors.topics.registry._RETRIES", 0)
    of = SchemaRegistry(schemas.address)
    schemas.status = 503
    assert code_of(lambda: importer().accents(5, of)) == "RQ505"
