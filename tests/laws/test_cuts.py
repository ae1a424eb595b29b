"""The law of cuts: files give the same rows, the same lines set aside with the same codes, the same announced types and
the same warnings, however they are cut into epochs and runs, on an engine as in the reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query, canonical_rows
from tests.kit.seeds import soak_seeds
from tests.kit.stream import Item, is_tuple, read_output
from tests.kit.tiers import tiered
from tests.laws.cut_worlds import CutWorld, cut_world, with_path_keys

CUTS = ((None, 1), (1, 1), (2, 1), (None, 2), (1, 3))
"""Files of an epoch, and the runs that share the files."""


def check_cuts(spark: SparkSession, root: Path, seed: int, cuts: int = 2) -> None:
    rng = Random(seed)
    world = cut_world(rng)
    expected = of_reference(world, root / "reference")
    for number, (files_per_epoch, runs) in enumerate(rng.sample(CUTS, cuts)):
        actual = of_engine(spark, world, root / str(number), files_per_epoch, runs)
        where = f"seed {seed}, {files_per_epoch} files an epoch, {runs} runs\n{world.text()}"
        for name in expected:
            assert actual[name] == expected[name], f"{name}, {where}"


def of_reference(world: CutWorld, root: Path) -> dict[str, Any]:
    """The answer of the reference; a marker may end the query."""
    run = written(Query.without_engine(root, world.query), world)
    warnings: list[Diagnostic] = []
    rejected: list[tuple[str, str]] = []
    sinks = {emit.name: str(root / "simulated" / emit.name) for emit in compile_query(world.query).plan.emits}
    ended: list[str] = []
    try:
        simulate(
            run.query,
            Options(sources=run.options().sources, sinks=sinks),
            lambda line, code: rejected.append((Path(line.line.place).name, code)),
            warnings.append,
        )
    except DiagnosticError as error:
        ended = [diagnostic.code for diagnostic in error.diagnostics]
    return answer(world, root / "simulated", rejected, warnings, ended)


def of_engine(
    spark: SparkSession, world: CutWorld, root: Path, files_per_epoch: int | None, runs: int
) -> dict[str, Any]:
    """The answer of an engine; each run takes some of the files."""
    run, ended = Query(spark, root, world.query), list[str]()
    for number in range(runs):
        begin, end = (len(world.files) * n // runs for n in (number, number + 1))
        world.write(run, begin, end)
        try:
            run.go_on(run.executor(files_per_epoch), number)
        except DiagnosticError as error:
            ended = [diagnostic.code for diagnostic in error.diagnostics]
            break
    warnings = [warning for report in run.reports for warning in report.warnings]
    rejected = [(rejection.place, rejection.code) for rejection in run.rejections("r")]
    return answer(world, root / "out", rejected, warnings, ended)


def written(run: Query, world: CutWorld) -> Query:
    world.write(run)
    return run


def answer(
    world: CutWorld,
    folder: Path,
    rejected: Iterable[tuple[str, str]],
    warnings: Iterable[Diagnostic],
    ended: list[str],
) -> dict[str, Any]:
    folders = {e.name: folder / e.name for e in compile_query(world.query).plan.emits}
    rows = {name: canonical_rows(of) for name, of in folders.items()}
    return {
        "ended": ended,
        "rejected": sorted(rejected),
        "rows": {name: Counter(map(text_of, of)) for name, of in rows.items()},
        "types": {name: types_of(rows[name], read_output(of)) for name, of in folders.items()},
        "warnings": Counter((w.code, w.message) for w in warnings if w.code != "RQ234"),
    }


def text_of(row: Item) -> str:
    """Returns a row without the last digits of doubles, which depend on the order of a sum."""
    return str(sorted((name, f"{v:.12g}" if isinstance(v, float) else v) for name, v in row.items()))


def types_of(rows: Iterable[Item], output: Iterable[Item]) -> set[str]:
    """The attributes of the tuples that an output announces, with their types."""
    accents = [item["$accent"] for item in output if not is_tuple(item) and "$accent" in item]
    announced = {added for accent in accents for added in re.findall(r"\+\((.*?)\)", accent)}
    names = {name for row in rows for name in row}
    return {added for added in announced if added.partition(":")[0] in names}


def check_path_keys(spark: SparkSession, root: Path, seed: int) -> None:
    rng = Random(seed)
    flat, keyed = with_path_keys(rng, cut_world(rng))
    expected = of_reference(flat, root / "flat")
    answers = {"simulated": of_reference(keyed, root / "reference")}
    files_per_epoch, runs = rng.choice(CUTS)
    answers["run"] = of_engine(spark, keyed, root / "run", files_per_epoch, runs)
    for by, actual in answers.items():
        for name in expected:
            assert actual[name] == expected[name], f"{name}, seed {seed}, {by}\n{keyed.text()}"


@pytest.mark.parametrize("seed", tiered(range(8)))
def test_an_attribute_in_the_paths_is_one_in_the_files(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_path_keys(sail, tmp_path, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(200))
def test_an_attribute_in_the_paths_is_one_in_the_files_in_many_cases(
    sail: SparkSession, tmp_path: Path, seed: int
) -> None:
    check_path_keys(sail, tmp_path, seed)


@pytest.mark.parametrize("seed", tiered(range(12)))
def test_the_cut_into_epochs_decides_nothing(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_cuts(sail, tmp_path, seed)


JUMPING = """
set suspect = warn;
stream r(ts: long, k: int in {1, 2}, v: double) from json 'r' punctuated on ts;
emit r to json 'o';
"""


def test_the_cut_decides_no_warning_about_jumps(sail: SparkSession, tmp_path: Path) -> None:
    """An unannounced change of unit is reported once, in the same words."""
    rng = Random(1)
    values = [60 + rng.gauss(0, 2) for _ in range(480)]
    after = [(value - 32) / 1.8 if n >= 240 and n % 2 else value for n, value in enumerate(values)]
    items: list[Item] = [{"ts": n, "k": 1 + n % 2, "v": value} for n, value in enumerate(after)]
    world = CutWorld(JUMPING, [[*items[n : n + 60]] for n in range(0, 480, 60)])
    answers = [of_reference(world, tmp_path / "reference")]
    answers += (of_engine(sail, world, tmp_path / str(n), n, 1) for n in (None, 3))
    messages = [[re.sub(r"since .*?: acc", "acc", message) for _, message in a["warnings"]] for a in answers]
    assert messages == messages[:1] * 3
    assert len(messages[0]) == 1


@pytest.mark.soak
@pytest.mark.parametrize("seed", soak_seeds(200))
def test_the_cut_decides_nothing_in_many_cases(sail: SparkSession, tmp_path: Path, seed: int) -> None:
    check_cuts(sail, tmp_path, seed, len(CUTS))
