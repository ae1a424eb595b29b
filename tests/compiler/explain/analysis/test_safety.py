"""The state-safety check: promised schemes against the closed regions that the operators' own facts give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.compiler.explain.analysis.safety import safety
from cedilla.compiler.facts.schemes import without_finite
from cedilla.compiler.operators import OPERATORS, Limit, Operator, Session
from cedilla.compiler.operators.join import Matching
from tests.compiler.explain.analysis.safety_queries import closed_below, compiled, kept_promises
from tests.kit import ROOT
from tests.laws.operators import OPERATORS as LAWS

RELATIONS = (
    "select[v > 0](a)",
    "sample[1 in 10 by k, u](a)",
    "project[ts, v](a)",
    "project[u * 2 as twice, k](a)",
    "a union c",
    "a union b",
    "a join d on k",
    "(rename[ts as when](a)) join b on k",
    "(rename[ts as when, k as kk](a)) join b on kk = k",
    "window[10 on ts as wid](a)",
    "window[10 every 5 on ts as wid](b)",
    "aggregate[avg(v) as m by k, wid](window[10 on ts as wid](a))",
    "aggregate[avg by ts, w except k](b)",
    "distinct(a)",
    "distinct[ts](b)",
    "c intersect project[ts, k, v](a)",
    "c minus project[ts, k, v](a)",
    "a left join d on k",
    "(rename[ts as when](c)) left join b on k",
    "b semi join c on k",
    "c anti join rename[w as x](b) on k",
    "sort[ts, k](b)",
    "top[2 by v per u](a)",
    "rename[ts as at](c)",
    "window[3 rows per ts as n](c)",
    "smooth(c)",
    "running[row_number() as n, lag(v, 3) as three_before, nth(v, 2) as second, first(v) as begun per k on ts](c)",
    "running[rank() as place, dense_rank() as level per k, ts on v desc](c)",
    "running[rank() as place on ts, k desc](b)",
    "running[first(v) as begun, max(v) as most per k on at over last 5 rows](e)",
    "running[sum(v) as lately on at over last 10 minutes](e)",
    'aggregate[count() as n by begin, k](window[1 day on at zone "Europe/Berlin" as [begin, end]](e))',
    'aggregate[count() as n by month](window[1 month on at zone "Europe/Berlin" as month](e))',
    "aggregate[avg(x) as m by at](unnest[xs as x](e))",
    "aggregate[max(size(xs)) as most by at, k](e)",
    *(law.SAFE for law in LAWS.values()),
)
"""Every operator whose facts follow from those of its inputs; sessions and limits need to know their state."""


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_is_promised_gets_closed(relation: str) -> None:
    plan = compiled(relation)
    facts = kept_promises(plan, 1000)
    for operator in plan.operators:
        after = facts[operator.name]
        for scheme in safety(plan).schemes[operator.name]:
            open_yet = regions.difference(closed_below(scheme, 20), after.closed)
            assert regions.is_empty(open_yet, after.universe), (operator.name, scheme)


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_is_not_promised_stays_open(relation: str) -> None:
    """No scheme is missed: every single attribute of the output that is closed is a scheme."""
    plan = compiled(relation)
    facts = kept_promises(plan, 1000)
    for operator in plan.operators:
        after = facts[operator.name]
        schemes = safety(plan).schemes[operator.name]
        for name, type_ in after.types.items():
            scheme = without_finite(frozenset({frozenset({name})}), after)
            if type_.is_numeric and not any(s <= next(iter(scheme)) for s in schemes):
                open_yet = regions.difference(closed_below(frozenset({name}), 20), after.closed)
                assert not regions.is_empty(open_yet, after.universe), (operator.name, name)


@pytest.mark.parametrize("relation", [r for r in RELATIONS if " join " in r])
def test_a_bounded_join_purges_what_the_other_input_closes(relation: str) -> None:
    plan = compiled(relation)
    facts = kept_promises(plan, 1000)
    joins = [operator for operator in plan.operators if isinstance(operator, Matching)]
    for join in joins:
        inputs = tuple(facts[name] for name in join.inputs)
        for bound in safety(plan).of(join.name):
            side = 1 - bound.memory.side
            purged, mine = join.purge(inputs)[side], inputs[side]
            below = regions.box({n: regions.interval(n, None, (20, 0)) for n in join.keys(side)})
            kept = regions.difference(below, purged)
            if bound.because.startswith("until"):
                assert regions.is_empty(kept, mine.universe), (join.name, bound.memory.what)
            elif bound.verdict == "unbounded":
                assert not regions.is_empty(kept, mine.universe), (join.name, bound.memory.what)


def test_the_relations_hold_every_operator() -> None:
    classes: set[type[Operator]] = {type(o) for r in RELATIONS for o in compiled(r).operators}
    assert set(OPERATORS) - {Limit, Session} <= classes


@pytest.mark.parametrize("path", sorted((ROOT / "queries").glob("*.rq")), ids=lambda path: path.stem)
def test_the_queries_keep_their_state_bounded(path: Path) -> None:
    plan = compile_query(path.read_text(encoding="utf-8")).plan
    assert findings(plan) == ()
    assert {bound.verdict for bound in safety(plan).bounds} <= {"bounded"}


SENSORS = """
stream sensors(ts: long, s: int{domain}, t: double) from json "a"{first};
{kind} placement(s: int, l: string) from json "b"{second};
located := sensors join placement on s;
windows := window[300 on ts as wid](located);
average := aggregate[avg by l, wid except ts, s](windows);
emit average to json "out";
"""


def verdicts(**parts: str) -> list[str]:
    clauses = {
        "domain": " in {1, 2, 3}",
        "first": " punctuated on ts",
        "kind": "stream",
        "second": "",
        **parts,
    }
    text = SENSORS
    for name, value in clauses.items():
        text = text.replace(f"{{{name}}}", value)
    report = safety(compile_query(text).plan)
    return [b.verdict for b in report.bounds if not b.memory.accents]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"second": " punctuated on s"}, ["bounded", "bounded", "bounded"]),
        ({"kind": "table"}, ["bounded", "bounded", "bounded"]),
        # Nothing closes a sensor's placement, nothing that of an unknown number of sensors, no window without a time.
        ({}, ["unbounded", "unbounded", "unbounded"]),
        # Readings of an unknown number of sensors leave with the place of theirs, and their window is vacant then (J1).
        ({"second": " punctuated on s", "domain": ""}, ["bounded", "unbounded", "bounded"]),
        ({"kind": "table", "first": ""}, ["bounded", "bounded", "unbounded"]),
        ({"second": " punctuated on l"}, ["unbounded", "unbounded", "bounded"]),
        # Placements of three sensors whose promise is only that they end together.
        (
            {"second": " punctuated on s", "first": " heartbeat ts delay 10"},
            ["bounded", "bounded", "bounded"],
        ),
    ],
)
def test_each_clause_of_the_papers_query_counts(parts: dict[str, str], expected: list[str]) -> None:
    assert verdicts(**parts) == expected


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_further_promise_never_hurts(relation: str) -> None:
    plan = compiled(relation)
    order = ("bounded", "bounded if accents stop", "unbounded")
    before = [order.index(bound.verdict) for bound in safety(plan).bounds]
    for source in plan.sources:
        for attribute in source.attributes:
            more = evolve(source, punctuated=(*source.punctuated, (attribute.name,)))
            sources: list[Any] = [more if s is source else s for s in plan.sources]
            after = [order.index(b.verdict) for b in safety(evolve(plan, sources=sources)).bounds]
            assert all(a <= b for a, b in zip(after, before, strict=True)), (source.name, attribute.name)


@pytest.mark.parametrize("relation", RELATIONS)
def test_promising_everything_bounds_everything(relation: str) -> None:
    plan = compiled(relation)
    ended = evolve(plan, sources=[evolve(source, punctuated=((),)) for source in plan.sources])
    assert {bound.verdict for bound in safety(ended).bounds} <= {"bounded"}
    assert findings(ended) == ()


def test_a_hint_is_a_clause_that_helps() -> None:
    plan = compile_query(SENSORS.format(domain="", first="", kind="stream", second="")).plan
    for finding in findings(plan):
        assert finding.help is not None
        assert finding.help.startswith("declare `punctuated on ")


def test_lists_have_no_domain_that_a_hint_could_name() -> None:
    text = """
    stream r(ts: long, tags?: list of string) from json "r" punctuated on ts;
    emit aggregate[count() as n by tag](unnest[tags as tag](r)) to json "out";
    """
    assert [f.code for f in findings(compile_query(text).plan)] == ["RQ130"]


def test_an_optional_attribute_closes_no_group_without_it() -> None:
    text = """
    stream r(ts: long, o{}: long, v: double) from json "r" punctuated on o;
    emit aggregate[avg(v) as m by o](r) to json "out";
    """
    assert [f.code for f in findings(compile_query(text.format("?")).plan)] == ["RQ130"]
    assert findings(compile_query(text.format("")).plan) == ()


@pytest.mark.parametrize(
    ("relation", "verdicts"),
    [
        ("running[rank() as place per k on ts](c)", ["bounded", "unbounded"]),
        ("running[rank() as place per k on ts](a)", ["bounded", "bounded"]),
        ("running[dense_rank() as level per k on v desc](a)", ["unbounded", "bounded"]),
        ("running[row_number() as n on v](a)", ["unbounded", "bounded"]),
        ("running[lag(v, 3) as before per u on ts](a)", ["bounded", "bounded"]),
        ("running[nth(v, 2) as second per k on ts](c)", ["bounded", "unbounded"]),
        ("running[avg(v) as m per k on ts over last 5 rows](c)", ["bounded", "unbounded"]),
        ("running[avg(v) as m per k on ts over last 5](c)", ["bounded", "bounded"]),
        ("running[avg(v) as m per k on u over last 5](c)", ["unbounded", "unbounded"]),
        ('aggregate[sum(v) as s by b](window[1 day on at zone "Asia/Tokyo" as [b, e]](t))', ["bounded"]),
        ('aggregate[sum(v) as s by b](window[1 day on other zone "Asia/Tokyo" as [b, e]](t))', ["unbounded"]),
        ("aggregate[avg(x) as m by x](unnest[xs as x](t))", ["unbounded"]),
        ("aggregate[collect(v) as all by s](t)", ["unbounded"]),
    ],
)
def test_state_of_ranks_frames_calendars_and_lists(relation: str, verdicts: list[str]) -> None:
    """Of tuples that wait, and of the last ones of each key; a frame of a length keeps nothing of a quiet key."""
    text = f"""
    stream a(ts: long, k: int in {{1, 2}}, u: long, v: double) from json "a" punctuated on ts punctuated on u;
    stream c(ts: long, k: long, u: long, v: double) from json "c" punctuated on ts;
    stream t(at: timestamp, other: timestamp, s: int in {{1, 2}}, v: double, xs?: list of double) from json "t"
      punctuated on at;
    emit {relation} to json "out";
    """
    bounds = [bound for bound in safety(compile_query(text).plan).bounds if not bound.memory.accents]
    assert [bound.verdict for bound in bounds] == verdicts


def test_groups_that_are_shown_while_open_are_written_without_a_promise() -> None:
    text = """
    stream r(ts: long, s: int in {{1, 2}}, v: double) from json "r" punctuated on ts;
    g := aggregate[count() as n, sum(v) as total by s](r);
    shown := project[s, n](g);
    emit shown as latest by s to json "out";
    {}
    """
    assert [finding.code for finding in findings(compile_query(text.format("")).plan)] == ["RQ132", "RQ132"]
    for other in ("g", "select[n > 1](shown)", "aggregate[sum(n) as n by s](g)"):
        reported = findings(compile_query(text.format(f'emit {other} to json "too";')).plan)
        assert "RQ131" in [finding.code for finding in reported], other


def test_a_full_count_window_needs_no_punctuation() -> None:
    text = """
    stream r(k: int in {1, 2}, v: double) from json "r";
    emit aggregate[median(v) as m by k, n](window[5 rows per k as n](r)) to json "out";
    """
    assert not any(f.severity == "warning" for f in findings(compile_query(text).plan))
