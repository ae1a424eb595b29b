"""Whatever text a tuple, a marker or a file name brings, engines and the reference take it for a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla import Options, run
from tests.kit.foreign_text import NAMES, RAN, TEXTS, constant, file_names, is_unicode
from tests.kit.query import Query
from tests.kit.stream import read_output

MakeQuery = Callable[[str], Query]

TAKEN = [text for text in TEXTS.values() if is_unicode(text) and len(text) < 1_000]
"""Texts that JSON and the language can both write."""


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> MakeQuery:
    return lambda text: Query(spark, tmp_path, text)


@pytest.mark.either_engine
def test_a_constant_equals_its_text_only(make: MakeQuery) -> None:
    tests = ", ".join(f"s = {constant(text)} as c{n}" for n, text in enumerate(TAKEN))
    query = make(
        'stream r(k: long, s: string) from json "in";\n'
        + f'o := project[k, {tests}](r);\nemit o to json "out";\n'
    )
    query.write("r", [{"k": n, "s": text} for n, text in enumerate(TAKEN)])
    query.process()
    rows = query.rows("o")
    assert [
        [n for n in range(len(TAKEN)) if row[f"c{n}"]] for row in sorted(rows, key=lambda row: row["k"])
    ] == [[n] for n in range(len(TAKEN))]
    assert query.simulate().rows("o") == rows


@pytest.mark.either_engine
def test_an_accent_describes_the_tuples_of_its_text_only(make: MakeQuery) -> None:
    query = make('stream r(k: long, s: string, x: double) from json "in";\nemit r to json "out";\n')
    accents = [
        {"$accent": f"[[s = {constant(text)}, alter(x, y -> y * {n + 2})]]"} for n, text in enumerate(TAKEN)
    ]
    query.write("r", [*accents, *({"k": n, "s": text, "x": n + 2.0} for n, text in enumerate(TAKEN))])
    rows, rejected = query.agreed()
    assert rejected == []
    assert len(rows) == len(TAKEN)
    assert {row["x"] for row in query.canonical("r")} == {1.0}


@pytest.mark.either_engine
def test_keys_of_strangers_become_attributes_or_are_refused(make: MakeQuery) -> None:
    """Inferred attributes are columns of the engine, whose names are those of the keys."""
    query = make('stream r(k: long) from json "in";\nset drift = infer;\nemit r to json "out";\n')
    # The key without a name is one that columns cannot have (docs/limits.md).
    keys = [*filter(None, TAKEN), *(name for name in NAMES.values() if len(name) < 100)]
    query.write("r", [{"k": n, key: n} for n, key in enumerate(keys)])
    query.run()
    taken = {row["k"]: row for row in query.rows("r")}
    rejected = {rejection.line - 1: rejection.code for rejection in query.rejections()}
    assert {*taken, *rejected} == {*range(len(keys))}
    assert set(rejected.values()) == {"RQ307"}
    assert all(taken[n][keys[n]] == n for n in taken)
    assert [keys[n] for n in rejected if keys[n] in NAMES.values()] == []


@pytest.mark.either_engine
def test_attributes_are_called_as_other_languages_call_their_own(make: MakeQuery) -> None:
    names = [name for name in NAMES.values() if len(name) < 100 and name.lower() != "select"]
    declared = ", ".join(f"{name}: long" for name in names)
    query = make(
        f'stream r(k: long, {declared}) from json "in" punctuated on k;\n'
        f"kept := select[{' and '.join(f'{name} >= 0' for name in names)}](r);\n"
        f"sums := aggregate[{', '.join(f'sum({name}) as {name}' for name in names)} by k](kept);\n"
        'emit sums to json "out";\n'
    )
    values = {name: n for n, name in enumerate(names)}
    query.write("r", [{"k": 1} | values, {"k": 1} | values, {"$punctuation": "[]"}])
    query.process()
    assert query.rows("sums") == [{"k": 1} | {name: 2 * n for name, n in values.items()}]
    assert query.simulate().rows("sums") == query.rows("sums")


@pytest.mark.parametrize("name", ["python after a line end", "a docstring that runs", "end of a docstring"])
@pytest.mark.either_engine
def test_a_query_of_any_name_runs_nothing_but_itself(
    spark: SparkSession, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = tmp_path / file_names()[name]
    query.write_text('stream r(k: long) from json "in";\nemit r to json "out";\n')
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.jsonl").write_text('{"k": 1}\n')
    run(query, Options(once=True, checkpoint="checkpoint"), spark=spark)
    assert read_output(tmp_path / "out") == [{"k": 1}]
    assert not (tmp_path / RAN).exists()
