"""Decimals under functions that fall (theory N11, N12): a change of sign keeps all digits, beyond those of doubles."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.lines import as_lines
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import tiered

ATTRIBUTES = "k: int, n: decimal(18, 2)"
QUERY = f"""
stream r({ATTRIBUTES}) from json "r" punctuated on k;
sums := aggregate[sum(n) as total, max(n) as most by k](r);
emit r to json "r" in original units;
emit sums to json "sums" in original units;
"""
LINES: list[Item | str] = [
    '{"k": 1, "n": 90071992547409.93}',
    {"$accent": "[[k = 1, alter(n, y -> -y)]]"},
    '{"k": 1, "n": -90071992547409.95}',
    '{"k": 2, "n": 0.29}',
    {"$accent": "[[k = 1, alter(n, y -> y * 100)]]"},
    '{"k": 1, "n": -9007199254740993}',
    '{"k": 1, "n": -9007199254740993.5}',  # half a cent
    {"$accent": "[[k = 2, alter(n, y -> 1 - y / 100)]]"},
    '{"k": 2, "n": -900719925473.0993}',
    {"$punctuation": "[k = 2, n < -900719925473]"},
    '{"k": 2, "n": -900719925473.0993}',  # closed now: the greatest amounts are the least numbers
    {"$punctuation": "[]"},
]
AMOUNTS = {
    1: ("90071992547409.93", "90071992547409.95", "90071992547409.93"),
    2: ("0.29", "90071992547409.93"),
}
EXPECTED = sorted((k, Decimal(n)) for k, amounts in AMOUNTS.items() for n in amounts)
SUMS = {k: (sum(map(Decimal, amounts)), max(map(Decimal, amounts))) for k, amounts in AMOUNTS.items()}
ASIDE = [("RQ334", 6), ("RQ305", 10)]


def rows_of(folder: Path) -> list[Item]:
    return [item for item in read_output(folder, Decimal) if is_tuple(item)]


def check_outputs(folder: Path) -> None:
    assert sorted((row["k"], row["n"]) for row in rows_of(folder / "r")) == EXPECTED
    assert {row["k"]: (row["total"], row["most"]) for row in rows_of(folder / "sums")} == SUMS


@pytest.mark.either_engine
@pytest.mark.parametrize("per_epoch", tiered([None, 1]))
def test_amounts_that_change_their_sign_keep_their_digits(
    spark: SparkSession, tmp_path: Path, per_epoch: int | None
) -> None:
    run = Query(spark, tmp_path, QUERY)
    for part in (LINES[:3], LINES[3:7], LINES[7:]):
        run.write("r", part)
    run.process(per_epoch)
    check_outputs(tmp_path / "out")
    assert [line["code"] for line in run.quarantine("r")] == [code for code, _ in ASIDE]
    run.simulate()
    check_outputs(run.simulated.folder)
    assert run.simulated.codes == [code for code, _ in ASIDE]


def test_tools_set_the_same_lines_aside() -> None:
    diagnostics: list[Any] = []
    validate(as_lines(LINES), declared_schema(ATTRIBUTES), diagnostics.append)
    assert [(diagnostic.code, diagnostic.notes[-1].split(": ")[0]) for diagnostic in diagnostics] == [
        (code, f"s:{position + 1}") for code, position in ASIDE
    ]


@pytest.mark.parametrize("function", ["-y * 3", "8 / y", "1 - y / 3"])
def test_other_functions_that_a_source_undoes_make_doubles(function: str) -> None:
    reference = Reference(compile_query(f'stream r({ATTRIBUTES}) from json "r"; emit r to json "o";').plan)
    for item in ({"$accent": f"[[alter(n, y -> {function})]]"}, {"k": 1, "n": 0.5}):
        reference.step([("r", item)])
    assert str(reference.states["r"].types["n"]) == "double"
    assert reference.rejected == []
