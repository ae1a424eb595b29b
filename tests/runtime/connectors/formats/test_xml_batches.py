"""Elements of XML: both ways of finding them and both ways of reading their values, on odd and random ones."""

from __future__ import annotations

import io
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.lines.blocks import lines_at
from cedilla.runtime.connectors.formats.lines.fields import merged
from cedilla.runtime.connectors.formats.source import FieldKinds
from cedilla.runtime.connectors.formats.xml import batches, blocks
from cedilla.runtime.connectors.formats.xml.batches import XmlBatches
from cedilla.runtime.connectors.formats.xml.blocks import XmlPart
from cedilla.runtime.connectors.formats.xml.markers import markers_in
from cedilla.runtime.connectors.formats.xml.source import fields_in
from cedilla.runtime.connectors.records import xml_records
from tests.kit.compare import exactly_same
from tests.kit.tiers import tiered
from tests.runtime.connectors.formats.text_rows import TYPES, rows_of, xml_blocks
from tests.runtime.connectors.formats.xml_texts import ODD, text_of


@pytest.mark.parametrize("longest", [1 << 20, 150])
@pytest.mark.parametrize("seed", tiered(range(15), 2))
def test_elements_end_where_they_end_however_a_file_is_cut(
    seed: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By tags and by regular expressions; in blocks and windows of any size; all bytes are in some block."""
    chance = Random(f"{seed}, {longest}")
    for module in (xml_records, blocks):
        monkeypatch.setattr(module, "MAX_PIECE", longest)
    for _ in range(15):
        text = text_of(chance)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "elements_of", lambda _: None)
            expected = xml_blocks(text, monkeypatch)
        for size, together in [(1 << 22, min(longest, 1 << 19)), (chance.choice([7, 50, 333]), 100)]:
            monkeypatch.setattr(blocks, "_WINDOW_SIZE", together)
            actual = xml_blocks(text, monkeypatch, size)
            assert rows_of(actual) == rows_of(expected), (size, together, text)
            assert b"".join(block.text for block in actual) == text
            assert [block.place for block in actual] == [
                sum(len(block.text) for block in actual[:n]) for n in range(len(actual))
            ]
        monkeypatch.setattr(blocks, "opened_part", lambda part, text=text: io.BytesIO(text))
        located = lines_at(XmlPart("", 0), [position for position, _ in rows_of(expected)])
        lines = [(row, 1 + text.count(b"\n", 0, position)) for position, row in rows_of(expected)]
        assert list(located) == lines


@pytest.mark.parametrize("seed", tiered(range(15), 6))
def test_all_at_once_is_the_same_as_element_by_element(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(seed)
    batches = XmlBatches(TYPES)
    at_once = 0
    for _ in range(40):
        for block in xml_blocks(text_of(chance), monkeypatch):
            parsed = batches.batch(block, 1000).to_pylist()
            with monkeypatch.context() as patch:
                patch.setattr(XmlBatches, "parsed", lambda *_: None)
                patch.setattr(XmlBatches, "_columns", lambda *_: None)
                expected = batches.batch(block, 1000).to_pylist()
            markers = {marker.begin for marker in markers_in(block) if marker.is_read}
            rows = [row for row in rows_of([block]) if row[0] - block.place not in markers]
            assert len(parsed) == len(expected) == len(rows)
            for row, same_row, (_, text) in zip(parsed, expected, rows, strict=True):
                assert row["$corrupt"] == same_row["$corrupt"], text
                assert row["$position"] == same_row["$position"]
                is_bad = row["$corrupt"] is not None
                assert is_bad or all(exactly_same(row[name], same_row[name]) for name in TYPES), (
                    text,
                    row,
                    same_row,
                )
            at_once += (
                block.elements is not None and len(parsed) > 10 and not any(r["$corrupt"] for r in parsed)
            )
    assert at_once > 1


@pytest.mark.parametrize("name", TYPES)
def test_every_odd_text_is_the_same_at_once(name: str) -> None:
    """One at a time, so that none hides another."""
    batches = XmlBatches({name: TYPES[name]})
    refused = 0
    for text in ODD[name]:
        row = f"<r><{name}>{text}</{name}></r>".encode()
        at_once = batches.parse_block(row, np.array([0]), np.array([len(row)]))
        value, fault = batches._row(row)
        if at_once is not None:
            refused += 1
            assert fault is None, text
            assert exactly_same(at_once[0].to_pylist()[0], batches._read([row])[0].to_pylist()[0]), (
                text,
                value,
            )
    assert refused > 1


KINDS = {
    "<accent:r>[[i < 2, -(s)]]</accent:r>": "malformed",
    "<accent:r>[[i &lt; 2, -(s)]]</accent:r>": "accent",
    "<accent:r/>": "malformed",
    "<punct:r/>": "punctuation",
    "<punct:r><i>1</i><i>2</i></punct:r>": "malformed",
    "<r><!-- <punct:r/> --><i>1</i></r>": None,
    "<r><punct:r/></r>": "malformed",
    '{"$accent": "[[-(s)]]"}': "malformed",
    "<r><s>$accent</s></r>": None,
}


@pytest.mark.parametrize(("text", "kind"), KINDS.items())
def test_what_is_meant_as_a_marker_is_never_taken_for_a_tuple(
    text: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theory G34: what follows a marker that is lost would be read in the wrong unit."""
    actual = [m for block in xml_blocks(f"<r/>{text}<r/>".encode(), monkeypatch) for m in markers_in(block)]
    assert [marker.kind for marker in actual] == ([] if kind is None else [kind])


def test_the_fields_of_elements_and_their_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"<r><i>1</i><x/><y>1</y></r><punct:r><z/></punct:r><r><y> 1.5 </y><w>a</w></r><r><i>bad</r>"
    kinds = [fields_in(block) for block in xml_blocks(text, monkeypatch)]
    assert merged(field for fields in kinds for field in fields.items()) == {
        "i": FieldKinds("bigint", "bigint"),
        "x": FieldKinds("void", "void"),
        "y": FieldKinds("bigint", "double"),
        "w": FieldKinds("string", "string"),
    }


def test_a_decimal_with_a_long_exponent_is_left_to_the_strict_parser() -> None:
    """pyarrow 26 reads beyond a table of powers of ten there, and ends the process."""
    decimals = pa.array(["1.5", "1e-999999999"])
    assert batches._values(decimals, Type.parse("decimal(4,2)")) is None
    assert batches._values(pa.array(["1.5", "2e0"]), Type.parse("decimal(4,2)")) is not None
