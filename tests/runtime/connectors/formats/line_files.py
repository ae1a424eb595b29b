"""Tuples of files of lines, parsed together and one block after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from cedilla.compiler.expressions.types import Type
from cedilla.runtime.connectors.formats.jsonl.markers import markers_in
from cedilla.runtime.connectors.formats.lines.blocks import Part
from cedilla.runtime.connectors.formats.lines.written_tuples import Batches, Tuples, groups_of
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.engines.spark import costs


def together_and_alone(
    texts: Sequence[bytes], batches: Batches, types: dict[str, Type], folder: Path, chance: Random
) -> tuple[pa.Table, pa.Table]:
    """Returns the tuples of files with some texts: their blocks are joined at random, and all are parsed alone.

    Some parts were searched for markers before.
    """
    parts: list[Part] = []
    for number, text in enumerate(texts):
        (folder / f"{number}.jsonl").write_bytes(text)
        parts.append(Part(str(folder / f"{number}.jsonl"), number))
    files = {part.number: InputFile(part.path, len(texts[part.number])) for part in parts}
    most = chance.choice([0, 0.5, 1])
    searched: dict[Any, Any] = {
        part: [evolve(block, markers=list(markers_in(block))) for block in part.blocks()]
        for part in parts
        if chance.random() < most
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "BLOCK", chance.choice([50, 1_000, 1 << 22]))
        patch.setattr(costs, "PART", chance.choice([100, 1_000, 1 << 25]))
        tuples = Tuples(groups_of(parts, files), batches.schema, batches, types, searched=searched)
        joined = tuples.table()
        patch.setattr(costs, "SMALL_BLOCK", 0)
        return joined, evolve(tuples, searched={}).table()
