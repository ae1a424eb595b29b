"""An edited flow is refused by the argument that differs, with the text of a query that does it."""

from __future__ import annotations

import re

import pyspark.sql.functions
import pytest

from cedilla import compile_query
from cedilla.compiler.codegen.arguments import DISTINCT, FUNCTIONS
from cedilla.compiler.codegen.edits import check_flow
from cedilla.compiler.codegen.program import flow_text
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.plan import Plan
from tests.kit.errors import error_of

HEAD = """stream r(at: timestamp, k: string, n: int, t: double, l: list of string) from json "r" punctuated on at;
stream q(k: string, p: double) from json "q" punctuated on k;
"""

EDITS = {
    "window[5 minutes on at as w](r)": [
        ('"5 minutes"', '"1 hour"', "`length`", "window[1 hour on at as w](r)"),
        (
            '"5 minutes"',
            '"5 minutes", every="1 minute"',
            "`every`",
            "window[5 minutes every 1 minute on at as w](r)",
        ),
        ('name="w"', 'name=["b", "e"]', "`name`", "window[5 minutes on at as [b, e]](r)"),
    ],
    "r join q on k": [('["k"]', '["k", "t = p"]', "`on`", "r join q on k, t = p")],
    "r intersect all r": [("all=True", "", "`all`", "r intersect r")],
    "aggregate[avg by k except at, l](r)": [
        ('"at", "l"', '"at", "l", "n"', "`avg`", "aggregate[avg by k except at, l, n](r)"),
    ],
    "aggregate[quantile(t, 0.9) as high, count() as n, sum(t where n > 1) as some by k](r)": [
        (
            'percentile("t", 0.9)',
            'max("t")',
            "`high`",
            "max(t) as high, count() as n, sum(t where n > 1) as some by k",
        ),
        ('count("*")', 'count_distinct("n")', "`n`", "count(distinct n) as n, sum(t where n > 1)"),
        ("n > 1", "n > 2", "`some`", "sum(t where n > 2) as some"),
    ],
    "aggregate[sum(t) as by, count() as class by k](r)": [
        (
            '"class": F.count("*")',
            '"class": F.sum("n")',
            "`calls`",
            "aggregate[sum(t) as by, sum(n) as class by k](r)",
        ),
    ],
    "running[delta(t) as d per k on at](r)": [
        ("delta(t)", "lag(t)", "`d`", "running[lag(t) as d per k on at](r)"),
    ],
    "top[3 by t desc per k](r)": [("count=3", "count=5", "`count`", "top[5 by t desc per k](r)")],
    "sort[at, t desc](r)": [('"t desc"', '"t"', "`keys`", "sort[at, t](r)")],
    "limit[5](r)": [("5", "6", "`count`", "limit[6](r)")],
    "sample[1 in 10 by k](r)": [("of=10", "of=4", "`of`", "sample[1 in 4 by k](r)")],
    "session[90 seconds on at per k as s](r)": [
        ('"90 seconds"', '"2 minutes"', "`gap`", "session[2 minutes on at per k as s](r)"),
    ],
    "window[10 rows per k as c](r)": [("size=10", "size=9", "`size`", "window[9 rows per k as c](r)")],
    "unnest[l as e](r)": [('name="e"', 'name="f"', "`name`", "unnest[l as f](r)")],
    "rename[n as m](r)": [('"m"', '"o"', "`items`", "rename[n as o](r)")],
    "project[* except l](r)": [("except l", "except l, n", "`items`", "project[* except l, n](r)")],
    "select[n > 9](r)": [("n > 9", "n > 8", "`predicate`", "select[n > 8](r)")],
}
"""A relation -> edits of its program: the text before and after, the argument, and the relation that does it."""


def planned(relation: str) -> Plan:
    return compile_query(f'{HEAD}x := {relation};\nemit x to json "out";').plan


@pytest.mark.parametrize("relation", EDITS)
def test_an_edit_is_refused_by_its_argument_with_the_text_that_does_it(relation: str) -> None:
    plan = planned(relation)
    flow = flow_text(plan)
    check_flow(plan, flow)
    for before, after, argument, text in EDITS[relation]:
        assert flow.count(before) == 1, flow
        error = error_of(lambda b=before, a=after: check_flow(plan, flow.replace(b, a)))
        assert error.code == "RQ415"
        assert error.message.startswith(f"{argument} of `x` is "), error.message
        hint = re.search(r"`(.*)` in the `.rq` file", str(error.help))
        assert hint is not None
        assert text in hint[1]
        check_flow(planned(hint[1]), flow.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("epoch.join(r, q", "epoch.join(q, r"),
        ("epoch.join", "epoch.left_join"),
        ("x = ", "y = "),
        ('return {"x": x}', "return {}"),
        ("    return", "    print()\n    return"),
    ],
)
def test_other_edits_are_refused_too(before: str, after: str) -> None:
    plan = planned("r join q on k")
    flow = flow_text(plan)
    assert before in flow
    assert error_of(lambda: check_flow(plan, flow.replace(before, after))).code == "RQ415"


def test_functions_of_programs_are_of_spark_and_of_the_language() -> None:
    assert [
        name for name in (*FUNCTIONS.values(), DISTINCT) if not hasattr(pyspark.sql.functions, name)
    ] == []
    assert FUNCTIONS.keys() <= AGGREGATES.keys()
