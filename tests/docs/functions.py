"""Writes the page of functions: each with an example, whose result the plain reference computes.

An example is typed once, here. `tests/runtime/engines/plain/test_function_sweep.py` asks an engine for the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions import expressions
from cedilla.compiler.expressions.aggregates.aggregate_functions import FUNCTIONS as AGGREGATES
from cedilla.compiler.expressions.scalars.scalar_functions import ARGUMENTS, FUNCTIONS, Function
from cedilla.compiler.expressions.scalars.units_of_functions import GIVEN, KEPT, READ_IN
from cedilla.compiler.expressions.scalars.usages import USAGES
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type, array_of
from cedilla.compiler.expressions.units.registry import NUMBER
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.engines.plain.values import write_value
from tests.docs.markdown import table

_CALLS = r"""
abs(-2.5)
sign(-2.5)
floor(-2.5)
ceil(-2.5)
round(2.5)
bround(2.5)
rint(2.5)
affine(68, 5, -160, 9)
mod(-7, 3)
pmod(-7, 3)
sqrt(9)
cbrt(8)
pow(2, 10)
exp(1)
expm1(1e-9)
ln(e())
log(2, 8)
log10(1000)
log2(8)
log1p(1e-9)
sin(pi() / 2)
cos(pi())
tan(0.5)
asin(1)
acos(-1)
atan(1)
atan2(-1, -1)
sinh(1)
cosh(1)
tanh(1)
degrees(pi())
radians(180)
hypot(3, 4)
pi()
e()
isnan(2.5)
greatest(2, 5, 3)
least(2, 5, 3)
coalesce(1 / 0, 7)
ifnull(1 / 0, 7)
nvl2('a', 1, 0)
if(2 > 1, 'more', 'less')
nullif(-1, -1)
isnull(1 / 0)
isnotnull(1 / 0)
upper('Pump 7')
lower('Pump 7')
initcap('east hall')
length('größe')
octet_length('größe')
ascii('A')
char(65)
trim(' a ')
ltrim(' a ')
rtrim(' a ')
btrim('xxaxx', 'x')
concat('a', 'b', 'c')
concat_ws('-', 'a', nullif('b', 'b'), 'c')
substring('Cedilla', 2, 3)
left('Cedilla', 3)
right('Cedilla', 3)
replace('a-b-c', '-', '+')
translate('a-b', '-b', '+c')
reverse('abc')
repeat('ab', 3)
lpad('7', 3, '0')
rpad('7', 3, '.')
startswith('pump-7', 'pump')
endswith('pump-7', '7')
contains('pump-7', 'mp')
instr('pump-7', '-')
locate('-', 'pump-7')
split_part('a,b,c', ',', 2)
substring_index('a.b.c', '.', 2)
levenshtein('kitten', 'sitting')
like('pump-7', 'pump-_')
ilike('Pump-7', 'pump%')
rlike('pump-7', '[0-9]$')
regexp_extract('pump-7', '([a-z]+)-([0-9]+)', 2)
regexp_replace('pump-7', '[0-9]', 'N')
bitwise_and(13, 6)
bitwise_or(13, 6)
bitwise_xor(13, 6)
bitwise_not(5)
shift_left(3, 8)
shift_right(1023, 8)
bit(8, 3)
bit_count(13)
from_base('1F4', 16)
to_base(500, 16)
hex('größe')
unhex('6772C3B6C39F65')
base64('größe')
unbase64('Z3LDtsOfZQ==')
base64_to_hex('AfT/')
hex_to_base64('01F4FF')
histogram_quantile(buckets, bounds, 0.5)
size(bounds)
element_at(bounds, -1)
list_sum(buckets)
list_avg(bounds)
list_min(bounds)
list_max(bounds)
split('a.b.c', '.')
hash('a', 1)
crc32('abc')
md5('abc')
sha1('abc')
sha2('abc', 256)
year('2024-02-29')
quarter('2024-02-29')
month('2024-02-29')
day('2024-02-29')
dayofweek('2024-02-29')
weekday('2024-02-29')
dayofyear('2024-02-29')
weekofyear('2024-02-29')
hour('2024-02-29T12:34:56Z')
minute('2024-02-29T12:34:56Z')
second('2024-02-29T12:34:56Z')
last_day('2024-02-10')
date_add('2024-02-28', 2)
date_sub('2024-03-01', 1)
add_months('2024-01-31', 1)
datediff('2024-03-01', '2024-02-28')
date_trunc('hour', '2024-02-29T12:34:56Z')
trunc('2024-02-29', 'month')
date_format('2024-02-29T12:34:56Z', 'yyyy/MM/dd HH:mm')
unix_seconds('1970-01-02T00:00:00Z')
unix_millis('1970-01-02T00:00:00Z')
unix_micros('1970-01-02T00:00:00Z')
unix_date('1970-01-02')
timestamp_seconds(86400)
timestamp_millis(86400000)
timestamp_micros(1000000)
date_from_unix_date(1)
int('12')
long(2.9)
double('1.5e3')
boolean('yes')
string(2.50)
timestamp('2024-02-29')
date('2024-02-29T23:00:00Z')
"""
EXAMPLES: Mapping[str, str] = {call.partition("(")[0]: call for call in _CALLS.split("\n") if call}
"""First name of a function -> a call of constants."""

_SECTIONS = {
    "abs": "Numbers",
    "greatest": "One of several values",
    "upper": "Strings",
    "bitwise_and": "Bits and bytes",
    "histogram_quantile": "Histograms",
    "size": "Lists",
    "hash": "Hashes",
    "year": "Dates and times",
    "int": "Conversions",
}
"""The first function of each section -> its title."""

_LISTS: Mapping[str, Any] = {"buckets": (1, 2, 1), "bounds": (10.0, 20.0)}
_TYPES = {"buckets": array_of(LONG), "bounds": array_of(DOUBLE)}
"""The lists of the examples, because the language has no constant lists."""

_LONGEST = 32
"""Characters of a result that the page shows; hashes have more."""
_DIGITS = 10
"""Digits of a double that the page shows: the last ones depend on the machine."""


def functions() -> str:
    parts = [
        "# Functions\n\nArguments in brackets are optional. `...` repeats an argument. A result is undefined if an "
        "argument is, except as noted. [Functions](../language.md#functions) has the general rules. The examples are "
        "computed when this page is written, with the buckets `[1, 2, 1]` and the bounds `[10.0, 20.0]`. Results are "
        f"shown as an output in JSON has them, doubles with at most {_DIGITS} digits."
    ]
    names: dict[str, list[str]] = {}
    for name, function in FUNCTIONS.items():
        names.setdefault(function.name, []).append(name)
    rows: dict[str, list[tuple[str, ...]]] = {}
    title = ""
    for first, spellings in names.items():
        title = _SECTIONS.get(first, title)
        function = FUNCTIONS[first]
        usages = " / ".join(f"`{name}`" for name in (USAGES[first][0], *spellings[1:]))
        example = f"`{EXAMPLES[first]}` → {_shown(result_of(EXAMPLES[first]))}"
        row = (usages, example, _arguments(function), _result(function), _notes(function))
        rows.setdefault(title, []).append(row)
    for title, lines in rows.items():
        parts.append(
            f"## {title}\n\n" + table(("function", "example", "arguments", "result", "notes"), lines)
        )
    head = ("function", "example", "result for doubles", "an Alter of the argument", "depends on the order")
    arguments = "; ".join(f"{name} = {', '.join(f'{row[name]:g}' for row in _ROWS)}" for name in ("x", "y"))
    parts.append(
        f"## Aggregate functions\n\nThe examples are those of {len(_ROWS)} tuples in this order: {arguments}.\n\n"
        + table(head, map(_aggregate, AGGREGATES))
    )
    return "\n\n".join(parts)


def result_of(call: str) -> str:
    """Returns the result of a call of constants in JSON, and nothing if it is undefined."""
    expression = parse_expression(call)
    value = evaluate(expression, _LISTS)
    return "" if value is None else _text(write_value(expressions.type_of(expression, _TYPES), value))


def _text(value: Any) -> str:
    return json_text(float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value)


def _shown(result: str) -> str:
    cut = result if len(result) <= _LONGEST else f"{result[: _LONGEST - 1]}…"
    return f"`{cut}`" if cut else "undefined"


def _arguments(function: Function) -> str:
    words = [ARGUMENTS[kind].word for kind in function.takes]
    shown = [word if n < function.required else f"[{word}]" for n, word in enumerate(words)]
    return ", ".join([*shown, "..."] if function.repeats else shown)


def _result(function: Function) -> str:
    match function.gives:
        case Type():
            return str(function.gives)
        case str():
            return "the type of the arguments"
        case _:
            return "by the types of the arguments"


_DEFINED = {
    "every": "",
    "some": "defined if some argument is",
    "rest": "defined if the chosen argument is",
    "first": "defined if the first argument is",
    "always": "always defined",
}


def _notes(function: Function) -> str:
    notes = [USAGES[function.name][1] or _DEFINED[function.defined]]
    if function.name in KEPT:
        notes.append("keeps the unit")
    if unit := READ_IN.get(function.name):
        notes.append("reads a plain number" if unit == NUMBER else f"reads {unit}")
    if unit := GIVEN.get(function.name):
        notes.append(f"gives {unit}")
    return "; ".join(filter(None, notes))


# --- aggregates ---

_ROWS = tuple({"x": float(x), "y": float(y)} for x, y in ((1, 10), (2, 40), (2, 30), (5, 80)))
"""The tuples of the examples of aggregate functions."""


def _aggregate(name: str) -> tuple[str, ...]:
    function = AGGREGATES[name]
    scaled, shifted = function.carry(Affine(2, 0)), function.carry(Affine(2, 7))
    carried = "absorbed" if scaled is None else "passes" if shifted else "passes without an offset"
    distinct = ", also `distinct`" if function.distinct else ""
    several = f", `{function.several.usage}`" if function.several else ""
    usage = f"`{function.usage}`{several}{distinct}"
    example = f"`{_example(name)}` → {_shown(_aggregated()[name])}" if _is_shown(name) else ""
    return usage, example, str(function.type(DOUBLE)), carried, "yes" if function.ordered else ""


def _is_shown(name: str) -> bool:
    """Returns False for a function of lists, which only streams of OpenTelemetry have."""
    return "list" not in AGGREGATES[name].takes


def _example(name: str) -> str:
    function = AGGREGATES[name]
    return function.usage.replace("(x", "(string(x)") if function.takes[0] == "string" else function.usage


@cache
def _aggregated() -> Mapping[str, str]:
    """Returns the result of each aggregate function in JSON, by the reference."""
    calls = ", ".join(f"{_example(name)} as {name}_" for name in AGGREGATES if _is_shown(name))
    plan = compile_query(
        'stream r(n: long, x: double, y: double) from json "r" punctuated on n;\n'
        f'out := aggregate[{calls}](r);\nemit out to json "out";'
    ).plan
    reference = Reference(plan)
    items = [*({"n": n, **row} for n, row in enumerate(_ROWS)), {"$punctuation": "[]"}]
    steps = [output for item in items for output in reference.step([("r", item)])]
    (result,) = (row for step in steps for row in step["out"].tuples)
    return {name: _text(result[f"{name}_"]) for name in AGGREGATES if _is_shown(name)}
