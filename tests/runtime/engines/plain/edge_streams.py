"""Streams of edge values through every operator, on an engine and by the reference."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.epochs import outputs
from tests.kit.query import Query
from tests.kit.stream import Item, is_tuple

Streams = Mapping[str, Sequence[Item]]


ENDS = (-(2**63), 2**63 - 1)


END: Item = {"$punctuation": "[]"}


def simulated(query: str, streams: Streams) -> dict[str, list[Item]]:
    """The tuples of each output, as `simulate` writes them."""
    plan = compile_query(query).plan
    reference = Reference(plan)
    items = [(source, item) for source, rows in streams.items() for item in rows]
    outputs = [output for item in items for output in reference.step([item])]
    assert reference.rejected == []
    return {
        emit.name: [json.loads(json_text(row)) for output in outputs for row in output[emit.name].tuples]
        for emit in plan.emits
    }


def engine(spark: SparkSession, root: Path, query: str, streams: Streams) -> dict[str, list[Item]]:
    """The same as Spark writes them, the input cut after each marker into files and epochs."""
    run = Query(spark, root, query)
    for source, items in streams.items():
        ends = [0, *(number for number, item in enumerate(items, 1) if not is_tuple(item)), len(items)]
        for start, end in pairwise(ends):
            run.write(source, [json_text(item) for item in items[start:end]])
    executor = run.process(files_per_epoch=1)
    assert [line for source in streams for line in run.quarantine(source)] == []
    return {emit.name: [*filter(is_tuple, run.output(emit.name))] for emit in executor.plan.emits}


def shown(value: Any) -> Any:
    """A value that equals its like; the last digits of a double depend on the order in which it was computed."""
    if isinstance(value, list):
        return tuple(map(shown, value))
    if isinstance(value, Decimal) or value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)  # the digits of doubles are those of the engine
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\S+Z", value):
        value = datetime.fromisoformat(value)
    return f"{value + 0.0:.12g}" if isinstance(value, float) else repr(value)


def on_sail(session: SparkSession, root: Path, query: str, streams: Streams) -> dict[str, list[Item]]:
    """The same as the embedded engine computes them, cut after each marker into epochs."""
    epochs: list[dict[str, list[Item]]] = []
    for source, items in streams.items():
        part: list[Item] = []
        for item in items:
            part.append(item)
            if not is_tuple(item):
                epochs.append({source: part})
                part = []
        epochs.append({source: part})
    lines_by_name = outputs(session, root, query, epochs)
    return {name: [*map(json.loads, lines)] for name, lines in lines_by_name.items()}


def bag(rows: Sequence[Item]) -> Counter[frozenset[tuple[str, Any]]]:
    return Counter(frozenset((name, shown(value)) for name, value in row.items()) for row in rows)


def compare(
    session: SparkSession,
    root: Path,
    query: str,
    streams: Streams,
    computed: Callable[..., dict[str, list[Item]]] = engine,
) -> dict[str, list[Item]]:
    """The reference's outputs, which are those of the engine."""
    expected, actual = simulated(query, streams), computed(session, root, query, streams)
    wrong = {
        name: (bag(rows) - bag(actual[name]), bag(actual[name]) - bag(rows))
        for name, rows in expected.items()
        if bag(rows) != bag(actual[name])
    }
    assert wrong == {}
    return expected


NINES = int("9" * 38)


WIDEST, PRESENT_IF_ALL = (Decimal(f"{sign}{'9' * 20}.{'9' * 18}") for sign in ("", "-"))


FEW = Decimal("1e-18")


FIRST, LAST = ENDS


INFINITE = math.inf


ODD = 2**53 + 1


ROWS: list[tuple[Any, ...]] = [
    (1, LAST, INFINITE, NINES, WIDEST, "", "0001-01-01T00:00:00Z", "0001-01-01"),
    (2, LAST, INFINITE, NINES, FEW, "\0", "1582-10-04T23:59:59.999999Z", "1582-10-04"),
    (3, FIRST, -INFINITE, -NINES, PRESENT_IF_ALL, "a", "1582-10-15T00:00:00.000001Z", "1582-10-15"),
    (4, ODD, ODD, ODD, ODD, "NaN", "9999-12-31T23:59:59.999999Z", "9999-12-31"),
    (5, ODD - 1, ODD - 1, ODD - 1, ODD - 1, "null", "1969-12-31T23:59:59.999999Z", "1969-12-31"),
    (5, -ODD, -0.0, 0, -FEW, "\u00e4\"'\n`", "1970-01-01T00:00:00.5Z", "1970-01-01"),
    (6, 0, 0.0, -1, 0, "\U0001d11e", "1900-01-01T00:00:00Z", "1900-01-01"),
    (7, -1, 1e300, 1, 1.5, "$x", "1900-01-01T00:00:00Z", "1900-01-01"),
    (7, -1, -1e300, 1, 1.5, "a b", "2013-01-31T12:00:00Z", "2013-01-31"),
    (7, 3, 5e-324, 2, 2.5, "a b", "2013-01-31T12:00:00.000001Z", "2013-01-31"),
]
"""`x` gets a NaN in the row of k = 2, by subtracting infinities."""


ATTRIBUTES = ("k", "n", "x", "d", "e", "s", "at", "day")


NUMBERS = ("n", "x", "d", "e")


STREAM = """
stream r(k: int, n: long, x: double, d: decimal(38,0), e: decimal(38,18), s: string, at: timestamp, day: date)
  from json "in" punctuated on k;
b := project[k, n, case when k = 2 then x - x else x end as x, d, e, s, at, day](r);
few := select[k in {1, 2, 5}](b);
other := project[k as k_, n as n_, x as x_, d as d_, e as e_, s as s_, at as at_, day as day_](few);
"""


PREDICATES = (
    *("x > 1", "x >= x", "x != x", "not (x <= 0)", "x > 9007199254740992.5", "n > x", "x in {1e300, 0}"),
    *("x not in [0, 5]", "n > 9007199254740992", "n in {9007199254740993}", "d > n", "d = 9007199254740993"),
    *("e < 0", "e = 0.000000000000000001", "x > e", "s < 'b'", "s = 'NaN'"),
    *("at < '1582-10-15'", "at = '1582-10-04T23:59:59.999999Z'", "day <= '1582-10-04'", "at > '9999-12-31'"),
)


COMPUTED = (
    *(
        "n + 1",
        "n * n",
        "-n",
        "n - 9223372036854775807",
        "abs(n)",
        "n / 7",
        "n % 10",
        "floor(n / 7)",
        "n + x",
    ),
    *("x + 1", "x * 10", "x / 0", "x % 3", "x - x", "floor(x / 7)", "ceil(x)", "abs(x)", "-x", "isnan(x)"),
    *(
        "greatest(x, 1)",
        "least(x, n)",
        "nullif(x, x)",
        "string(n)",
        "long(x)",
        "int(n)",
        "sqrt(x)",
        "round(x)",
    ),
    *("d / 3", "floor(d / 7)", "ceil(e)", "-d", "year(at)", "unix_micros(at)", "date(at)", "hash(n, x)"),
    *("date_trunc('hour', at)", "upper(s)", "length(s)"),
)


def numbered(texts: Sequence[str]) -> str:
    return ", ".join(f"{text} as y{number}" for number, text in enumerate(texts))


def calls(functions: Sequence[str], names: Sequence[str]) -> list[str]:
    return [function.format(n) for function in functions for n in names]


def chained(text: str, names: Sequence[str]) -> str:
    relation = "b"
    for number, name in enumerate(names):
        relation = text.format(n=name, w=f"w{number}", r=relation)
    return relation


def every() -> list[str]:
    """Each aggregate function of each attribute that it takes."""
    any_of = ("min({})", "max({})", "first({})", "last({})", "collect({})", "count({})", "count(distinct {})")
    any_of += ("largest({}, 3)", "smallest({}, 3)", "first({}, 2)", "last({}, 2)", "mode({})")
    any_of += ("arg_max({}, k)", "arg_min(k, {})")
    of_numbers = (
        "sum({})",
        "avg({})",
        "median({})",
        "quantile({}, 0.3)",
        "var({})",
        "stddev({})",
        "avg_angle({}, 360)",
        "product({})",
    )
    of_numbers += (
        "var_pop({})",
        "stddev_pop({})",
        "covar({}, k)",
        "covar_pop({}, k)",
        "bit_and({})",
        "bit_or({})",
    )
    of_numbers += (
        "corr({}, k)",
        "slope({}, k)",
        "sum(distinct {})",
        "avg(distinct {})",
        "product(distinct {})",
    )
    return [*calls(any_of, ATTRIBUTES), *calls(of_numbers, NUMBERS)]


def relations() -> dict[str, str]:
    """Each operator over each attribute that it can take."""
    return {
        "select": f"project[k, n](select[{PREDICATES[0]} or d = 9007199254740993](b))",
        "project": f"project[k, {numbered((*PREDICATES, *COMPUTED))}](b)",
        "rename": "rename[x as n, n as x](b)",
        **{f"distinct_{n}": f"distinct(project[{n}](b))" for n in ("n", "x", "d", "s")},
        **{f"first_{n}": f"project[{n}](distinct[{n}](b))" for n in ("x", "d", "s")},
        "union": "distinct(project[n as y](b) union project[x as y](b))",
        **{f"minus_{n}": f"project[{n}](b) minus project[{n}](few)" for n in ("n", "x", "at")},
        **{f"intersect_{n}": f"project[{n}](b) intersect all project[{n}](few)" for n in ("x", "e", "day")},
        **{
            f"join_{a}_{b}": f"project[k, {a}](b) join (project[k_, {b}_](other)) on {a} = {b}_"
            for a, b in JOINED
        },
        **{
            f"left_{n}": f"project[k, {n}](b) left join (project[k_, {n}_](other)) on {n} = {n}_"
            for n in "nxs"
        },
        **{f"{word}_{n}": f"b {word} join few on {n}" for word in ("semi", "anti") for n in "nxd"},
        "window": chained("window[7 on {n} as {w}]({r})", NUMBERS),
        "window_small": chained("window[0.5 on {n} as {w}]({r})", NUMBERS),
        **{f"window_sliding_{n}": f"project[k, {n}, w](window[7 every 3 on {n} as w](b))" for n in NUMBERS},
        **{f"window_unit_{n}": f"project[k, {n}, w](window[3 every 1 on {n} as w](b))" for n in NUMBERS},
        "window_milliseconds": "window[1 millisecond on at as w](b)",
        "window_weeks": "window[1 week every 3 days on at as w](b)",
        **{f"session_{n}": f"project[k, {n}, w](session[7 on {n} as w](b))" for n in NUMBERS},
        "session_at": "project[k, at, w](session[1 week on at as w](b))",
        "rows": f"project[k, w0, w1, w2, w3, w4]({chained('window[2 rows per {n} as {w}]({r})', 'nxdes')})",
        "aggregate": f"aggregate[{numbered(every())}](b)",
        "aggregate_by_key": f"aggregate[{numbered(every())} by k](b)",
        "aggregate_counted": "aggregate[count() as c by w](window[7 on x as w](b))",
        "aggregate_groups": "aggregate[count() as c by n, x, d, e, s, at, day](b)",
        **{f"aggregate_{n}": f"aggregate[count() as c by {n}](b)" for n in "xd"},
        **{f"top_{n}": f"project[k, {n}](top[4 by {n} desc, k](b))" for n in ("n", "x", "d", "s", "at")},
        "top_best": "project[k, x](top[1 by e, k per x](b))",
        **{f"sort_{n}": f"project[k, {n}](sort[{n}, k desc](b))" for n in ("n", "x", "d", "s", "at")},
        "limit": "limit[3](b)",
    }


def of_each_operator() -> list[str]:
    """The first relation of each operator: their names begin with its name."""
    return list({name.partition("_")[0]: name for name in reversed(relations())}.values())


JOINED = (*(pair * 2 for pair in "nxdes"), ("at", "at"), ("day", "day"))


def edges() -> list[Item]:
    """The rows, read again from text, with a punctuation in between."""
    rows = [dict(zip(ATTRIBUTES, row, strict=True)) for row in ROWS]
    items = [*rows[:4], {"$punctuation": "[k < 4]"}, *rows[4:], END]
    return [json.loads(json_text(item), parse_float=Decimal) for item in items]
