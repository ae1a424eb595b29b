"""A first query from the schemas of a registry: `cedilla init --from TOPIC --registry URL`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cedilla import Options, simulate
from tests.kit.command import cedilla
from tests.kit.lines import write_lines
from tests.kit.registry import Registry, envelope_schema, record_schema, registry
from tests.kit.stream import is_tuple, read_output

TS = {"name": "ts", "type": "long"}
FIRST = record_schema(TS, {"name": "t", "type": "double", "unit": "degF"}, {"name": "old", "type": "string"})
TEMP = {"name": "temp", "type": ["null", "double"], "unit": "Cel", "aliases": ["t"]}
SECOND = record_schema(TS, TEMP, {"name": "raw", "type": {"type": "map", "values": "int"}})


@pytest.fixture
def schemas() -> Iterator[Registry]:
    with registry() as started:
        started.register("readings-value", 3, FIRST)
        started.register("readings-value", 5, SECOND)
        yield started


def test_the_query_has_the_newest_names_and_accents_for_the_others(schemas: Registry, tmp_path: Path) -> None:
    done = cedilla("init", tmp_path, "--from", "broker:9092/readings", "--registry", schemas.address)
    assert done.exit_code == 0, done.stderr
    assert "the names of version 2, schema 5; 3 accents for others" in done.stderr
    text = (tmp_path / "readings.rq").read_text()
    assert (
        text
        == f"""# A first query, written by `cedilla init --from`, from the schemas of `readings-value`.
# Names, types and units are those of version 2, schema 5; accents state what differs in the others.
# Not read: `raw` (map).
stream readings(schema: int from record "schema" in {{3, 5}}, ts: long, temp?: double unit Cel)
  from kafka "broker:9092/readings" registry "{schemas.address}";

accent readings from file "readings.rqm";

emit readings to json "out/readings" with temp in Cel;
"""
    )
    accents = [line.partition("  #")[0] for line in (tmp_path / "readings.rqm").read_text().splitlines()]
    assert [line for line in accents if line.startswith("[[")] == [
        "[[schema = 3, unit(temp, degF)]]",
        "[[schema = 3, rename(t, temp)]]",
        "[[schema = 3, +(old: string)]]",
    ]
    checked = cedilla("check", tmp_path / "readings.rq", "--registry", schemas.address, "--format", "json")
    assert [item["code"] for item in json.loads(checked.stdout)["diagnostics"]] == []


def test_the_query_runs_over_records_of_all_versions(schemas: Registry, tmp_path: Path) -> None:
    """As recorded lines have them."""
    cedilla("init", tmp_path, "--from", "broker:9092/readings", "--registry", schemas.address)
    rows = [
        {"@record.schema": 3, "ts": 1, "t": 50.0, "old": "a"},
        {"@record.schema": 5, "ts": 2, "temp": 10.0},
    ]
    write_lines(tmp_path / "in" / "1.jsonl", rows)
    out = tmp_path / "out"
    simulate(
        tmp_path / "readings.rq",
        Options(sources={"readings": str(tmp_path / "in")}, sinks={"readings": str(out)}),
    )
    assert [item["temp"] for item in read_output(out) if is_tuple(item)] == [10.0, 10.0]


ROW = [{"name": "nr", "type": "long"}, {"name": "name", "type": ["null", "string"]}]


@pytest.mark.parametrize("has_key", [True, False])
def test_change_events_are_read_as_the_rows_of_their_table(tmp_path: Path, has_key: bool) -> None:
    with registry() as started:
        started.register("shop.customers-value", 3, envelope_schema(*ROW))
        started.register("shop.customers-value", 5, envelope_schema(*ROW, {"name": "city", "type": "string"}))
        if has_key:
            started.register("shop.customers-key", 4, record_schema(ROW[0]))
        done = cedilla(
            "init", tmp_path, "--from", "broker:9092/shop.customers", "--registry", started.address
        )
        assert done.exit_code == 0, done.stderr
        text = (tmp_path / "shop_customers.rq").read_text()
        assert (
            "# Change events: inserted rows are tuples; updates and deletes are set aside (RQ540).\n" in text
        )
        assert ("the first one is a guess" in text) != has_key
        declared = 'shop_customers(schema: int from record "schema" in {3, 5}, nr: long, name?: string, city: string)'
        assert f"stream {declared}\n" in text
        assert f'registry "{started.address}" format debezium by nr;' in text
        assert "[[schema = 3, -(city)]]" in (tmp_path / "shop_customers.rqm").read_text()
        at = tmp_path / "shop_customers.rq"
        checked = cedilla("check", at, "--registry", started.address, "--format", "json")
        assert [item["code"] for item in json.loads(checked.stdout)["diagnostics"]] == []
        shown = cedilla("import", "registry", "shop.customers-value", "--registry", started.address)
        assert "format debezium by nr;" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--from", "broker:9092/others"), 1, "RQ510"),
        (("--from", "broker:9092/others", "--subject", "readings-value"), 0, "wrote"),
        (("--from", "data"), 1, "RQ440"),
        ((), 2, "requires one --from"),
    ],
)
def test_a_topic_and_its_subject_have_to_be_there(
    arguments: tuple[str, ...], code: int, text: str, schemas: Registry, tmp_path: Path
) -> None:
    done = cedilla("init", tmp_path, "--registry", schemas.address, *arguments)
    assert (done.exit_code, text in done.output) == (code, True)


def test_a_query_is_not_written_over(schemas: Registry, tmp_path: Path) -> None:
    (tmp_path / "readings.rqm").write_text("")
    done = cedilla("init", tmp_path, "--from", "broker:9092/readings", "--registry", schemas.address)
    assert (done.exit_code, "RQ455" in done.output) == (1, True)
    assert not (tmp_path / "readings.rq").exists()
