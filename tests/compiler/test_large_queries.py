"""Queries that programs write: wide, long, or with many ways from a source to an output."""

from __future__ import annotations

from cedilla.compiler import compile_query
from cedilla.compiler.analysis.findings import findings
from cedilla.compiler.explain.impact import impacts

SOURCE = 'stream r(k: long, x: double) from json "r" punctuated on k;\n'


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
