"""The passes of the compiler: each relation has one name, and a pass that breaks the plan is named."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from cedilla.compiler import compile_query, passes
from cedilla.compiler.passes import PASSES, plan_query
from cedilla.compiler.passes.report import Report
from cedilla.compiler.plan import Plan
from cedilla.grammar import syntax
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.formatting.formatter import format_query
from cedilla.grammar.parser import parse_accent, parse_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.errors import errors_of

ROOT = Path(__file__).parents[3]
STREAMS = """
stream r(ts: long, k: int, v: double unit km) from json "r" punctuated on ts;
stream s(ts: long, k: int, v: double unit m) from json "s" punctuated on ts;
"""
SPREAD = "max(v) - min(v) as v by ts, k"
ALIKE = {
    "computed aggregates inside each other": f'emit aggregate[{SPREAD}](aggregate[{SPREAD}](r)) to json "o";',
    "a relation named like a conversion": """
        both := r union s; converted := select[v > 1](both); emit converted to json "o";""",
    "a relation above that is named like a conversion": """
        converted := select[v > 1](r); both := converted union s; emit both to json "o";""",
    "a relation named like the calls of an aggregate": f"""
        spread := aggregate[{SPREAD}](r); spread_groups := select[v > 1](spread); emit spread_groups to json "o";""",
    "a relation named like an output in other units": """
        emit r to json "o" with v in m; r_in_units := select[v > 1](r); emit r_in_units to json "p";""",
    "a relation named like one without a name": """
        emit (r semi join s on k) union r to json "o"; semi := r; union_2 := r; emit union_2 union s to json "p";""",
}
"""Queries in which the compiler names relations, and the user gives them the same names."""


@pytest.mark.parametrize("query", ALIKE.values(), ids=ALIKE)
def test_every_relation_of_a_plan_has_its_own_name(query: str) -> None:
    plan = compile_query(STREAMS + query).plan
    names = [node.name for node in (*plan.sources, *plan.operators)]
    assert len(set(names)) == len(names)


def test_relations_that_are_named_like_conversions_have_their_own_tuples() -> None:
    plan = compile_query(STREAMS + ALIKE["a relation named like a conversion"]).plan
    reference = Reference(plan)
    values = [("r", 0.5), ("r", 2.0), ("s", 500.0), ("s", 3000.0)]
    outputs = [
        output for source, v in values for output in reference.step([(source, {"ts": 1, "k": 1, "v": v})])
    ]
    assert [row["v"] for output in outputs for row in output["converted"].tuples] == [2.0, 3.0]


def test_aggregates_inside_each_other_are_computed_one_after_the_other() -> None:
    query = f"""
    emit aggregate[max(v) - min(v) as v by ts](aggregate[{SPREAD}](r)) to json "o";
    """
    plan = compile_query(STREAMS + query).plan
    reference = Reference(plan)
    rows = [(1, 1.0), (1, 4.0), (2, 10.0), (2, 11.0)]  # 3 for one k, 1 for the other
    items: list[Any] = [("r", {"ts": 1, "k": k, "v": v}) for k, v in rows]
    items.append(("r", {"$punctuation": "[]"}))
    outputs = [output for item in items for output in reference.step([item])]
    (emit,) = plan.emits
    assert [row["v"] for output in outputs for row in output[emit.name].tuples] == [2.0]


def test_an_error_hides_no_error_of_another_part_of_a_statement() -> None:
    with pytest.raises(DiagnosticError) as raised:
        compile_query(STREAMS + 'emit select[nothing > 1](r) union nobody to json "o";')
    assert [error.code for error in raised.value.diagnostics] == ["RQ102", "RQ101"]


def test_relations_that_are_computed_from_a_wrong_one_are_not_reported() -> None:
    query = 'a := select[nothing > 1](r); b := limit[3](a); c := b union s; emit c to json "o";'
    with pytest.raises(DiagnosticError) as raised:
        compile_query(STREAMS + query)
    assert [error.code for error in raised.value.diagnostics] == ["RQ102"]


# --- between passes ---


def without_definitions(query: syntax.Query, report: Report) -> syntax.Query:
    kept = [statement for statement in query.statements if not isinstance(statement, syntax.Definition)]
    return evolve(query, statements=tuple(kept))


def twice(query: syntax.Query, report: Report) -> syntax.Query:
    return evolve(query, statements=(*query.statements, *query.statements))


def without_operators(plan: Plan, report: Report) -> Plan:
    return evolve(plan, operators=())


def backwards(plan: Plan, report: Report) -> Plan:
    return evolve(plan, operators=plan.operators[::-1])


def with_other_names(plan: Plan, report: Report) -> Plan:
    first, *others = plan.operators
    return evolve(plan, operators=(evolve(first, names={"v": "key"}), *others))


@pytest.mark.parametrize(
    ("number", "broken"),
    [(0, without_definitions), (2, twice), (3, backwards), (3, without_operators), (4, with_other_names)],
)
def test_a_pass_that_breaks_the_plan_is_named(
    number: int, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = parse_query(f'{STREAMS} a := rename[k as key](r); b := distinct(a); emit b to json "o";')
    assert plan_query(query).plan.emits

    def renamed(stage: Any, report: Report) -> Any:
        return broken(PASSES[number](stage, report), report)

    renamed.__name__ = broken.__name__
    if broken is with_other_names:  # a pass that changes nothing it says, but types
        renamed = broken
    monkeypatch.setattr(passes, "PASSES", (*PASSES[:number], renamed, *PASSES[number + 1 :]))
    with pytest.raises(DiagnosticError) as raised:
        plan_query(query)
    (error,) = raised.value.diagnostics
    assert error.code == "RQ176"
    assert f"`{broken.__name__}`" in error.message


def test_the_architecture_gives_the_passes_in_their_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.findall(r"^- `(\w+)` ", page, re.MULTILINE)[: len(PASSES)] == [step.__name__ for step in PASSES]


WORDS = sorted(
    {
        *keyword.kwlist,
        *keyword.softkwlist,
        *re.findall(r'"([a-z_]+)"', (ROOT / "grammar" / "rq.lark").read_text(encoding="utf-8")),
        *[
            "F",
            "spark",
            "main",
            "flow",
            "run",
            "print",
            "self",
            "cedilla",
            "epoch",
            "DataFrame",
            "order",
            "group",
            "interval",
            "cast",
            "user",
            "time",
        ],
    }
)


@pytest.mark.long
@pytest.mark.parametrize(
    "shape",
    [
        'stream r(a: int) from json "in"; {w} := select[a > 1](r); z := {w} union r; emit z to json "out";',
        'stream {w}(a: int) from json "in"; z := select[a > 1]({w}); emit z to json "out";',
        'stream r(a: int, {w}: int) from json "in"; z := select[{w} > 1](r); emit z to json "out";',
        'let {w} = 5; stream r(a: int) from json "in"; z := select[a > {w}](r); emit z to json "out";',
        'stream r(a: int) from json "in"; z := project[a as {w}](r); emit z to json "out";',
    ],
)
def test_a_word_that_the_grammar_takes_as_a_name_is_one_for_every_stage(shape: str) -> None:
    """Keywords of the language, of Python and of SQL."""
    taken = 0
    for word in WORDS:
        query = shape.format(w=word)
        codes = {error.code for error in errors_of(lambda query=query: compile_query(query))}
        assert codes <= {"RQ001", "RQ103"}, word
        if codes:
            continue
        taken += 1
        compiled = compile_query(query)
        compile(compiled.program, "program", "exec")
        assert parse_query(format_query(parse_query(query))) is not None
    assert taken > len(WORDS) / 2


# --- defaults ---


FILLED = """
stream r(ts: long, k: string default "none", v: double unit km default -500 m) from json "r" punctuated on ts;
again := r;
"""


def test_a_source_with_defaults_is_read_by_its_name() -> None:
    text = (
        FILLED
        + """
accent r [[k = a, unit(v, mile)]];
accent again [[unit(v, m)]];
both := r join (rename[k as k2, v as v2](again)) on ts;
r_filled := select[v > 1](r);
emit r to json "o"; emit r to json "p"; emit both to json "b"; emit r_filled to json "f";
"""
    )
    plan = compile_query(text).plan
    (source,) = plan.sources
    assert (source.name, len(source.accents)) == ("r", 2)
    assert str(source.attributes[1]) == 'k: string default "none"'
    assert [(emit.name, emit.relation) for emit in plan.emits] == [
        ("r", "r_filled_2"),
        ("r_2", "r_filled_2"),
        ("both", "both"),
        ("r_filled", "r_filled"),
    ]
    assert list(plan.start["r_filled_2"].types) == ["ts", "k", "v"]
    reference = Reference(plan)
    (outputs,) = reference.step([("r", {"ts": 1})])
    assert [*outputs["r"].canonical] == [{"ts": 1, "k": "none", "v": -0.5}]


def test_defaults_are_laid_out_at_the_end() -> None:
    v = 'v: decimal(9, 2) from "a.v" unit km in [0, 5] default -1.5'
    text = f'stream r({v}, b: boolean default true) from json "r";\n'
    assert format_query(parse_query(text)).replace("\n ", "") == text


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("v?: double default 0", "RQ601"),
        ("v: list of double default 0", "RQ601"),
        ('v: version default "1.0"', "RQ601"),
        ('v: double unit from u in {m, km}, u: string default "m"', "RQ601"),
        ("v: int default 1.5", "RQ103"),
        ("v: int default 3000000000", "RQ103"),
        ("v: decimal(4, 2) default 1.555", "RQ103"),
        ('v: double default "a"', "RQ103"),
        ('v: timestamp default "noon"', "RQ103"),
        ("v: double unit m default 1 kg", "RQ142"),
        ("v: double default 1 m", "RQ142"),
        ("v: double default none", "RQ010"),
    ],
)
def test_a_default_is_a_value_of_an_attribute_that_a_projection_can_fill(declared: str, code: str) -> None:
    text = f'stream r(ts: long, {declared}) from json "r"; emit r to json "o";'
    assert [error.code for error in errors_of(lambda: compile_query(text))] == [code]


@pytest.mark.parametrize(
    "text",
    [
        'stream r(ts: long, s: int default 1) from kafka "h:1/t" partitioned by s; emit r to json "o";',
        'stream r(id: long default 1) from kafka "h:1/t" format debezium by id; emit r to json "o";',
        'operator f(a) returns (v: double default 0) from "m:f";table r(s: int) from json "r"; emit f(r) to json "o";',
    ],
)
def test_what_is_read_before_a_default_or_computed_has_none(text: str) -> None:
    assert [error.code for error in errors_of(lambda: compile_query(text))] == ["RQ601"]


@pytest.mark.parametrize("default", ["default 0", "unit m default 0", "= 0"])
def test_an_accent_has_no_default(default: str) -> None:
    text = f"[[k = a, +(x: decimal(9, 2) {default})]]"
    (error,) = errors_of(lambda: parse_accent(text))
    assert error.span is not None
    assert (error.code, text[error.span.start : error.span.end]) == ("RQ600", default.split()[-2])
    assert error.help is not None
    assert "`x: decimal default ...`" in error.help
