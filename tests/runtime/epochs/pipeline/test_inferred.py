"""What an epoch says of attributes that tuples have brought."""

from __future__ import annotations

from cedilla.compiler.expressions.types import LONG
from cedilla.runtime.epochs.pipeline.inferred import Inferred


def notes(attributes: int) -> list[str]:
    return [*Inferred({"r": {f"c{n}": LONG for n in range(attributes)}}).notes()]


def test_the_note_names_some_attributes_and_counts_the_others() -> None:
    assert notes(2) == ["inferred +(c0: long), +(c1: long) of r"]
    assert notes(20)[0].endswith("+(c18: long), +(c19: long) of r")
    (note,) = notes(3_000)
    assert note.endswith("+(c18: long), +(c19: long) and 2,980 more of r")
    assert len(note) < 500
