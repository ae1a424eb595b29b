"""A sample chooses by canonical values: the same ones whatever the share, the unit and the run (theory D0c)."""

from __future__ import annotations

from typing import Any

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item, decode

HEAD = "stream r(k: long, m?: decimal(10,2), name?: string) from json 'r';"


def sampled(operator: str, items: list[Item]) -> list[Item]:
    plan = compile_query(f"{HEAD} emit {operator}(r) to json 'out';").plan
    (output,) = Reference(plan).step([("r", item) for item in items])
    (emit,) = plan.emits
    return output[emit.name].items()


def keys(share: str, rows: list[Item], by: str = "k") -> list[Any]:
    return [row[by] for row in sampled(f"sample[{share} by {by}]", rows)]


ROWS: list[Item] = [{"k": k} for k in range(3000)]


@pytest.mark.parametrize(("count", "parts"), [(1, 10), (1, 2), (7, 9), (1, 300)])
def test_a_share_is_about_that_of_the_keys(count: int, parts: int) -> None:
    share = count / parts
    deviation = (len(ROWS) * share * (1 - share)) ** 0.5
    assert abs(len(keys(f"{count} in {parts}", ROWS)) - len(ROWS) * share) < 3 * deviation


def test_a_larger_share_has_all_that_a_smaller_one_has() -> None:
    tenth, fifth, half, whole = (set(keys(f"{n} in 10", ROWS)) for n in (1, 2, 5, 10))
    assert tenth < fifth < half < whole == set(range(len(ROWS)))


def test_tuples_without_the_key_are_chosen_together() -> None:
    rows: list[Item] = [{"k": k} for k in range(50)]
    assert len(sampled("sample[1 in 2 by name]", rows)) in (0, 50)
    assert sampled("sample[1 in 1 by name]", rows) == rows


@pytest.mark.parametrize("function", ["y -> y * 1000", "y -> y / 100", "y -> (y - 32) * 5/9"])
@pytest.mark.parametrize(("by", "step"), [("k", 1), ("m", 0.01)])
def test_no_alter_changes_which_are_chosen(function: str, by: str, step: float) -> None:
    """Undone in floating point, 0.57 of a hundredth is 56.99999999999999: a hash of that is another. A decimal has only
    the digits of its type, before and after an exact Alter (N12)."""
    canonical: list[Item] = [{"k": n, "m": round(n * step, 2)} for n in range(1, 200)]
    raw = [{**row, by: eval(function.removeprefix("y -> "), {"y": row[by]})} for row in canonical]
    if (by, function) == ("m", "y -> y / 100"):
        raw = [{**row, by: round(row[by], 4)} for row in raw]
    before = sampled(f"sample[1 in 3 by {by}]", canonical)
    after = decode(sampled(f"sample[1 in 3 by {by}]", [{"$accent": f"[[alter({by}, {function})]]"}, *raw]))
    assert 0 < len(before) < len(canonical)
    assert [round(row[by], 2) for row in after] == [row[by] for row in before]
