"""The canonical stream of every valid stream is valid and has the same tuples, whatever its schema.

The law of `tests/runtime/tools/stream_tools/test_canonize.py` is what it means, on streams of which every attribute is
required and has no domain. Here attributes are optional, dropped and added, have domains and units, and most markers
are of tuples that are closed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from tests.kit.lines import as_lines
from tests.kit.seeds import soak_seeds
from tests.kit.strategies import BRIEF
from tests.kit.stream import Item
from tests.laws.random_schemas import SCHEMAS, tuples_and_errors, valid_stream


def check_canonical_stream(seed: int) -> None:
    rng = Random(seed)
    text = rng.choice(SCHEMAS)
    schema = declared_schema(text)
    stream = valid_stream(rng, schema, rng.randrange(4, 14))
    rows, _ = tuples_and_errors(stream, schema)
    context = [json.dumps(item) for item in stream]
    # Before its Drop, and after the next Add, some tuples may lack an attribute.
    gone = {name for name in "skt" if any(f"-({name})" in str(item.get("$accent")) for item in stream)}
    reader = declared_schema(re.sub(rf"\b([{''.join(gone) or '-'}]):", r"\1?:", text))
    for used in (None, Counter[str]()):
        output = StringIO()
        try:
            canonize(as_lines(stream), schema, output, used)
        except DiagnosticError as error:
            if {diagnostic.code for diagnostic in error.diagnostics} != {
                "RQ213"
            }:  # there are no words for it
                raise
            continue
        canonical = [json.loads(line) for line in output.getvalue().splitlines()]
        assert tuples_and_errors(canonical, reader) == (rows, []), (context, canonical)


@BRIEF
@given(seed=st.integers(0, 10**9))
def test_a_canonical_stream_is_valid(seed: int) -> None:
    """Adds of optional or closed attributes, Drops and Alters of values that domains exclude or no tuple has (P-dead),
    by one pass and by the rules."""
    check_canonical_stream(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(2000))
def test_canonical_streams_are_valid_in_many_cases(seed: int) -> None:
    check_canonical_stream(seed)


# --- what the law has found ---


def canonical_streams(schema: str, stream: Sequence[str | Item]) -> list[list[str | Item]]:
    """The canonical stream, by one pass and by the rules; accents are their texts."""
    items = [{"$accent": item} if isinstance(item, str) else item for item in stream]
    results: list[list[str | Item]] = []
    for used in (None, Counter[str]()):
        output = StringIO()
        canonize(as_lines(items), declared_schema(schema), output, used)
        actual = [json.loads(line) for line in output.getvalue().splitlines()]
        assert tuples_and_errors(actual, declared_schema(schema))[1] == []
        results.append([item.get("$accent", item) for item in actual])
    return results


def test_an_add_that_describes_only_what_no_tuple_lacks_is_not_written_in_other_units() -> None:
    """By its text, in the units of the stream's start, it said of all tuples that they have `p`; and a later Add named
    them once more (RQ205)."""
    stream = [
        "[[k < 5, alter(t, y -> y + 100)]]",
        "[[k >= 5, alter(t, y -> y + 100)]]",
        "[[t < 60, +(p: double)]]",  # of tuples without k
        "[[+(q: double)]]",
        "[[q > 1, t > 100, +(p: double)]]",
    ]
    with pytest.raises(DiagnosticError, match="only tuples that lack what all tuples have"):
        canonical_streams("k: int, t: double in [0, 50]", stream)


def test_an_add_of_what_is_optional_may_come_behind_tuples_that_have_it() -> None:
    stream: list[str | Item] = [{"s": 2, "p": 7.0}, "[[s = 2, alter(p, y -> y * 2)]]", {"s": 2, "p": 7.0}]
    for result in canonical_streams("s: int in {1, 2}, p?: double", [*stream, "[[+(p: double)]]"]):
        assert result == ["[[+(p: double)]]", {"s": 2, "p": 7.0}, {"s": 2, "p": 3.5}]


def test_a_drop_says_nothing_of_values_outside_of_domains_in_other_units() -> None:
    """Behind the Alter `k` is 9 or 10, and what is not 9 is described as it came."""
    stream = ["[[+(p: double)]]", "[[alter(k, y -> y + 8)]]", "[[k != 9, -(p)]]"]
    assert canonical_streams("k: int in {1, 2}", stream)[0] == stream


def test_an_alter_of_what_no_tuple_ever_had_is_left_out() -> None:
    """All of its tuples were closed; in canonical order, tuples without `s` are not (RQ206)."""
    stream: list[str | Item] = [
        "[[t >= 8, +(p: double)]]",
        "[[s != 1, alter(t, y -> y * 4 - 16)]]",
        {"$punctuation": "[t < 8]"},
        "[[t <= 2, alter(p, y -> y / 2)]]",
    ]
    for result in canonical_streams("s: int in {1, 2}, t: double", stream):
        assert result[0] == stream[0]
        assert not any("alter(p" in str(item) for item in result)


def test_whole_numbers_stay_whole_numbers() -> None:
    stream: list[str | Item] = ["[[alter(k, y -> y / 2)]]", {"k": 1}]
    for result in canonical_streams("k: int", stream):
        assert result[0] == {"k": 2}
        assert isinstance(result[0], dict)
        assert isinstance(result[0]["k"], int)


def test_tuples_that_name_their_unit_stay_in_it() -> None:
    """The first of them was written in degF, and was read in degC."""
    stream: list[str | Item] = [{"u": "degC", "t": 25.0}, "[[t > 50, +(p: double)]]"]
    for result in canonical_streams("u: string, t: double unit from u in {degF, degC}", stream):
        assert result == [stream[1], stream[0]]
