"""Aggregates of angles: the circle comes from the unit, and functions that know of none are warned of."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.compiler.operators import Aggregate
from cedilla.grammar import DiagnosticError
from tests.kit.command import cedilla

HEAD = """
stream r(ts: long unit s, h: double unit degree, a: double unit rad, g: double unit gon, m: int unit arcmin,
         v: double unit "km/h", w: double unit rpm, x: double, y: double) from json "r" punctuated on ts;
"""


@pytest.mark.parametrize(
    ("call", "planned", "unit"),
    [
        ("avg_angle(h)", "avg_angle(h, 360)", "degree"),
        ("avg_angle(h * 2)", "avg_angle(h * 2, 360)", "degree"),
        ("avg_angle(a)", "avg_angle(a, 6.283185307179586)", "rad"),
        ("avg_angle(g)", "avg_angle(g, 400)", "gon"),
        ("avg_angle(m)", "avg_angle(m, 21600)", "arcmin"),
        ("avg_angle(m, 21600)", "avg_angle(m, 21600)", "arcmin"),
        ("avg_angle(x, 24)", "avg_angle(x, 24)", None),
        ("avg_angle(atan2(x, y))", "avg_angle(atan2(x, y), 6.283185307179586)", "radian"),
    ],
)
def test_the_circle_is_that_of_the_unit(call: str, planned: str, unit: str | None) -> None:
    plan = compile_query(f'{HEAD}q := aggregate[{call} as y by ts](r); emit q to json "o";').plan
    (aggregate,) = plan.operators
    assert isinstance(aggregate, Aggregate)
    assert str(aggregate.calls["y"]) == planned
    assert plan.units_of("q").get("y") == unit


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("avg_angle(x)", "RQ160"),
        ("avg_angle(v)", "RQ160"),
        ("avg_angle(w)", "RQ160"),
        ("avg_angle(a, 360)", "RQ160"),
        ("avg_angle(h, 360 degree)", "RQ160"),
        ("avg_angle(x, 0)", "RQ109"),
        ("avg_angle(x, y)", "RQ109"),
        ("avg_angle()", "RQ109"),
        ("avg_angle(distinct x, 360)", "RQ109"),
        ("mean_angle(h)", "RQ109"),
    ],
)
def test_what_is_no_angle_is_refused(call: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_query(f'{HEAD}emit aggregate[{call} as y by ts](r) to json "o";')
    (problem,) = caught.value.diagnostics
    assert problem.code == code
    assert problem.help


@pytest.mark.parametrize(
    ("relation", "warned"),
    [
        ("aggregate[avg(h) as y by ts](r)", 1),
        ("aggregate[sum(h) as y by ts](r)", 1),
        ("aggregate[avg(a * 2) as y, median(g) as z by ts](r)", 2),
        ("aggregate[avg(h) * 2 as y by ts](r)", 1),
        ("aggregate[avg by ts except x, y, v](r)", 4),
        ("aggregate[max by ts except x](r)", 0),
        ("aggregate[avg(atan2(x, y)) as y by ts](r)", 1),
        ("aggregate[avg_angle(h) as y, max(h) as z, avg(v) as u, avg(x) as t, avg(w) as s by ts](r)", 0),
        ("aggregate[avg(h) weighted by duration as y by u](window[9 on ts as u](r))", 1),
        ("aggregate[avg(v) weighted by duration as y by u](window[9 on ts as u](r))", 0),
        ("aggregate[increase(h) as y by u](window[9 on ts as u](r))", 0),
        ("aggregate[avg(h / 1 degree) as y by ts](r)", 0),
        ("aggregate[avg(sin(h)) as y by ts](r)", 0),
    ],
)
def test_a_function_that_knows_no_circle_is_warned_of(relation: str, warned: int) -> None:
    text = f'{HEAD}emit {relation} to json "o";'
    actual = [warning for warning in compile_query(text).warnings if warning.code == "RQ159"]
    assert len(actual) == warned
    assert all("avg_angle(" in (warning.help or "") for warning in actual)
    lenient, strict = (cedilla("check", "-", *more, text=text) for more in ([], ["--strict"]))
    assert (lenient.exit_code, strict.exit_code) == (0, 1 if warned else 0), strict.output
