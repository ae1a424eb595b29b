"""Queries that programs write: wide, long, or with many ways from a source to an output."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.compiler.explain.explanation import explain_text
from cedilla.compiler.explain.impact import impacts
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_expression, parse_query
from cedilla.runtime import simulate
from cedilla.runtime.epochs.options.options import Options
from tests.kit.query import Query
from tests.kit.stream import is_tuple, read_output
from tests.kit.tiers import tiered

SOURCE = 'stream r(k: long, x: double) from json "r" punctuated on k;\n'


@pytest.mark.rest
@pytest.mark.long
def test_ways_that_meet_again_are_followed_once() -> None:
    unions = [f"r{number + 1} := r{number} union r{number};" for number in range(60)]
    text = SOURCE + "r0 := r union r;\n" + "\n".join(unions) + '\nemit r60 to json "o";\n'
    plan = compile_query(text).plan  # 2 ** 61 ways
    findings(plan)
    assert {impact.outcomes[0].verdict for impact in impacts(plan) if impact.outcomes} == {
        "coordinates",
        "propagates",
    }


def test_the_steps_of_all_ways_that_meet_are_reported() -> None:
    text = (
        SOURCE
        + "a := aggregate[max by k except x](r);\nb := select[k > 3](r);\n"
        + 'u := a union b;\nemit u to json "o";\n'
    )
    plan = compile_query(text).plan
    outcomes = [
        impact.outcomes for impact in impacts(plan) if (impact.kind, impact.attribute) == ("drop", "*")
    ]
    (outcome,) = outcomes[0]
    assert [step.operator.name for step in outcome.steps] == ["a", "b", "u", "u"]


MANY = 1000
WIDE = "stream r(k: long, x: double, " + ", ".join(f"a{n}: double" for n in range(500)) + ') from json "r";\n'
PARTS = {
    "or": " or ".join(f"k = {n}" for n in range(0, 2 * MANY, 2)),
    "and": " and ".join(f"k != {n}" for n in range(1, 2 * MANY, 2)),
    "or of ands": " or ".join(f"k = {n} and x > {n}.25" for n in range(0, 2 * MANY, 2)),
    "attributes": " or ".join(f"a{n} = {2 * n}" for n in range(500)),
    "pairs": " and ".join(f"(a{n} >= 0 or a{n + 100} > 2)" for n in range(100)),
}
SOURCES = {name: WIDE if name in ("attributes", "pairs") else SOURCE for name in PARTS}


@pytest.mark.rest
@pytest.mark.long
@pytest.mark.either_engine
@pytest.mark.parametrize("name", tiered(PARTS))
def test_a_thousand_terms_are_one_condition(name: str, spark: SparkSession, tmp_path: Path) -> None:
    run = Query(spark, tmp_path, SOURCES[name] + f'emit select[{PARTS[name]}](r) to json "o";')
    others = range(500 if SOURCES[name] == WIDE else 0)
    path = run.write("r", [{"k": n, "x": n + 0.5, **{f"a{m}": float(n) for m in others}} for n in range(6)])
    run.process()
    kept = [row["k"] for row in run.output("select") if is_tuple(row)]
    assert sorted(kept) == ([*range(6)] if name == "pairs" else [0, 2, 4])
    simulate(run.query, Options(sources={"r": str(path)}, sinks={"select": str(tmp_path / "simulated")}))
    tuples = [row for row in read_output(tmp_path / "simulated") if is_tuple(row)]
    assert sorted(row["k"] for row in tuples) == sorted(kept)


LARGE = {
    **{f"select {n}": SOURCES[n] + f'emit select[{part}](r) to json "o";' for n, part in PARTS.items()},
    "units": SOURCE.replace("double", "double unit degC")
    + f'emit select[x in {{{", ".join(f"{n} degF" for n in range(MANY))}}}](r) to json "o";',
    "concat": SOURCE + f'emit project[k, {" || ".join(["string(x)"] * MANY)} as y](r) to json "o";',
    "case": SOURCE + f'emit project[k, case {"when k = 1 then x " * MANY}end as y](r) to json "o";',
    "case of all": WIDE
    + f'emit project[k, case {"".join(f"when k = {n} then a{n % 500} " for n in range(MANY))}end as y](r) to json "o";',
    "parentheses": SOURCE + f'emit select[{"(" * MANY}k = 1{")" * MANY}](r) to json "o";',
    "attributes": WIDE
    + f'emit project[{", ".join(f"a{n} * 2 as b{n}" for n in range(500))}](r) to json "o";',
    "relations": SOURCE + "".join(f'emit select[k > {n}](r) to json "o{n}";\n' for n in range(100)),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", tiered(["units", "attributes", *sorted(LARGE.keys() - {"units", "attributes"})], 2)
)
def test_large_queries_are_checked_laid_out_and_explained(name: str) -> None:
    plan = compile_query(LARGE[name]).plan
    findings(plan)
    assert explain_text(plan)
    laid_out = format_query(parse_query(LARGE[name]), LARGE[name])
    assert format_query(parse_query(laid_out), laid_out) == laid_out


def nested(depth: int) -> dict[str, str]:
    return {
        "a sum": f"project[k, {' + '.join(['x'] * depth)} as y](r)",
        "not": f"select[{'not ' * depth}k = 1](r)",
        "a function": f"project[k, {'abs(' * depth}x{')' * depth} as y](r)",
        "a case": f"project[k, {'case when k = 1 then 1 else ' * depth}x{' end' * depth} as y](r)",
        "operators": f"{'select[k > 1](' * depth}r{')' * depth}",
        "unions": " union ".join(["r"] * depth),
        "joins": "r" + "".join(f" join project[k, x as x{n}](r) on k" for n in range(depth)),
    }


@pytest.mark.parametrize("name", tiered(nested(1), 4))
def test_what_nests_deeply_is_one_error_with_its_place(name: str) -> None:
    compile_query(SOURCE + f'emit {nested(100)[name]} to json "o";')
    for depth in (150, 3000):
        with pytest.raises(DiagnosticError) as caught:
            compile_query(SOURCE + f'emit {nested(depth)[name]} to json "o";')
        (error,) = caught.value.diagnostics
        assert error.code == "RQ001"
        assert "nested too deeply" in error.message
        assert error.span is not None
        assert error.span.line == 2


def test_relations_one_over_the_other_have_a_limit() -> None:
    steps = "".join(f"r{n + 1} := select[x > {n}](r{n});\n" for n in range(1000))
    with pytest.raises(DiagnosticError) as caught:
        compile_query(SOURCE + "r0 := select[x > 0](r);\n" + steps + 'emit r1000 to json "o";')
    (error,) = caught.value.diagnostics
    assert error.code == "RQ168"
    assert error.span is not None
    assert error.span.line == 202


def test_terms_in_parentheses_are_terms_of_the_same_condition() -> None:
    assert parse_expression("a or (b or (c or d))") == parse_expression("a or b or c or d")
    assert parse_expression("(a and b) or (c and d)") != parse_expression("a and (b or c) and d")
