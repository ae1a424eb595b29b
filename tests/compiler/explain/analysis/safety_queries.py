"""Queries whose state is bounded or not, and what closes their groups."""

from __future__ import annotations

from attrs import evolve

from cedilla.compiler import regions
from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.safety import promised, vacancies
from cedilla.compiler.facts.facts import Facts, StateFacts
from cedilla.compiler.facts.schemes import Scheme
from cedilla.compiler.plan import Plan

SOURCES = """
stream a(ts: long, k: int in {1, 2}, u: long, v: double, o?: long) from json "a" punctuated on ts, k punctuated on u;
stream b(ts: long, k: int, w: double) from json "b" punctuated on ts punctuated on k, w;
stream c(ts: long, k: int, v: double) from json "c" heartbeat ts delay 5;
table d(k: int, name: string) from json "d";
stream e(at: timestamp, k: int, v: double, xs?: list of double) from json "e" punctuated on at;
operator smooth(R) foundation {ts} accumulate {v} from "module:function";
"""


_DAY = 86_400_000_000
"""Microseconds: times are closed by days, so that windows of a calendar are."""


def compiled(relation: str) -> Plan:
    return compile_query(f'{SOURCES}emit {relation} to json "out";').plan


def closed_below(scheme: Scheme, bound: int) -> regions.Tree:
    return regions.box({name: regions.interval(name, None, (bound, 0)) for name in scheme})


def kept_promises(plan: Plan, bound: int) -> dict[str, Facts]:
    """The facts of a plan whose sources have punctuated each scheme up to a bound, when no operator keeps a tuple of
    theirs any more."""
    facts = {
        source.name: evolve(
            plan.start[source.name],
            closed=regions.union(
                *(
                    closed_below(scheme, bound * _DAY if "at" in scheme else bound)
                    for scheme in promised(source)
                )
            ),
        )
        for source in plan.sources
    }
    for operator in plan.operators:
        inputs = tuple(facts[name] for name in operator.inputs)
        vacant = (operator.vacant(vacancy, inputs, ()) for vacancy in vacancies(plan)[operator.name])
        facts[operator.name] = operator.facts(inputs, StateFacts(closed=regions.union(*vacant)))
    return facts
