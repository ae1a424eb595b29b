"""Fields of records beside their value: keys, headers, times, offsets, and the ids of schemas in frames and headers."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import numpy as np
import pytest

import cedilla
from cedilla.compiler.compile import compile_query
from cedilla.compiler.plan.record_fields import record_fields
from cedilla.runtime.connectors.formats.otlp.batches import PointBatches
from cedilla.runtime.connectors.records.otlp import PointReader
from cedilla.runtime.connectors.topics.kafka_client import library
from cedilla.runtime.connectors.topics.record_lines import with_fields
from cedilla.runtime.tools.inspect.check import all_diagnostics
from tests.kit.errors import error_of

pytest.importorskip("confluent_kafka")

DECLARED = 'stream r({}) from kafka "h:9092/t"; emit r to json "out";'


def lines_of(attributes: str, *messages: Any) -> list[bytes | None]:
    """Returns the lines of messages for a stream with some attributes."""
    (source,) = compile_query(DECLARED.format(attributes)).plan.sources
    return with_fields(messages, record_fields(source))


def fields_of(attributes: str, value: bytes = b"{}", **more: Any) -> Any:
    """Returns the fields that a tuple gets."""
    (line,) = lines_of(attributes, message(value, **more))
    assert line is not None
    return json.loads(line)


def message(value: bytes | None, **more: Any) -> Any:
    return library().Message("t", partition=3, offset=41, value=value, **more)


def test_a_tuple_gets_the_fields_that_a_query_reads() -> None:
    declared = """k: string from record "key", h?: int from header "n.o", at: timestamp from record "timestamp",
    p: int from record "partition", o: long from record "offset", id?: int from record "schema", v: int"""
    headers = [("n.o", b"1"), ("other", b"x"), ("n.o", b"2")]
    actual = fields_of(
        declared, b'{"v": 1}', key=b'a"\xc3\xa9', headers=headers, timestamp=(1, 1_700_000_000_005)
    )
    assert actual == {
        "@record.key": 'a"é',
        "@record.header.n.o": 2,
        "@record.timestamp": "2023-11-14T22:13:20.005Z",
        "@record.partition": 3,
        "@record.offset": 41,
        "@record.schema": None,
        "v": 1,
    }


def test_a_field_is_of_the_type_of_its_attribute() -> None:
    key = {"key": b"12"}
    assert fields_of('k: string from record "key"', **key) == {"@record.key": "12"}
    assert fields_of('k: long from record "key"', **key) == {"@record.key": 12}
    assert fields_of('k: long from record "key"', key=b"012") == {"@record.key": "012"}
    assert fields_of('k: boolean from record "key"', key=b"true") == {"@record.key": True}
    assert fields_of('k?: string from record "key"') == {"@record.key": None}
    assert fields_of('at: long from record "timestamp"', timestamp=(2, 5)) == {"@record.timestamp": 5}
    assert fields_of('at?: long from record "timestamp"') == {"@record.timestamp": None}
    at = fields_of('at: timestamp from record "timestamp"', timestamp=(1, 1 << 60))
    assert at == {"@record.timestamp": 1 << 60}


ID = b"\0\0\0\0\x0a"
GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


@pytest.mark.parametrize(
    ("type_", "value", "headers", "schema"),
    [
        ("int", ID + b'{"v": 1}', None, 10),
        ("string", ID + b'{"v": 1}', None, "10"),
        ("int", b'{"v": 1}', [("__value_schema_id", ID)], 10),
        ("string", b'{"v": 1}', [("__value_schema_id", b"\1" + GUID.bytes)], str(GUID)),
        ("string", b"\1" + GUID.bytes + b'{"v": 1}', None, str(GUID)),
        ("int", b"\1" + GUID.bytes + b'{"v": 1}', None, str(GUID)),
        ("int", b'{"v": 1}', [("__value_schema_id", b"7")], "7"),
        ("int", b'{"v": 1}', [("__key_schema_id", ID)], None),
    ],
)
def test_the_id_of_a_schema_is_in_a_frame_or_in_a_header(
    type_: str, value: bytes, headers: Any, schema: Any
) -> None:
    declared = f'id?: {type_} from record "schema", v: int'
    assert fields_of(declared, value, headers=headers) == {"@record.schema": schema, "v": 1}


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b"{}", b'{"@record.offset":41}'),
        (b' {\n"v": 1}', b'{"@record.offset":41,"v": 1}'),
        (b'{"v": "$accent"}', b'{"@record.offset":41,"v": "$accent"}'),
        (b'{"v": "[x"}', b'{"@record.offset":41,"v": "[x"}'),
        (None, None),
    ],
)
def test_a_tuple_of_any_form_gets_them(value: bytes | None, line: bytes | None) -> None:
    assert lines_of('o: long from record "offset"', message(value)) == [line]


@pytest.mark.parametrize(
    "value",
    [
        b'{"$accent": "[[-(v)]]"}',
        b'{"$punctuation": "[v < 5]"}',
        b'{"\\u0024accent": "[[-(v)]]"}',
        b"{'$accent': '[[-(v)]]'}",
        b'{"accent": "[[-(v)]]"}',
        b"[1]",
        b"broken",
        b"\0\0\0\0\x0a\x02abc",
        b"",
    ],
)
def test_markers_and_what_is_no_object_stay_as_they_are(value: bytes) -> None:
    assert lines_of('o: long from record "offset"', message(value)) == [value]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('stream n(a: int from record "schema") from json "n";', '`from "record.schema"`'),
        ('stream n(a: int from header "b") from otlp "n";', "kafka_otlp and kafka"),
        ('stream n(a: int from record "schem") from kafka "h:9092/t";', "did you mean `schema`?"),
        ('stream n(a: int from record "headers") from kafka "h:9092/t";', '`from header "ce_type"`'),
        ('stream n(a: double from record "offset") from kafka "h:9092/t";', "it is read as `long`"),
        ('stream n(a: list of string from record "key") from kafka "h:9092/t";', "`string`, `int`"),
    ],
)
def test_fields_that_no_record_has_are_refused(text: str, hint: str) -> None:
    error = error_of(lambda: compile_query(f'{text} emit n to json "out";'))
    assert error.code == "RQ503"
    assert error.span is not None
    assert hint in (error.help or "")


def test_a_field_of_a_record_is_read_once_and_shown_as_it_is_declared() -> None:
    twice = 'stream n(a: long from record "offset", b: long from record "offset") from kafka "h:9092/t";'
    assert error_of(lambda: compile_query(f'{twice} emit n to json "out";')).code == "RQ145"
    plan = compile_query(DECLARED.format('h: string from header "ce_type", v: int')).plan
    assert str(plan.sources[0].attributes[0]) == 'h: string from header "ce_type"'


def test_a_field_of_a_record_is_no_level_of_an_envelope() -> None:
    text = DECLARED.format('k: string from record "key", power: double from "payload.after.power"')
    (source,) = compile_query(text).plan.sources
    assert source.is_envelope


@pytest.mark.parametrize("format_", ["kafka", "kafka_otlp"])
def test_rows_in_place_of_a_topic_have_the_keys_of_recorded_lines(format_: str) -> None:
    text = f"""stream r(id: int from record "schema", h?: string from header "n.o", metric: string)
    from {format_} "h:9092/t"; emit r to json "out";"""
    fields = {"@record.schema": 2, "@record.header.n.o": "a"}
    row: dict[str, Any] = {**fields, "metric": "m"}
    if format_ == "kafka_otlp":
        from tests.kit.otlp import request

        row = {**fields, **json.loads(request([{"metric": "m", "time": 1, "double": 1.0}]))}
    output = cedilla.query(text).simulate(r=[row]).frame
    assert output.to_dict("records") == [{"id": 2, "h": "a", "metric": "m"}]


POINTS = """
stream r(metric: string, value: double, service: string from resource "service.name", k?: string from record "key",
         o: long from record "offset", h?: double from header "h", at: timestamp from record "timestamp")
  from kafka_otlp "h:9092/t";
emit r to json "out";
"""


@pytest.mark.parametrize("is_binary", [False, True])
def test_each_data_point_has_the_fields_of_its_record(is_binary: bool) -> None:
    """The same, whether requests are read together or one by one; markers stay."""
    from tests.kit.otlp import line_of, message_of

    (source,) = compile_query(POINTS).plan.sources
    types = {attribute.name: attribute.type for attribute in source.attributes}
    requests = [
        message_of(
            [{"metric": "m", "time": 1, "double": n + k, "resource": {"service.name": "a"}} for k in (0, 0.5)]
        )
        for n in range(3)
    ]
    values = [r.SerializeToString() if is_binary else line_of(r).encode() for r in requests]
    more: list[dict[str, Any]] = [{"key": b"a"}, {"headers": [("h", b"2.5")]}, {"key": "ä".encode()}]
    records = [message(v, timestamp=(1, 5), **m) for v, m in zip(values, more, strict=True)]
    marker = b'{"$accent": "[[-(k)]]"}'
    *rows, last = with_fields([*records, message(marker)], record_fields(source))
    assert last == marker
    text = b"\n".join(row for row in rows if row is not None)
    ends = np.cumsum([len(row or b"") + 1 for row in rows]) - 1
    starts = np.append(0, ends[:-1] + 1)
    read = PointBatches(types, reader=PointReader.of(source))
    together, one_by_one = read.parse_block(text, starts, ends), read.parse_rows(text, starts, ends)
    assert together is not None
    columns = {name: column.to_pylist() for name, column in zip(types, together, strict=False)}
    assert columns["k"] == ["a", "a", None, None, "ä", "ä"]
    assert columns["h"] == [None, None, 2.5, 2.5, None, None]
    assert columns["o"] == [41] * 6
    assert columns["value"] == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert [column.to_pylist() for column in one_by_one] == [column.to_pylist() for column in together]
    # A message shows a point as a request of its own, with the fields of its record.
    only = read.reader.only(read.item(rows[0] or b""), 1)
    assert only is not None
    assert (only["@record.key"], len(only["resourceMetrics"])) == ("a", 1)


@pytest.mark.parametrize(
    ("accent", "code"),
    [
        ("[[rename(b, id)]]", "RQ526"),
        ("[[rename(b, kind)]]", "RQ526"),
        ("[[swap(a, id)]]", "RQ526"),
        ("[[swap(id, a)]]", "RQ526"),
        ("[[rename(id, id)]]", "RQ461"),
        ("[[rename(b, a)]]", None),
        ("[[swap(a, c)]]", None),
        ("[[-(kind)]]", None),
    ],
)
def test_an_accent_does_not_move_what_a_record_has(accent: str, code: str | None) -> None:
    text = f"""stream r(id: int from record "schema", kind?: string from header "ce_type", a: int, c: int)
    from kafka "h:9092/t"; accent r {accent}; emit r to json "out";"""
    codes = [error.code for error in all_diagnostics(text, "q.rq") if error.severity == "error"]
    assert codes == ([] if code is None else [code])
