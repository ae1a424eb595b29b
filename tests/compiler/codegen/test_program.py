"""A program's flow names nothing that Python or its own head names, and calls the epoch in the plan's order."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest

from cedilla import compile_query
from cedilla.compiler.codegen.program import calls_of_epoch, flow_text, variables
from tests.kit import ROOT
from tests.kit.tiers import tiered

QUERIES = sorted((ROOT / "queries").rglob("*.rq"))
NAMES = ("sum", "filter", "F", "all_but", "epoch", "select", "select_2", "join", "class", "flow", "a")


def test_no_variable_shadows_a_name() -> None:
    chosen = variables(NAMES)
    assert len({*chosen.values()}) == len(NAMES)
    assert {*chosen.values()}.isdisjoint(vars(builtins))
    assert chosen["select"] == "after_select"
    assert chosen["select_2"] == "after_select_2"
    assert chosen["a"] == "a"


@pytest.mark.parametrize("path", tiered(QUERIES, count=6), ids=lambda path: path.stem)
def test_calls_of_the_epoch_are_in_the_order_of_the_plan(path: Path) -> None:
    plan = compile_query(path).plan
    names = {
        variable: name
        for name, variable in variables(n.name for n in (*plan.sources, *plan.operators)).items()
    }
    called: list[str] = []
    for statement in ast.walk(ast.parse(flow_text(plan))):
        match statement:
            case ast.Assign([ast.Name(variable)], ast.Call(ast.Attribute(ast.Name("epoch"), method))):
                called += [names[variable]] if method not in ("read", "cached") else []
            case _:
                pass
    assert tuple(called) == calls_of_epoch(plan)


QUERY = re.compile(r"```rq\n(stream pumps.*?)```", re.DOTALL)
PROGRAM = re.compile(r"^\w+ = epoch\..*$", re.MULTILINE)


def test_programs_of_pages_are_those_of_their_queries() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    running = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    query = QUERY.search(readme)
    assert query is not None
    sensors = (ROOT / "queries" / "sensors.rq").read_text(encoding="utf-8")
    for page, text in ((readme, query[1]), (running, sensors)):
        flow = flow_text(compile_query(text).plan)
        shown = PROGRAM.findall(page)
        assert len(shown) >= 2
        assert [line for line in shown if f"    {line}  #" not in flow] == []
