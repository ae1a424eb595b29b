"""Near misses of declared names, which `set drift = ignore` would leave out in silence (RQ361)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from cedilla.compiler.plan import Attribute, Source
from cedilla.compiler.plan.field_paths import FieldPath, path_text
from cedilla.grammar import Diagnostic
from cedilla.runtime.connectors.records.near_names import NearNames, first_keys
from cedilla.runtime.connectors.records.unrelated_files import has_some, keys_beside, paths_read
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.journal import EpochEntry, Journal
from cedilla.runtime.tools.inspect.status import read_status, status_text
from cedilla.runtime.tools.inspect.stream_status import Stream, source_lines
from tests.kit.envelopes import ENVELOPES, in_envelope
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple
from tests.kit.tiers import tiered

pytestmark = pytest.mark.either_engine

QUERY = """
stream r(k: int, fee?: double{}, v: double) from {} "in";
emit r to json "out";
"""


def near(warnings: Sequence[Diagnostic]) -> list[tuple[str, str | None]]:
    return [(warning.message, warning.help) for warning in warnings if warning.code == "RQ361"]


def texts(form: str, names: Sequence[str]) -> list[str]:
    """Three columns or fields, whose values are 1."""
    if form == "csv":
        return [",".join(names), "1,1,1", "1,1,1"]
    return ["{" + ", ".join(f'"{name}": 1' for name in names) + "}"] * 2


@pytest.mark.parametrize(("form", "name"), tiered([("csv", "Fee"), ("json", "fe"), ("json", "feee")], 2))
def test_a_near_miss_is_named_once_a_run(spark: SparkSession, tmp_path: Path, form: str, name: str) -> None:
    """In a run and in a simulation; as the hint says, both are read."""
    for origin, count in (("", 1), (f' from "fee" or "{name}"', 0)):
        query = Query(spark, tmp_path / str(count), QUERY.format(origin, form))
        for number, names in enumerate(["k fee v", f"k {name} v", f"k {name} v", "k other v"]):
            query.write("r", texts(form, names.split()), f"{number}.{form}")
        query.run(files_per_epoch=1)
        simulated = query.simulate().warnings
        for warnings in ([w for report in query.reports for w in report.warnings], simulated):
            misses = near(warnings)
            assert len(misses) == count
            assert all(f"`{name}` of " in message and "1." in message for message, _ in misses)
            assert all(f'`from "fee" or "{name}"`' in (hint or "") for _, hint in misses)
        assert [row.get("fee") for row in query.output("r") if is_tuple(row)].count(1.0) == (
            2 if count else 6
        )


def test_a_column_of_parquet_is_named_and_a_renamed_one_is_not(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path, QUERY.format("", "parquet"))
    for number, name in enumerate(["fee", "Fee"]):
        query.write_table("r", pa.table({"k": [1], name: [1.0], "v": [1.0]}), number)
    query.run()
    ((_, hint),) = near([w for report in query.reports for w in report.warnings])
    assert "`rename(Fee, fee)`" in (hint or "")


def test_a_bad_accent_that_is_set_aside_brings_no_name(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path, "set bad_markers = quarantine;" + QUERY.format("", "json"))
    query.write("r", [{"$accent": "[[alter(v, y -> "}, {"k": 1, "Fee": 1, "v": 1}])
    query.run()
    warnings = [w for report in query.reports for w in report.warnings]
    assert sorted(warning.code for warning in warnings) == ["RQ235", "RQ361"]


@pytest.mark.parametrize("form", ["xml", "kafka"])
def test_the_keys_of_the_first_tuple(form: str) -> None:
    """Of a file of XML, and of records of a topic, which are lines in a local file."""
    text = {
        "xml": b"<all><t><k a='1'>1</k><Fee>1</Fee ><v></v></t><t><k>1</k><fee>1</fee></t></all>",
        "kafka": b'{"$punctuation": "[k < 1]"}\n{"k": 1, "Fee": 1, "v": 1}\n{"k": 1, "fee": 1}\n',
    }[form]
    assert first_keys(text, form, [("k",)]) == [("k",), ("Fee",), ("v",)]


@pytest.mark.parametrize("kind", tiered([*ENVELOPES], 2))
def test_a_near_miss_in_an_envelope_is_named_by_its_path(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Keys of the envelope itself are none; as the hint says, both are read."""
    text, wrapped = in_envelope(kind)
    name = ENVELOPES[kind][0].format("power").strip('"')
    for origin, count in ((f'"{name}"', 1), (f'"{name}" or "{name.removesuffix("er")}r"', 0)):
        query = Query(spark, tmp_path / str(count), text.replace(f'"{name}"', origin))
        query.write("r", wrapped[:1])
        query.write("r", wrapped[1:2])
        query.run(files_per_epoch=1)
        for warnings in ([w for report in query.reports for w in report.warnings], query.simulate().warnings):
            misses = near(warnings)
            assert len(misses) == count
            assert all(f"`{name.removesuffix('er')}r` of " in message for message, _ in misses)
            assert all(
                f'`from "{name}" or "{name.removesuffix("er")}r"`' in (hint or "") for _, hint in misses
            )
        powers = [row.get("power") for row in query.output("r") if is_tuple(row)]
        assert powers == ([1.5, None] if count else [1.5, 2.5])
    status = read_status(str(tmp_path / "1" / "checkpoint"))
    assert status.sources[0].undeclared == {f"{name.removesuffix('er')}r": 1}


@pytest.mark.parametrize("item", [{"pay": {"x": 1}}, {"payload": {"x": 1, "powr": 2}}])
def test_a_file_whose_envelopes_hold_no_attribute_is_warned_of(
    spark: SparkSession, tmp_path: Path, item: Item
) -> None:
    query = Query(
        spark,
        tmp_path,
        'stream r(power?: double from "payload.power") from json "r"; emit r to json "out";',
    )
    query.write("r", [item])
    query.run()
    for warnings in ([w for report in query.reports for w in report.warnings], query.simulate().warnings):
        assert [w.code for w in warnings if w.code == "RQ320"] == ["RQ320"]


@given(st.data())
def test_keys_in_an_envelope_are_judged_as_those_of_flat_tuples(data: st.DataObject) -> None:
    """Whatever the attributes, the fields, and the keys of the envelope."""
    name = st.sampled_from(["power", "powr", "Power", "fee", "fees", "k", "unit", "unit_", "other", "status"])
    declared = data.draw(st.lists(name, min_size=1, max_size=4, unique=True))
    item = dict.fromkeys(data.draw(st.lists(name, max_size=4, unique=True)), 1)
    level = data.draw(st.sampled_from([("payload",), ("data", "after"), ("a.b",)]))
    beside = dict.fromkeys(data.draw(st.lists(name.filter(lambda key: key not in level), max_size=2)), 1)

    def source(keys: FieldPath) -> Source:
        attributes = [
            Attribute(n, "double", optional=True, keys=(*keys, n) if keys else ()) for n in declared
        ]
        return Source(name="r", attributes=attributes, format="json", path="-")

    inner: Item = item
    for key in reversed(level):
        inner = {**(beside if key == level[0] else {}), key: inner}
    results: list[tuple[list[str], list[str]]] = []
    for of, tuple_, path in ((source(()), item, ""), (source(level), inner, f"{path_text(level)}.")):
        names = NearNames()
        keys = keys_beside(tuple_, paths_read(of, declared))
        warned = [w.message.replace(f"`{path}", "`") for w in names.of(of, keys, declared, "f")]
        counted = [key.removeprefix(path) for key in names.counted().get("r", ())]
        assert has_some(tuple_, paths_read(of, declared)) == (
            not item.keys().isdisjoint(declared) or (bool(path) and not item)
        )
        results.append((warned, counted))
    assert results[0] == results[1]


def test_a_near_miss_in_xml_is_named(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(spark, tmp_path, QUERY.format("", "xml"))
    path = tmp_path / "in" / "r" / "1.xml"
    path.parent.mkdir(parents=True)
    path.write_text("<all><t><k>1</k><Fee>1</Fee><v>1</v></t></all>")
    query.run()
    ((message, _),) = near([w for report in query.reports for w in report.warnings])
    assert "`Fee` of " in message


@pytest.mark.parametrize("key", ["free", "ks", "fees_of_others", "V2"])
def test_other_fields_are_not_near(spark: SparkSession, tmp_path: Path, key: str) -> None:
    query = Query(spark, tmp_path, QUERY.format("", "json").replace("fee?", "power?"))
    query.write("r", [{"k": 1, "v": 1, key: 1}])
    query.run()
    assert near([w for report in query.reports for w in report.warnings]) == []


def test_fields_that_no_attribute_reads_are_counted_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """In `status`, by files, also after a restart; what an accent adds is read."""
    query = Query(spark, tmp_path, QUERY.format("", "json"))
    query.write("r", texts("json", ["k", "v", "colour"]))
    query.write("r", ['{"k": 1, "v": 1, "colour": 1, "size": 2}'])
    query.process(files_per_epoch=1).close()
    query.write("r", [{"$accent": "[[+(size: int)]]"}, {"k": 1, "v": 1, "size": 2}])
    query.run()
    status = read_status(str(tmp_path / "checkpoint"))
    assert status.sources[0].undeclared == {"colour": 2, "size": 1}
    assert "read by no attribute: `colour` in 2 files, `size` in 1 file" in status_text(status)


def test_few_names_are_shown_and_not_all_are_kept() -> None:
    journal = Journal.open(Files(), "/nowhere")
    entry = EpochEntry(0, 1, 1, 0.1, {}, {}, (0, 0), undeclared={"r": {f"n{n:03}": 1 for n in range(500)}})
    journal.note(entry)
    kept = journal.content["undeclared"]["r"]
    assert len(kept) == 100
    (line,) = source_lines(Stream("r", ("none",), None, undeclared=kept))[:1]
    assert line.startswith("read by no attribute: `n000` in 1 file, ")
    assert line.endswith(", and 80 more")
