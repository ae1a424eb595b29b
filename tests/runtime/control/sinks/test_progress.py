"""What an output must announce, and no less (theory D2)."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.reference.reference import Reference
from tests.kit.stream import Item


def announced(query: str, lines: list[tuple[str, str | Item]], together: bool = False) -> list[str]:
    """Returns the markers of the output of a query. `lines`: tuples and texts of markers, each with its source."""
    reference = Reference(compile_query(query).plan)
    items = [(source, line if isinstance(line, dict) else _marker(line)) for source, line in lines]
    steps = [items] if together else [[item] for item in items]
    outputs = [output for step in steps for out in reference.step(step) for output in out.values()]
    return [text for out in outputs for item in out.items() for name, text in item.items() if name[0] == "$"]


def _marker(text: str) -> Item:
    return {"$accent" if text.startswith("[[") else "$punctuation": text}


ATTRIBUTES = "(ts: long, k: int in {1, 2}, t: double)"
HOT = f"""
stream north{ATTRIBUTES} from json "north";
stream south{ATTRIBUTES} from json "south";
emit select[t > 5](north) union south to json "o";
"""


@pytest.mark.parametrize(
    "south", [["[[alter(t, y -> y * 2)]]"], ["[[k = 1, alter(t, y -> y * 2)]]"]], ids=str
)
def test_a_part_that_cannot_be_described_does_not_swallow_the_rest(south: list[str]) -> None:
    """Both inputs have altered k = 1. South alone has altered k = 2, where its tuples with t <= 5 alone would be
    described by their own attribute (G23)."""
    north = ("north", "[[k = 1, alter(t, y -> y * 2)]]")
    assert announced(HOT, [north, *(("south", text) for text in south)]) == [
        "[[k = 1, alter(t, y -> y * 2)]]"
    ]
