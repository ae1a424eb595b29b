"""Rows in change events: each form of an event, values by the schema of Connect, and what is no row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cedilla.runtime.connectors.records.change_events import Columns, EventReader
from tests.kit.change_events import captured, compact, event, flattened, with_schema

TIME, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
ROW = {"id": 7, "name": "Ä", "x": None}
DECIMAL: Any = {"type": "bytes", "name": f"{CONNECT}Decimal", "parameters": {"scale": "2"}}


def row(item: Any, **more: Any) -> Any:
    return json.loads(EventReader(**more).line(compact(item)))


@pytest.mark.parametrize("operation", ["c", "r"])
def test_a_row_is_that_of_each_form(operation: str) -> None:
    bare = event(operation, ROW)
    assert row(bare) == row(with_schema(bare, {})) == ROW
    assert row(flattened(operation, ROW)) == {**ROW, "__op": operation, "__deleted": "false"}
    assert row({"schema": {"type": "struct", "fields": []}, "payload": flattened(operation, ROW)})["id"] == 7


@pytest.mark.parametrize(
    ("operation", "what"),
    [
        ("u", "RQ540 an update of a row"),
        ("d", "RQ540 a delete of a row"),
        ("t", "RQ540 a truncate of the table"),
        ("m", "RQ540 a message of the database"),
        ("x", "the line is not a change event of Debezium"),
    ],
)
def test_other_changes_are_refused_in_each_form(operation: str, what: str) -> None:
    forms = [event(operation, ROW, before=ROW), event(operation, None), flattened(operation, ROW)]
    for item in (*forms, with_schema(forms[0], {})):
        with pytest.raises(ValueError, match=f"^{what}$"):
            row(item)
    if operation in "tm":
        with pytest.raises(ValueError, match=what):
            row({"op": operation, "source": {}})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"id": 7}', "the line is not a change event of Debezium"),
        ('{"op": "c", "after": null}', "the line is not a change event of Debezium: it has no row `after`"),
        ('{"op": "c", "after": 7}', "the line is not a change event of Debezium: it has no row `after`"),
        ('{"schema": null, "payload": null}', "the line is not a change event of Debezium"),
        ('{"schema":{},"payload":7}', "the line is not a change event of Debezium"),
        ('{"id": 7, "__deleted": "false"}', "it is flattened without `__op`, which `add.fields=op` adds"),
        ("null", "the line is not a JSON object"),
        ("[]", "the line is not a JSON object"),
        ('{"schema":{"a":1,"payload":{}}', "the line is not a JSON object"),
        ('{"op":"c","after":{"name":"\\ud800"}}', "half a pair of surrogates"),
        ("[" * 300 + "]" * 300, "the line is not a JSON object"),
    ],
)
def test_what_is_no_event_has_a_reason(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        EventReader().line(line)


def named(name: str) -> dict[str, Any]:
    return {"type": "int64", "name": name}


@pytest.mark.parametrize(
    ("type_", "value", "read"),
    [
        (named(f"{TIME}Date"), 10958, '"2000-01-02"'),
        (named(f"{TIME}Date"), -719163, None),
        (named(f"{TIME}Timestamp"), 1500, '"1970-01-01T00:00:01.500"'),
        (named(f"{TIME}MicroTimestamp"), -1, '"1969-12-31T23:59:59.999999"'),
        (named(f"{TIME}NanoTimestamp"), 1, '"1970-01-01T00:00:00.000000001"'),
        (named(f"{TIME}MicroTimestamp"), 9223372036825200000, None),
        (named(f"{TIME}Time"), 1, '"00:00:00.001"'),
        (named(f"{TIME}MicroTime"), 86_400_000_000, None),
        (named(f"{TIME}NanoTime"), 0, '"00:00:00.000000000"'),
        (named(f"{TIME}MicroDuration"), 86_400_000_000, "86400000000"),
        (named(f"{TIME}ZonedTimestamp"), "2026-01-02T02:04:05Z", '"2026-01-02T02:04:05Z"'),
        (named(f"{TIME}Timestamp"), "2026-01-02", '"2026-01-02"'),
        (named(f"{CONNECT}Date"), 1, '"1970-01-02"'),
        (named(f"{CONNECT}Time"), 1, '"00:00:00.001"'),
        (named(f"{CONNECT}Timestamp"), 1, '"1970-01-01T00:00:00.001"'),
        (DECIMAL, "BM4=", "12.30"),
        (DECIMAL, "/w==", "-0.01"),
        (DECIMAL, 1.5, "1.5"),
        (DECIMAL, "no base64", '"no base64"'),
        (DECIMAL, "BM4Ä", '"BM4Ä"'),
        (DECIMAL, "f" * 4000, f'"{"f" * 4000}"'),
        ({**DECIMAL, "parameters": {"scale": "1000000000"}}, "Dw==", '"Dw=="'),
        (named("io.debezium.data.VariableScaleDecimal"), {"scale": -(10**9), "value": "Dw=="}, '"Dw=="'),
        ({**DECIMAL, "parameters": {"scale": "-2"}}, "Dw==", "1500"),
        ({**DECIMAL, "parameters": {"scale": "x"}}, "Dw==", '"Dw=="'),
        (named("io.debezium.data.VariableScaleDecimal"), {"scale": 1, "value": "Dw=="}, "1.5"),
        (named("io.debezium.data.VariableScaleDecimal"), 3, "3"),
        (named("io.debezium.data.Json"), '{"a": 1}', '"{\\"a\\": 1}"'),
        ({"type": "double"}, 1e22, "1e+22"),
        ({"type": "string"}, None, "null"),
    ],
)
def test_values_are_read_by_their_types(type_: Any, value: Any, read: str | None) -> None:
    """Each twice, because a schema is kept; beyond the years of a time the line is refused."""
    reader, line = EventReader(), compact(with_schema(event("c", {"x": value}), {"x": type_}))
    for _ in range(2):
        if read is None:
            with pytest.raises(ValueError, match="of the record is"):
                reader.line(line)
        else:
            assert reader.line(line).decode() == f'{{"x":{read}}}'
    if type_.get("name", "").startswith(TIME) or read is None:
        return
    bare = json.dumps(with_schema(event("c", {"x": value}), {"x": type_}))  # with blanks: no schema is kept
    assert reader.line(bare).decode() == f'{{"x":{read}}}'


@pytest.mark.parametrize(
    "schema",
    [
        {"fields": 7},
        {"fields": [7, {"field": ["x"]}, {"field": {}}, {}]},
        {"fields": [{"field": "after", "fields": [{"field": 7, "name": [1]}]}, {"field": "op"}]},
        {"fields": [{"field": "after"}, {"field": "op"}]},
    ],
)
def test_a_schema_of_any_shape_leaves_values_unchanged(schema: Any) -> None:
    assert row({"schema": schema, "payload": event("c", ROW)}) == ROW


def test_numbers_keep_all_of_their_digits() -> None:
    line = '{"op":"c","after":{"a":1.10,"b":1.0E10,"c":12345678901234567890.5,"d":12345678901234567890}}'
    text = b'{"a":1.10,"b":1.0E10,"c":12345678901234567890.5,"d":12345678901234567890}'
    assert EventReader().line(line) == text


def test_fields_of_the_event_and_of_the_record_are_beside_the_row() -> None:
    fields = frozenset(("op", "columns", "time", "source", "missing"))
    item = {"@record.key": "k", **with_schema(event("c", ROW, lsn=5), {})}
    of_event = row(item, fields=fields)["@change"]
    assert of_event.pop("source")["lsn"] == 5
    time = "1970-01-01T00:00:05.000Z"
    assert of_event == {"op": "c", "columns": "id,name,x", "time": time, "missing": None}
    assert row(item) == {"@record.key": "k", **ROW}
    never = {**event("c", ROW), "source": {"ts_ms": 10**18}}
    assert row(never, fields=frozenset(("time",)))["@change"] == {"time": None}
    assert row(flattened("c", ROW), fields=frozenset(("op", "time")))["@change"] == {"op": "c", "time": None}


def test_a_row_without_a_column_is_refused_with_those_that_nothing_reads() -> None:
    read = frozenset(("id", "name", "label", "phone"))
    columns = Columns((("id",), ("name", "label"), ("phone",)), read)
    assert columns.fault(("id", "label", "phone", "more")) == ""
    assert columns.fault(("id", "name")) == "RQ541 `phone`"
    assert columns.fault(("id", "city", "nam", "phone")) == "RQ541 `label`; no attribute reads `city`, `nam`"
    assert (
        columns.fault(("id", "city", "labels", "phone"))
        == "RQ541 `label`; no attribute reads `labels`, `city`"
    )
    many = tuple(f"c{n}" for n in range(7))
    assert columns.fault((*many, "name", "id")).endswith("`c0`, `c1`, `c2`, `c3`, `c4`, ...")
    with pytest.raises(ValueError, match="RQ541 `name`"):
        row(event("c", {"id": 1}), columns=Columns((("name",),), frozenset(("id", "name"))))


def test_the_schema_of_most_lines_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, parsed = EventReader(), list[int]()
    monkeypatch.setattr(
        "cedilla.runtime.connectors.records.change_events.json.loads",
        lambda text, loads=json.loads, **more: (parsed.append(len(text)), loads(text, **more))[1],
    )
    first, *others = [line for line in captured() if '"op":"r"' in line] * 20
    reader.line(first)
    parsed.clear()
    for line in others:
        reader.line(line)
    assert len(parsed) == len(others)
    assert max(parsed) < 0.3 * len(first)


def test_last_states_need_updates_and_deletes_too() -> None:
    reader = EventReader(fields=frozenset(("op",)), latest=True)
    update, delete = event("u", ROW, before={"id": 1}), event("d", None, before=ROW)
    for item, operation in ((update, "u"), (delete, "d"), (flattened("d", ROW), "d")):
        row = reader.row(compact(item))
        assert (row["id"], row["@change"], row.is_gone) == (7, {"op": operation}, operation == "d")
    columns = Columns((("name",),), frozenset(("id", "name")))
    assert reader.expecting(columns).line(compact(event("d", None, before={"id": 7})))
    for item, why in (
        (event("u", {"id": 7}), "RQ541 `name`"),
        (event("d", None), "it has no row `before`"),
        (event("t", None), "RQ540 a truncate of the table"),
        (event("u", {**ROW, "name": "__debezium_unavailable_value"}), "did not log all values of the row"),
    ):
        with pytest.raises(ValueError, match=why):
            reader.expecting(columns).line(compact(item))
