"""Data points of OpenTelemetry: sums of cumulative ones and increases of deltas are refused (RQ161)."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from tests.kit.errors import errors_of

STREAM = """
stream r(time: timestamp, service: string from resource "service.name", count: long, sum: double, value: double,
         least?: double from "min", TELLING) from FORMAT punctuated on time;
"""
OPEN, DELTA = "temporality: string", 'temporality: string in {"delta"}'


def codes(relation: str, telling: str, format_: str = 'otlp "in"') -> list[str]:
    text = STREAM.replace("TELLING", telling).replace("FORMAT", format_)
    errors = errors_of(lambda: compile_query(f'{text}{relation.replace("EMIT", "emit")} to json "o";'))
    return [error.code for error in errors]


SUMS = [
    "EMIT aggregate[sum(count) as n by service](r)",
    "EMIT aggregate[sum(sum) / sum(count) as mean by service](r)",
    "EMIT aggregate[sum(value) as v by time](r)",
    "EMIT aggregate[sum(count + 1) as v by time](r)",
    "EMIT aggregate[sum(count * 2) as v by time](r)",
    "EMIT aggregate[sum(distinct count) as v by time](r)",
    "EMIT aggregate[sum by service except time, temporality](r)",
    "EMIT aggregate[sum(m) as v by w](window[1 minute on time as w](rename[count as m](select[count > 1](r))))",
    "EMIT aggregate[sum(m) as v by service](project[service, time, count * 1000 as m](r))",
    "EMIT aggregate[sum(count) as v by service](r union r)",
    "EMIT aggregate[sum(m) as v by service](project[service, time, if(sum > 1, count, 0) as m](r))",
    "EMIT aggregate[sum(m) as v by time](project[time, case when sum > 1 then coalesce(count, 0) else 0 end as m](r))",
    "EMIT running[sum(count) as n per service on time](r)",
    "EMIT aggregate[sum(before) as v by time](running[lag(count) as before per service on time](r))",
    "d := running[delta(sum) as s on time](r); EMIT aggregate[sum(count) as v by time](d)",
]


@pytest.mark.parametrize("relation", SUMS)
def test_a_sum_that_may_add_totals_is_refused(relation: str) -> None:
    assert codes(relation, OPEN) == ["RQ161"]
    assert codes(relation, 'temporality: string in {"delta", "cumulative"}') == ["RQ161"]
    assert codes(relation, OPEN, 'kafka_otlp "host:9092/topic"') == ["RQ161"]


@pytest.mark.parametrize("relation", SUMS)
def test_a_domain_that_leaves_totals_out_admits_it(relation: str) -> None:
    assert codes(relation, DELTA) == []


@pytest.mark.parametrize(
    ("relation", "telling"),
    [
        ('EMIT aggregate[sum(count) as n by service](select[temporality = "delta"](r))', OPEN),
        ('EMIT aggregate[sum(count) as n by service](select[temporality = "delta"](r))', "temporality?: string"),
        ('EMIT aggregate[sum(count) as n by service](select[temporality != "cumulative"](r))', OPEN),
        ('EMIT aggregate[sum(count where temporality = "delta") as n by service](r)', OPEN),
        ('d := select[t = "delta"](rename[temporality as t](r)); EMIT aggregate[sum(count) as n by time](d)', OPEN),
        ("EMIT aggregate[sum(value) as n by service](r)", 'kind: string in {"gauge"}'),
        ("EMIT aggregate[max(count) as n, avg(sum) as s, count() as c by service](r)", OPEN),
        ("EMIT aggregate[sum(least) as n by service](r)", OPEN),
        ("m := aggregate[max(count) as most by service, time](r); EMIT aggregate[sum(most) as n by time](m)", OPEN),
        ("EMIT aggregate[sum(count) as n by time](top[1 by time desc per service](r))", OPEN),
        ("EMIT aggregate[increase(value, temporality) as n by service, w](window[1 minute on time as w](r))", OPEN),
        ("EMIT aggregate[rate(count, temporality) as n by service, w](window[1 minute on time as w](r))", OPEN),
        ("d := running[delta(count) as n per service on time](r); EMIT aggregate[sum(n) as n by time](d)", OPEN),
        ("d := running[delta(sum resets) as n on time](r); EMIT running[sum(n) as m on time](d)", OPEN),
        (
            "b := running[lag(count) as before per service on time](r); d := project[time, "
            "if(before is null, count, count - before) as n](b); EMIT aggregate[sum(n) as n by time](d)",
            OPEN,
        ),
        ("EMIT aggregate[sum(n) as n by time](project[time, if(sum > 1, 1, 0) as n](r))", OPEN),
        ("EMIT r", OPEN),
    ],
)  # fmt: skip
def test_what_adds_no_totals_is_taken(relation: str, telling: str) -> None:
    assert codes(relation, telling) == []


INCREASES = [
    "EMIT aggregate[increase(value) as n by service, w](window[1 minute on time as w](r))",
    "EMIT aggregate[rate(m) as n by service, w](window[1 minute on time as w](rename[count as m](r)))",
    "EMIT running[increase(sum) as n per service on time](select[count > 1](r))",
    "EMIT running[increase(sum since time) as n per service on time](r)",
]


@pytest.mark.parametrize("relation", INCREASES)
def test_an_increase_that_may_read_deltas_is_refused(relation: str) -> None:
    """A restriction to cumulative points, or to gauges, admits it."""
    assert codes(relation, OPEN) == codes(relation, DELTA) == ["RQ161"]
    assert codes(relation, OPEN, 'kafka_otlp "host:9092/topic"') == ["RQ161"]
    assert codes(relation, 'temporality: string in {"cumulative"}') == []
    assert codes(relation, 'kind: string in {"gauge"}') == []
    assert codes(relation.replace("(r)", '(select[temporality = "cumulative"](r))'), OPEN) == []


def test_totals_that_a_query_makes_of_deltas_are_readings() -> None:
    made = "t := running[sum(count) as total per service on time](r);"
    again = "EMIT running[increase(total) as n per service on time](t)"
    assert codes(f"{made} {again}", DELTA) == []


@pytest.mark.parametrize("condition", ['temporality = "cumulative"', 'service = "cart"', "count > 5"])
def test_a_condition_that_says_nothing_of_it_changes_nothing(condition: str) -> None:
    assert codes(f"EMIT aggregate[sum(count) as n by service](select[{condition}](r))", OPEN) == ["RQ161"]
    assert codes(f"EMIT aggregate[sum(count where {condition}) as n by service](r)", OPEN) == ["RQ161"]


def test_streams_of_other_formats_have_no_data_points() -> None:
    text = 'stream r(time: timestamp, count: long) from json "in" punctuated on time;'
    compile_query(f'{text}emit aggregate[sum(count) as n by time](r) to json "o";')


HISTOGRAMS = """
stream r(time: timestamp, unit: string, buckets: list of long, bounds: list of double unit from unit in {s, ms},
         TELLING) from otlp "in" punctuated on time;
"""


def warnings(relation: str, telling: str) -> list[str]:
    text = HISTOGRAMS.replace("TELLING", telling)
    return [w.code for w in compile_query(f'{text}emit {relation} to json "o";').warnings]


QUANTILES = [
    "project[time, histogram_quantile(buckets, bounds, 0.5) as median](r)",
    "project[time, histogram_quantile(b, bounds, 0.5) * 2 as median](project[time, buckets as b, bounds](r))",
    "select[histogram_quantile(buckets, bounds, 0.5) > 1 s](r)",
    "aggregate[max(histogram_quantile(buckets, bounds, 0.5)) as q by time](r)",
]


@pytest.mark.parametrize("relation", QUANTILES)
def test_the_quantile_of_a_point_that_may_count_from_its_start_is_a_warning(relation: str) -> None:
    assert warnings(relation, OPEN) == ["RQ177"]
    assert warnings(relation, DELTA) == []
    assert warnings(relation, 'temporality: string in {"cumulative"}') == []
    assert warnings(relation.replace("(r)", '(select[temporality = "delta"](r))'), OPEN) == []
