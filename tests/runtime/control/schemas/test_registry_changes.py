"""Versions of a subject of a registry as accents by the ids of schemas: `cedilla import registry`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cedilla import Options, simulate
from cedilla.compiler.passes import plan_query
from cedilla.grammar.parser import parse_query
from cedilla.runtime.connectors.topics.registry import RegisteredSchema, SchemaVersion
from cedilla.runtime.control.schemas.changes import Changes, Undecided
from cedilla.runtime.control.schemas.registry_changes import import_subject
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.lines import write_lines
from tests.kit.registry import Registry, record_schema, registry
from tests.kit.stream import is_tuple, read_output
from tests.kit.tiers import tiered

Schema = dict[str, Any]
ENUM = {"type": "enum", "name": "State"}


def f(name: str, type_: Any = "double", **others: Any) -> Schema:
    return {"name": name, "type": type_, **others}


def imported(*versions: list[Schema], query: str | None = None, names: int | None = None) -> Changes:
    """The changes between records of some fields; the ids of their schemas are 10, 20, 30."""
    registered = [
        SchemaVersion(n, 10 * n, RegisteredSchema("AVRO", json.dumps(record_schema(*fields))))
        for n, fields in enumerate(versions, 1)
    ]
    plan = None if query is None else plan_query(parse_query(query)).plan
    return import_subject("readings-value", registered, "http://r:8081", names, plan, "readings")


def accents(changes: Changes) -> list[str]:
    return [line.partition("  #")[0] for line in changes.text().splitlines() if line.startswith("[[")]


def questions(changes: Changes) -> list[str]:
    return [entry.why for entry in changes.entries if isinstance(entry, Undecided)]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([[f("t")], [f("t")]], []),
        ([[f("t")], [f("temp", aliases=["t"])]], ["[[schema = 20, rename(temp, t)]]"]),
        (
            [[f("t", unit="degF")], [f("temp", unit="Cel", aliases=["t"])], [f("temp", ucumUnit="Cel")]],
            ["[[schema in {20, 30}, unit(t, Cel)]]", "[[schema in {20, 30}, rename(temp, t)]]"],
        ),
        ([[f("t", unit="degC")], [f("t", unit="Cel")]], []),
        (
            [[f("t")], [f("temp", aliases=["t"])], [f("warmth", aliases=["temp"])]],
            ["[[schema = 20, rename(temp, t)]]", "[[schema = 30, rename(warmth, t)]]"],
        ),
        ([[f("t")], [f("t"), f("p", unit="bar")]], ["[[schema = 20, +(p: double unit bar)]]"]),
        (
            [[f("t")], [f("t"), f("p", unit="bar")], [f("t"), f("q", unit="Pa", aliases=["p"])]],
            [
                "[[schema in {20, 30}, +(p: double unit bar)]]",
                "[[schema = 30, unit(p, Pa)]]",
                "[[schema = 30, rename(q, p)]]",
            ],
        ),
        ([[f("t"), f("p")], [f("t")], [f("t"), f("p")]], ["[[schema = 20, -(p)]]"]),
        (
            [[f("at", {"type": "long", "logicalType": f"timestamp-{of}"})] for of in ("millis", "micros")],
            [],
        ),
        ([[f("n", "int")], [f("n", "long")], [f("n", "double")]], []),
        ([[f("t")], [f("t", ["null", "double"])]], []),
        (
            [
                [f("pump", record_schema(f("rpm"), name="P"))],
                [f("motor", record_schema(f("speed", aliases=["rpm"]), name="P"), aliases=["pump"])],
            ],
            ['[[schema = 20, rename("motor.speed", rpm)]]'],
        ),
    ],
)
def test_changes_that_schemas_say_are_accents(versions: list[list[Schema]], expected: list[str]) -> None:
    changes = imported(*versions)
    assert accents(changes) == expected
    assert questions(changes) == []


@pytest.mark.parametrize(
    ("versions", "expected", "choice"),
    [
        ([[f("t")], [f("temp")]], "`t` is gone and `temp` is new", "[[schema = 20, rename(temp, t)]]"),
        (
            [
                [f("s", {**ENUM, "symbols": ["ON", "OFF"]})],
                [f("s", {**ENUM, "symbols": ["OPEN", "OFF", "X"]})],
            ],
            "`s` no longer has ON",
            '[[schema = 20, recode(s, {"ON": "OPEN"}, else same)]]',
        ),
        ([[f("t", unit="degF")], [f("t", unit="warm")]], "a unit that is not known, warm", None),
        ([[f("t", unit="degF")], [f("t")]], "`t` has no unit", None),
        ([[f("t")], [f("t", unit="degF")]], "`t` has a unit, and `t` none", None),
        ([[f("t")], [f("t", "string")]], "`t` is of type string, and `t` of double", None),
        ([[f("t")], [f("t"), f("m", {"type": "map", "values": "int"})]], "`m` (map) is new", None),
        ([[f("t", unit="degF")], [f("t", unit="kg")]], "the query refuses a change, RQ", None),
    ],
)
def test_what_schemas_do_not_say_is_a_question(
    versions: list[list[Schema]], expected: str, choice: str | None
) -> None:
    changes = imported(*versions)
    (question,) = questions(changes)
    assert expected in question
    assert f"# decide: {question[:30]}" in changes.text()
    if choice is not None:
        assert f"\n#   {choice}\n" in changes.text()
        statement = f"{declaration(changes)} accent readings {choice}; emit readings to json 'out';"
        plan_query(parse_query(statement))


def declaration(changes: Changes) -> str:
    lines = [line.removeprefix("#   ") for line in changes.text().splitlines() if line.startswith("#   ")]
    text = "\n".join(lines)
    return text[: text.index(";") + 1]


def test_the_declaration_fits_all_versions() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    changes = imported(
        [
            f("n", "int"),
            f("t", "float", unit="Cel"),
            f("price", decimal),
            f("tags", {"type": "array", "items": "string"}),
            f("pump", record_schema(f("n", "long"), name="P")),
            f("raw", {"type": "map", "values": "int"}),
        ],
        [f("n", "long"), f("t", ["null", "double"], unit="Cel")],
    )
    (stream,) = plan_query(parse_query(declaration(changes) + 'emit readings to json "out";')).plan.sources
    assert [str(a) for a in stream.attributes][1:] == [
        "n: long",
        "t?: double unit Cel",
        "price: decimal(9,2)",
        "tags: list of string",
        'pump_n: long from "pump.n"',
    ]
    assert stream.registry == "http://r:8081"
    assert "# Not read: `raw` (map).\n" in changes.text()


# --- Protobuf ---


def of_protobuf(*messages: str) -> Changes:
    """The changes between messages of some fields; the ids of their schemas are 10, 20, 30."""
    head = 'syntax = "proto3"; import "google/protobuf/descriptor.proto"; import "confluent/meta.proto";'
    head += "extend google.protobuf.FieldOptions { string unit = 5000; }"
    texts = [f"{head} message Reading {{ {fields} }}" for fields in messages]
    registered = [
        SchemaVersion(n, 10 * n, RegisteredSchema("PROTOBUF", text)) for n, text in enumerate(texts, 1)
    ]
    return import_subject("readings-value", registered, "http://r:8081")


@pytest.mark.parametrize(
    ("messages", "expected"),
    tiered(
        [
            (["double t = 1;", "double temp = 1;"], ["[[schema = 20, rename(temp, t)]]"]),
            (
                ['double t = 1 [(unit) = "degF"];', 'double temp = 1 [(unit) = "Cel"];'],
                ["[[schema = 20, unit(t, Cel)]]", "[[schema = 20, rename(temp, t)]]"],
            ),
            (
                [
                    'double t = 1 [(confluent.field_meta) = {params: {key: "unit", value: "degF"}}];',
                    'double t = 1 [(confluent.field_meta) = {params: {key: "unit", value: "Cel"}}];',
                ],
                ["[[schema = 20, unit(t, Cel)]]"],
            ),
            (
                ["int32 a = 1; int32 b = 2;", "int32 b = 2; string c = 3;"],
                ["[[schema = 20, -(a)]]", "[[schema = 20, +(c: string)]]"],
            ),
            (
                ["S a = 1; message S { int32 n = 1; }", "S b = 1; message S { int32 m = 1; }"],
                ['[[schema = 20, rename("b.m", n)]]'],
            ),
            (
                ["E s = 1; enum E { OFF = 0; ON = 1; }", "E s = 1; enum E { OFF = 0; OPEN = 1; X = 2; }"],
                ['[[schema = 20, recode(s, {"ON": "OPEN"}, else same)]]'],
            ),
            (["int32 n = 1;", "optional int32 n = 1;"], []),
        ],
        count=2,
    ),
)
def test_a_field_of_protobuf_is_known_by_its_number(messages: list[str], expected: list[str]) -> None:
    changes = of_protobuf(*messages)
    assert accents(changes) == expected
    assert questions(changes) == []


def test_a_declaration_has_the_types_of_protobuf() -> None:
    changes = of_protobuf(
        "int32 n = 1; uint64 u = 2; optional float t = 3; bool b = 4; repeated string tags = 5;"
        "map<string, int32> m = 6; bytes raw = 7; oneof one { string s = 8; }"
    )
    (stream,) = plan_query(parse_query(declaration(changes) + 'emit readings to json "out";')).plan.sources
    assert [str(a) for a in stream.attributes][1:] == [
        *("n: int", "u: long", "t?: double", "b: boolean", "tags: list of string", "s?: string")
    ]
    assert "# Not read: `m` (map).\n# Not read: `raw` (bytes).\n" in changes.text()


# --- JSON Schema ---


def of_json(*schemas: Any, references: dict[str, Any] | None = None) -> Changes:
    """The changes between JSON Schemas; their ids are 10, 20, 30. `references`: other schemas by their names."""
    others = {name: json.dumps(schema) for name, schema in (references or {}).items()}
    registered = [
        SchemaVersion(
            n, 10 * n, RegisteredSchema("JSON", json.dumps(schema), tuple(others.values()), tuple(others))
        )
        for n, schema in enumerate(schemas, 1)
    ]
    return import_subject("readings-value", registered, "http://r:8081")


def an_object(*optional: str, **properties: Any) -> Schema:
    """A schema of an object whose properties are required but for some."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def test_a_json_schema_has_the_types_of_its_fields() -> None:
    site = {"$ref": "#/$defs/Site"}
    schema = an_object(
        "rest",
        at={"type": "string", "format": "date-time"},
        day={"type": "string", "format": "date"},
        n={"type": "integer"},
        t={"type": "number", "unit": "degC"},
        ok={"type": ["boolean", "null"]},
        state={"enum": ["ON", "OFF"]},
        heat={"oneOf": [{"type": "null"}, {"type": "number", "ucumUnit": "Cel"}]},
        tags={"type": "array", "items": {"type": "string"}},
        site=site,
        pump={"$ref": "pump.json#/definitions/Pump"},
        other=True,
        rest={"type": "array", "items": {"type": "number"}},
    )
    schema["$defs"] = {"Site": an_object("name", name={"type": "string"})}
    pump = {
        "definitions": {"Pump": an_object(rpm={"$ref": "#/definitions/Speed"}), "Speed": {"type": "integer"}}
    }
    changes = of_json(schema, references={"pump.json": pump})
    (stream,) = plan_query(parse_query(declaration(changes) + 'emit readings to json "out";')).plan.sources
    assert [str(a) for a in stream.attributes][1:] == [
        *("at: timestamp", "day: date", "n: long", "t: double unit degC", "ok?: boolean", "state: string"),
        *("heat?: double unit Cel", "tags: list of string", 'name?: string from "site.name"'),
        'rpm: long from "pump.rpm"',
    ]
    assert "# Not read: `other` (union).\n# Not read: `rest` (array).\n" in changes.text()


def test_changes_of_a_json_schema_are_accents_or_questions() -> None:
    first = an_object(t={"type": "number", "unit": "degF"}, old={"type": "string"}, s={"enum": ["ON"]})
    second = an_object(
        t={"type": "number", "unit": "Cel"},
        s={"enum": ["OPEN"]},
        p={"type": "integer"},
        more={"type": "boolean"},
    )
    changes = of_json(first, second)
    assert accents(changes) == [
        "[[schema = 20, unit(t, Cel)]]",
        "[[schema = 20, -(old)]]",
        "[[schema = 20, +(p: long)]]",
        "[[schema = 20, +(more: boolean)]]",
    ]
    assert questions(changes) == ["`s` no longer has ON, and has others (schema = 20)"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "string"}, "not the schema of an object"),
        ([], "not the schema of an object"),
        (an_object(a={"$ref": "#/$defs/No"}), "names `#/$defs/No`, which is not known"),
        ({"$ref": "#"}, "references have no end"),
        (an_object(a={"$ref": "no.json"}), "names `no.json`"),
    ],
)
def test_a_json_schema_that_cannot_be_read_is_named(schema: Any, why: str) -> None:
    error = error_of(lambda: of_json(schema))
    assert (error.code, why in error.message) == ("RQ510", True)


def test_versions_of_another_kind_are_not_compared() -> None:
    registered = [
        SchemaVersion(1, 10, RegisteredSchema("PROTOBUF", 'syntax = "proto3"; message R { int32 n = 1; }')),
        SchemaVersion(2, 20, RegisteredSchema("AVRO", json.dumps(record_schema(f("m", "int"))))),
    ]
    changes = import_subject("readings-value", registered, "http://r:8081")
    assert (accents(changes), questions(changes)) == ([], [])


QUERY = """
stream readings(id: int from record "schema", heat: double from "t" unit degF, n: long)
  from kafka "h:9092/r" registry "http://r:8081";
emit readings to json "out";
"""


def test_the_names_of_a_query_are_those_of_its_attributes() -> None:
    versions = ([f("t", unit="Cel"), f("n", "int"), f("unread")], [f("temp", aliases=["t"], unit="degF")])
    assert accents(imported(*versions, query=QUERY)) == [
        "[[id = 10, unit(heat, Cel)]]",
        "[[id = 20, rename(temp, heat)]]",
        "[[id = 20, -(n)]]",
    ]


def test_a_query_may_have_the_names_of_a_later_version() -> None:
    versions = ([f("t")], [f("temp", aliases=["t"]), f("p")])
    assert accents(imported(*versions, names=2)) == [
        "[[schema = 10, rename(t, temp)]]",
        "[[schema = 10, -(p)]]",
    ]


OF_ROWS = """
stream readings(schema: int from record "schema", id: long, name?: string, at?: timestamp zone "UTC",
                lsn?: long from change "source.lsn")
  from kafka "h:9092/readings" registry "http://r:8081" format debezium by id;
emit readings to json "out";
"""
AT = {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}


def envelope(*columns: Schema) -> list[Schema]:
    """The fields of a change event, as Debezium registers them."""
    row = {"type": "record", "name": "Value", "fields": [f("id", "long"), *columns]}
    return [f("before", ["null", row]), f("after", ["null", "Value"]), f("op", "string")]


def test_a_stream_of_rows_has_the_columns_of_a_table() -> None:
    """Also in JSON, where the row is an object."""
    name, city, at = (
        f(n, ["null", type_]) for n, type_ in (("name", "string"), ("city", "string"), ("at", AT))
    )
    changes = imported(envelope(name, at), envelope(name, at, city), envelope(at, city), query=OF_ROWS)
    assert accents(changes) == ["[[schema in {20, 30}, +(city: string)]]", "[[schema = 30, -(name)]]"]
    assert questions(changes) == []
    renamed = imported(envelope(name, at), envelope(at, {**name, "name": "full_name"}), query=OF_ROWS)
    (question,) = questions(renamed)
    assert ("`name`" in question, "`full_name`" in question) == (True, True)
    rows = [
        an_object(
            "before", before=an_object(), after=an_object(id={"type": "integer"}, **{n: {"type": "string"}})
        )
        for n in ("name", "full_name")
    ]
    plan = plan_query(parse_query(OF_ROWS)).plan
    versions = [
        SchemaVersion(n, 10 * n, RegisteredSchema("JSON", json.dumps(schema)))
        for n, schema in enumerate(rows, 1)
    ]
    (question,) = questions(
        import_subject("readings-value", versions, "http://r:8081", None, plan, "readings")
    )
    assert "`full_name`" in question


@pytest.mark.parametrize(
    ("names", "query", "message"),
    [
        (7, None, "`readings-value` has no version 7"),
        (None, QUERY.replace(' from record "schema"', ""), "`readings` does not read the ids of schemas"),
    ],
)
def test_what_cannot_be_imported_is_named(names: int | None, query: str | None, message: str) -> None:
    error = error_of(lambda: imported([f("t")], names=names, query=query))
    assert (error.code, error.message) == ("RQ510", message)


# --- the command ---


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("readings-value", 3, record_schema(f("ts", "long"), f("temperature", unit="degF")))
        new = record_schema(
            f("ts", "long"), f("temp", unit="degC", aliases=["temperature"]), f("site", "string")
        )
        started.register("readings-value", 5, new)
        yield started


def test_a_file_of_accents_leads_back_to_the_first_version(schemas: Registry, tmp_path: Path) -> None:
    """The tuples are those that a topic would have, with interleaved ids."""
    file = tmp_path / "changes.rqm"
    arguments = ["import", "registry", "readings-value", "--registry", schemas.address, "-o", str(file)]
    done = cedilla(*arguments)
    assert done.exit_code == 0
    assert "3 accents" in done.stderr
    lines = [
        {"schema": 5, "ts": 0, "temp": 10.0, "site": "a"},
        {"schema": 3, "ts": 1, "temperature": 50.0},
        {"schema": 5, "ts": 2, "temp": 20.0, "site": "b"},
    ]
    write_lines(tmp_path / "in" / "a.jsonl", lines)
    query = tmp_path / "q.rq"
    query.write_text(
        'stream readings(schema: int, ts: long, temperature: double unit degF) from json "in";\n'
        'accent readings from file "changes.rqm";\nemit readings to json "out";\n'
    )
    out = tmp_path / "out"
    simulate(query, Options(sources={"readings": tmp_path / "in"}, sinks={"readings": out}))
    tuples = [item for item in read_output(out) if is_tuple(item)]
    assert [(item["temperature"], item.get("site")) for item in tuples] == [
        (50.0, "a"),
        (50.0, None),
        (68.0, "b"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["others-value"], 1, "RQ510"),
        (["readings-value", "--names", "9"], 1, "RQ510"),
        (["readings-value", "--registry", "localhost"], 1, "RQ440"),
    ],
)
def test_a_command_that_finds_nothing_says_so(
    schemas: Registry, arguments: list[str], code: int, text: str
) -> None:
    address = [] if "--registry" in arguments else ["--registry", schemas.address]
    done = cedilla("import", "registry", *arguments, *address)
    assert (done.exit_code, text in done.stderr) == (code, True)


def test_a_registry_has_to_be_named() -> None:
    assert cedilla("import", "registry", "readings-value").exit_code == 2
