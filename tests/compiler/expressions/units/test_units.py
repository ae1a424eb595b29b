"""Units: what pint is asked, and what a query with units is by hand."""

import subprocess
import sys
from fractions import Fraction

import pytest
from attrs import evolve

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.units import units
from cedilla.compiler.operators import Aggregate, Project
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.diagnostics import DiagnosticError

HEAD = """
stream r(ts: long unit s, at: timestamp, until: timestamp, s: int, t: double unit degF, v: double unit "km/h",
         b: long unit byte, w: double unit deg, x: double)
  from json "r";
stream c(ts: long unit ms, s: int, t: double unit degC, v: double unit "m/s") from json "c";
"""


@pytest.mark.parametrize(
    ("source", "target", "slope", "shift"),
    [
        ("degF", "degC", "5/9", "-160/9"),
        ("Cel", "[degF]", "9/5", "32"),
        ("degC", "kelvin", "1", "273.15"),
        ("ms", "s", "1/1000", "0"),
        ("By", "kibibyte", "1/1024", "0"),
        ("hPa", "Pa", "100", "0"),
        ("mi", "km", "25146/15625", "0"),
        ("lb", "kg", "0.45359237", "0"),
        ("m/s2", "km/h**2", "12960", "0"),
        ("%", "1", "1/100", "0"),
        ("mm[Hg]", "Pa", "133.322387415", "0"),
        ("dBm", "dBW", "1", "-30"),
        ("dBV", "dBmV", "1", "60"),
        ("B[W]", "dBW", "10", "0"),
    ],
)
def test_conversions_are_exact(source: str, target: str, slope: str, shift: str) -> None:
    assert units.conversion(source, target) == Affine(Fraction(slope), Fraction(shift))


@pytest.mark.parametrize(
    ("source", "target"), [("m", "s"), ("dB", "percent"), ("mW", "dBm"), ("degC", "delta_degC")]
)
def test_what_is_no_increasing_line_is_no_conversion(source: str, target: str) -> None:
    with pytest.raises(units.Mismatch):
        units.conversion(source, target)


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a b", "3m", "10*m", "m;", "9**9**9", "m**(9**9)", "m**1e9", "1/0", "(", "]", "x" * 99),
        *("bananas", "m**s", "{", "\x00", "None", "m**9999", "__import__"),
    ],
)
def test_odd_names_are_no_units(name: str) -> None:
    with pytest.raises(units.UnknownUnit):
        units.check(name)


# --- the plan of a query with units is that of the query with the conversions by hand ---


@pytest.mark.parametrize(
    ("expression", "by_hand"),
    [
        ("select[t > 30 degC](r)", "select[t > 86](r)"),
        ("select[t > -40 degC](r)", "select[t > -40](r)"),
        ("select[30 Cel < t](r)", "select[86 < t](r)"),
        ("select[t > 50 kelvin](r)", "select[t > -369.67](r)"),
        ("select[t > 20](r)", "select[t > 20](r)"),
        ("select[t in [0 degC, 37 degC)](r)", "select[t in [32, 98.6)](r)"),
        ("select[t not in {0 degC, 50}](r)", "select[t not in {32, 50}](r)"),
        ("select[t between -5 degC and 40](r)", "select[t between 23 and 40](r)"),
        ("select[t not between -5 degC and -1 degC](r)", "select[t not in [23, 30.2]](r)"),
        ("select[v > 10 \"m/s\"](r)", "select[v > 36](r)"),
        ("select[v in (, 1 \"m/min\"]](r)", "select[v in (, 0.06]](r)"),
        ("select[t in [1 kelvin, 50 degC)](c)", "select[t in [-272.15, 50)](c)"),
        ("select[v < 1 \"mi/h\"](c)", "select[v < 0.44704](c)"),
        ("select[v < 1 \"km/h\"](c)", "select[v < 5 / 18](c)"),
        ("select[v in {1 \"km/h\", 2}](c)", "select[v = 5 / 18 or v = 2](c)"),
        ("select[v not in [1 \"km/h\", 2)](c)", "select[not (v >= 5 / 18 and v < 2)](c)"),
        ("select[ts > 5 minutes](c)", "select[ts > 300000](c)"),
        ("select[until - at > 5 minutes](r)", "select[until - at > 5 minutes](r)"),
        ("select[until - at > 5 min](r)", "select[until - at > 300](r)"),
        ("select[x > 5 minutes](r)", "select[x > 5 minutes](r)"),
        ("select[b > 1 KiB](r)", "select[b > 1024](r)"),
        ("extend[t - 20 degC as d](r)", "extend[t - 68 as d](r)"),
        ("extend[t + 5 delta_degC as d](r)", "extend[t + 9 as d](r)"),
        ("extend[v + 1 \"m/s\" as d](r)", "extend[v + 3.6 as d](r)"),
        ("extend[v / 1 hour as d](r)", "extend[v / 1 hour as d](r)"),
        ("extend[greatest(v, 1 \"m/s\", 5) as d](r)", "extend[greatest(v, 3.6, 5) as d](r)"),
        ("extend[x * 2 km + 500 m as d](r)", "extend[x * 2 km + 0.5 as d](r)"),
        ("select[x * 1 km < 500 m](r)", "select[x * 1 km < 0.5](r)"),
        ("extend[t as d unit degC](r)", "extend[affine(t, 5, -160, 9) as d](r)"),
        ("extend[x as d unit degC](r)", "extend[x as d](r)"),
        ("extend[if(t > 0 degC, t, 0 degC) as d](r)", "extend[if(t > 32, t, 32) as d](r)"),
        ("extend[exp(x) as d, ln(50 percent) as e](r)", "extend[exp(x) as d, ln(0.5) as e](r)"),
        ("extend[timestamp_seconds(ts) as d](c)", "extend[timestamp_seconds(ts / 1000) as d](c)"),
        ("extend[degrees(atan2(v, v)) > w as d](r)", "extend[degrees(atan2(v, v)) > w as d](r)"),
        ("window[5 minutes on ts as k](c)", "window[300000 on ts as k](c)"),
        ("session[1 hour on ts per s as k](r)", "session[3600 on ts per s as k](r)"),
        ("aggregate[count(x where t > 30 degC) as n by s](r)", "aggregate[count(x where t > 86) as n by s](r)"),
    ],
)  # fmt: skip
def test_units_are_arithmetic(expression: str, by_hand: str) -> None:
    plan = compile_query(f'{HEAD}emit {expression} to json "o";').plan
    operators = [evolve(o, differences=()) if isinstance(o, Project) else o for o in plan.operators]
    assert operators == [*compile_query(f'{bare(HEAD)}emit {by_hand} to json "o";').plan.operators]


def test_differences_of_points_of_a_scale_are_known_as_such() -> None:
    """An Alter scales them, and nothing else: others go through the same as what they are made of."""
    items = 't - 20 degC as a, (t - 5) as b, (60 degF - t) * 2 as c, t * 2 as d, v - 1 "m/s" as e, v * 2 as f'
    (project,) = compile_query(f'{HEAD}emit project[{items}](r) to json "o";').plan.operators
    assert isinstance(project, Project)
    assert project.differences == ("a", "c")
    calls = 'avg(t - 20 degC) as a, max(t) as b, sum(60 degF - t) as c, avg(v - 1 "m/s") as d'
    (aggregate,) = compile_query(f'{HEAD}emit aggregate[{calls} by s](r) to json "o";').plan.operators
    assert isinstance(aggregate, Aggregate)
    assert aggregate.differences == ("a", "c")


def bare(text: str) -> str:
    """Declarations without their units."""
    words = text.split(" unit ")
    return words[0] + "".join(word[min(word.index(c) for c in ",)" if c in word) :] for word in words[1:])


@pytest.mark.parametrize(
    ("relation", "attribute", "unit"),
    [
        ("extend[v * 2 as y](r)", "y", "km/h"),
        ("extend[v * x as y](r)", "y", None),
        ("extend[t * 2 as y](r)", "y", None),
        ("extend[t - t as y](r)", "y", "delta_degF"),
        ("extend[v / v as y](r)", "y", "dimensionless"),
        ("extend[v * v as y](r)", "y", "kilometer**2/hour**2"),
        ("extend[sqrt(v * v) as y](r)", "y", "kilometer/hour"),
        ("extend[1 / ts as y](r)", "y", "1/second"),
        ("extend[until - at as y](r)", "y", "second"),
        ("extend[round(t) as y](r)", "y", "degF"),
        ("extend[string(t) as y](r)", "y", None),
        ("extend[30 degC as y](r)", "y", "degC"),
        ("extend[x * 1 km as y](r)", "y", "km"),
        ("extend[1 km * round(x, 1) as y](r)", "y", "km"),
        ("extend[x / 1 km as y](r)", "y", "1/kilometer"),
        ("extend[x * (1 km + 500 m) as y](r)", "y", "km"),
        ("extend[x * -1 km as y](r)", "y", "km"),
        ("extend[x * 1 km * 2 as y](r)", "y", "km"),
        ("extend[x * 1 km / 5 minutes as y](r)", "y", "kilometer/second"),
        ("extend[1 km / x as y](r)", "y", "km"),
        ("extend[x * 5 minutes as y](r)", "y", "second"),
        ("extend[x * 90 degree as y](r)", "y", "degree"),
        ("extend[x * 1 delta_degC as y](r)", "y", "delta_degC"),
        ("extend[x as y unit degC](r)", "y", "degC"),
        ("extend[t as y unit degC](r)", "y", "degC"),
        ("project[t * 2 as y unit degF](r)", "y", "degF"),
        ("rename[y as z](project[x * 1 km as y](r))", "z", "km"),
        ("aggregate[max(x * 1 km) as y by s](r)", "y", "km"),
        ("rename[t as y](r)", "y", "degF"),
        ("rename[t as y](r)", "t", None),
        ("project[t](r)", "t", "degF"),
        ("project[x](r)", "t", None),
        ("project[case when x > 0 then x * 1 km else x * 1 mile end as y](r)", "y", "km"),
        ("distinct[s](sort[t](r))", "t", "degF"),
        ("r left join rename[t as u, ts as at2, v as z](c) on s", "u", "degC"),
        ("r semi join rename[t as u](c) on s", "u", None),
        ("r union c", "t", "degF"),
        ("c union r", "v", "m/s"),
        ("window[60 on ts as [b1, e1]](r)", "e1", "s"),
        ("session[60 on ts per s as k](r)", "k", "s"),
        ("aggregate[avg by s](r)", "t", "degF"),
        ("aggregate[count by s](r)", "t", None),
        ("aggregate[var(t) as y by s](r)", "y", "delta_degree_Fahrenheit**2"),
        ("aggregate[var_pop(v) as y by s](r)", "y", "kilometer**2/hour**2"),
        ("aggregate[stddev_pop(t) as y by s](r)", "y", "delta_degF"),
        ("aggregate[arg_min(t, v) as y by s](r)", "y", "degF"),
        ("aggregate[covar(t, v) as y by s](r)", "y", "delta_degree_Fahrenheit*kilometer/hour"),
        ("aggregate[covar(x, v) as y by s](r)", "y", None),
        ("aggregate[max(t) - min(t) as y by s](r)", "y", "delta_degF"),
        ("aggregate[sum(v) / count() as y by s](r)", "y", None),
    ],
)
def test_relations_have_units(relation: str, attribute: str, unit: str | None) -> None:
    plan = compile_query(f'{HEAD}emit {relation} to json "o";').plan
    assert plan.units_of(plan.emits[0].relation).get(attribute) == unit


@pytest.mark.parametrize(
    ("relation", "converted"),
    [
        ("r union c", ["ts * 0.001 as ts, affine(t, 9, 160, 5) as t, affine(v, 18, 0, 5) as v | c"]),
        ("c minus r", ["ts * 1000 as ts, affine(t, 5, -160, 9) as t, affine(v, 5, 0, 18) as v | r"]),
        ("c intersect c", []),
        ("r join rename[s as q, v as z, t as u](c) on ts", ["ts * 0.001 as ts | rename"]),
        ("r join rename[s as q, v as z, ts as k](c) on t", ["affine(t, 9, 160, 5) as t | rename"]),
        ("r join rename[v as z, t as u, ts as m](c) on ts = m and s", ["m * 0.001 as m | rename"]),
    ],
)
def test_inputs_are_brought_to_one_unit(relation: str, converted: list[str]) -> None:
    """The right one to that of the left, also where its whole numbers become decimals."""
    plan = compile_query(f'{HEAD}emit {relation} to json "o";').plan
    made = [operator for operator in plan.operators if isinstance(operator, Project) and operator.convert]
    assert [f"{', '.join(map(str, o.parameters()['items'][1:]))} | {o.inputs[0]}" for o in made] == converted  # type: ignore[index]


def test_pairs_may_name_the_inputs_of_a_join() -> None:
    plan = compile_query(
        f'{HEAD}k := rename[v as z, t as u, ts as m](c);\nemit r join k on r.ts = k.m and s to json "o";'
    ).plan
    assert plan.operator_of["converted"].inputs == ("k",)


def test_a_given_constant_keeps_the_unit_of_the_one_that_is_declared() -> None:
    text = f'{HEAD}let hot = 30 degC;\nemit select[t > hot](r) to json "o";'
    for hot, limit in (("40", "t > 104"), ("40 degF", "t > 40")):
        plan = compile_query(text, params={"hot": hot}).plan
        assert plan.operators[0].parameters()["predicate"] == limit


def test_domains_are_in_the_unit_of_their_attribute() -> None:
    text = 'stream r(t: double unit degF in [0 degC, 40 degC)) from json "r"; emit r to json "o";'
    (attribute,) = compile_query(text).plan.sources[0].attributes
    assert str(attribute) == "t: double unit degF in [32, 104)"
    with pytest.raises(DiagnosticError, match="RQ142"):
        compile_query(text.replace("unit degF ", ""))


@pytest.mark.rest
def test_a_query_without_units_does_not_load_pint() -> None:
    code = (
        "import sys; from cedilla.compiler.compile import compile_query;"
        'compile_query(\'stream r(a: timestamp, b: timestamp, x: double) from json "r";'
        "emit extend[(a - b) / 1 hour as h, atan(x) * 2 as y, (a - b) * (a - b) as z]"
        '(select[a - b > 5 minutes](r)) to json "o";\');'
        "print('pint' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("clause", "code"),
    [
        ("t in degC", None),
        ("t in degC, v in mph", None),
        ("t in hPa", "RQ142"),
        ("x in degC", "RQ142"),
        ("t in bananas", "RQ143"),
        ("at in s", "RQ144"),
        ("y in degC", "RQ102"),
        ("t in degC, t in degF", "RQ104"),
    ],
)
def test_outputs_have_units_of_their_own(clause: str, code: str | None) -> None:
    text = f'{HEAD}a := select[t > 30 degC](r); emit a to json "o" with {clause}; emit a to json "p";'
    if code is None:
        plan = compile_query(text).plan
        assert [emit.name for emit in plan.emits] == ["a", "a_2"]
        assert [emit.relation for emit in plan.emits] == ["a_in_units", "a"]
        return
    with pytest.raises(DiagnosticError) as caught:
        compile_query(text)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ("u: string, t: double unit from u in {degF, degC}", None),
        ("u: string, t: double unit from u in {degF, degC} in [0 degC, 40 degC)", None),
        ("u: string, t: double unit from u in {degF, m}", "RQ142"),
        ("u: string, t: double unit from u in {degF, bananas}", "RQ143"),
        ("u: string, t: long unit from u in {degF, degC}", "RQ144"),
        ("u: string, t?: double unit from u in {degF, degC}", None),
        ("u: long, t: double unit from u in {degF, degC}", "RQ103"),
        ("u?: string, t: double unit from u in {degF, degC}", None),
        ("u: string, t: double unit from w in {degF, degC}", "RQ102"),
    ],
)
def test_tuples_name_units(attributes: str, code: str | None) -> None:
    text = f'stream r({attributes}) from json "r"; emit select[t > 30 degC](r) to json "o";'
    if code is None:
        plan = compile_query(text).plan
        assert plan.operators[0].parameters()["predicate"] == "t > 86"
        optional = {a.name for a in plan.source_of["r"].attributes if a.optional}
        assert plan.droppable["r"] == optional
        return
    with pytest.raises(DiagnosticError) as caught:
        compile_query(text)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {code}


@pytest.mark.parametrize(
    "expression",
    [
        *("x * 1 degC", "1 degC * x", "double(string(x)) * 1 degF", "x / 1 degC", "2 * 1 degC", "t * 1 degC"),
        *(
            "if(x > 0, v, v * x)",
            "greatest(v, v / x)",
            "coalesce(-t, t)",
            "case when x > 0 then t * 2 else t end",
        ),
        *("v + pow(v, x)", "if(x > 0, t, floor(t / 5) * 5)", "v % (v * x)", "nullif(t, abs(t / 2))"),
    ],
)
def test_a_lost_unit_is_an_error_where_it_is_needed(expression: str) -> None:
    with pytest.raises(DiagnosticError, match="RQ163") as caught:
        compile_query(f'{HEAD} emit project[{expression} as y](r) to json "o";')
    (diagnostic,) = caught.value.diagnostics
    assert " unit " in (diagnostic.help or "")


@pytest.mark.parametrize(
    "relation",
    [
        *(
            "select[x < t](r)",
            "extend[if(x > 0, x, v) as y](r)",
            "extend[v + x as y](r)",
            "extend[v - x as y](r)",
        ),
        *("extend[coalesce(t, x) as y](r)", "extend[case when s = 1 then t else x end as y](r)"),
        *("extend[greatest(x, v) as y](r)", "extend[hypot(v, x) as y](r)", "select[b < s](r)"),
    ],
)
def test_a_number_without_a_unit_that_meets_one_in_a_unit_is_warned_of(relation: str) -> None:
    actual = compile_query(f'{HEAD} emit {relation} to json "o";').warnings
    assert [diagnostic.code for diagnostic in actual] == ["RQ162"]


@pytest.mark.parametrize("relation", ["select[x < 5](r)", "select[t < 5](r)", "select[until - at > x](r)"])
def test_plain_numbers_meet_all_that_they_may(relation: str) -> None:
    assert compile_query(f'{HEAD} emit {relation} to json "o";').warnings == ()


@pytest.mark.parametrize(
    ("item", "code"),
    [("v as y unit degC", "RQ142"), ("x as y unit bananas", "RQ143"), ("string(x) as y unit m", "RQ144")],
)
def test_a_unit_is_given_to_numbers_of_its_dimension(item: str, code: str) -> None:
    with pytest.raises(DiagnosticError, match=code):
        compile_query(f'{HEAD} emit project[{item}](r) to json "o";')


@pytest.mark.parametrize(
    "call",
    [
        "aggregate[sum(t) as total by s](r)",
        "rename[t as total](aggregate[sum by s except at, until](r))",
    ],
)
@pytest.mark.parametrize(
    "use",
    ['emit q to json "q" with total in degC;', 'warm := select[total > 30 degC](q); emit warm to json "q";'],
)
def test_a_sum_of_temperatures_on_a_scale_is_in_no_unit(call: str, use: str) -> None:
    """Converted as one temperature, the sum of n would be beside by n - 1 times the zero of the scale."""
    with pytest.raises(DiagnosticError, match="RQ142"):
        compile_query(f"{HEAD} q := {call}; {use}")
    compile_query(f"{HEAD} q := {call.replace('sum', 'avg')}; {use}")


def test_a_sum_of_speeds_is_in_their_unit() -> None:
    query = compile_query(f'{HEAD} q := aggregate[sum(v) as total by s](r); emit q to json "q";')
    assert query.plan.units_of("q") == {"total": "km/h"}
