"""Every function and operator over the product of edge values of its arguments: calls, rows and exact comparison.

The calls come from the table of functions (`compiler/expressions/scalars/scalar_functions.py`), so a new function is
swept by itself. Each argument is a column of each type that its kind takes, or a constant.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import islice, product
from random import Random
from typing import Any

from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from cedilla.compiler.expressions import expression_sql, expressions
from cedilla.compiler.expressions.engines import Engine, refused
from cedilla.compiler.expressions.scalars.scalar_functions import BOUNDS, FUNCTIONS
from cedilla.compiler.expressions.types import Type
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.parser import parse_expression
from cedilla.runtime.engines.plain.evaluate import evaluate
from cedilla.runtime.engines.plain.scalars.arithmetic import double
from cedilla.runtime.engines.plain.scalars.times import START, micros
from cedilla.runtime.engines.spark.columns import types_of
from tests.kit.columns import columns_in

_MICROS = timedelta(microseconds=1)
_MOMENTS = (
    *(
        "0001-01-01T00:00:00",
        "0001-01-01T00:00:00.000001",
        "9999-12-31T23:59:59.999999",
        "9999-12-31T00:00:00",
    ),
    *(
        "1969-12-31T23:59:59.999999",
        "1970-01-01T00:00:00",
        "2024-02-29T12:34:56.789012",
        "1582-10-10T01:02:03.5",
    ),
)
_DAYS = (
    *("0001-01-01", "0001-01-31", "9999-12-31", "9999-11-30", "1969-12-31", "1970-01-01", "2024-02-29"),
    *("2023-12-31", "1582-10-10"),
)
_DOUBLES = (
    "0.0 -0.0 1 -1 0.5 -0.5 1.5 2.5 -2.5 3 7 0.30000000000000004 0.29 1.005 -1.45 8 9.5 10 64 100 125 243 1000 "
    "-0.04 0.49999999999999994 1e-5 4.35e-5 0.00099 9999999.5 123456789.125 1234567890.12345 "
    "2147483647 2147483648 -2147483648 -2147483649 1125899906842624.2 2251799813685247.8 4503599627370495.5 "
    "9007199254740991 9007199254740992 -9007199254740992 9223372036854775808 -9223372036854775808 "
    "1e16 8.41e21 1e22 1e23 2e23 -1e200 1.7976931348623157e308 1e-200 2.2250738585072014e-308 5e-324 "
    "nan inf -inf"
)
_WORDS = (
    "a abc ab,,b aaa 日本 😀a %_\\ 12 -1.5e3 1e400 NaN Infinity -inf true No 3d 9223372036854775808 3٣ 3３ ३ 0x10 "
    "1_000 2024-02-29 2024-02-29T23:59:59.999999Z a.b e\u0301é"
    " 6a C3a9 c3 F09F9880 eDA080 YQ== YR== YWI= Zg -8000000000000000"
)
_STRINGS = ("", " ", "\t\n", "A b,c", "ÄÖ ß", "\u00a0x", " +12 ", "ıİſΑΣ ﬁǆ", "x" * 40, *_WORDS.split())
_TEXTS = (
    "5 +5 -0 5. .5 1e5 1E+2 1e-400 .e5 5f 0x1p3 9223372036854775807 -9223372036854775809 2147483648 1.5 infinity "
    "-Inf nan T yes off 2024 2024-02 2024-2-9 2024-02-30 0000-01-01 10000-01-01 +2024-01-01 2024-02-29T05:06 "
    "2024-02-29T24:00:00Z 2024-02-29T05:06:07.123456789 2024-02-29T05:06:07.1234560Z 9999-12-31T23:59:59-01:00 "
    "0001-01-01T00:00:00+01:00 2024-02-29T05:06:07+0130 2024-02-29T05:06:07+18:01 1969-12-31T23:59:59.999999"
    " ２０２４-02-29"
)
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, -1, 2, 7, 255, 10_000, 2**31 - 1, -(2**31)),
    "long": (
        *(0, 1, -1, 3, 12, 10_001, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 - 1, 2**53, 2**53 + 1),
        *(
            -(2**53) - 1,
            2**63 - 1,
            -(2**63),
            -(2**63) + 1,
            253402300799,
            253402300800,
            -62135596801,
            3_652_058,
        ),
    ),
    "double": tuple(map(float, _DOUBLES.split())),
    "decimal(8, 2)": tuple(
        map(Decimal, ("0.00", "0.29", "-0.10", "1.00", "2.50", "999999.99", "-999999.99"))
    ),
    "decimal(38, 10)": tuple(
        map(Decimal, ("0", "0.3", "-2.5", "9" * 28 + "." + "9" * 10, "-" + "9" * 28 + ".5", "1e-10", "7"))
    ),
    "string": _STRINGS,
    "text": (
        *_STRINGS,
        *_TEXTS.split(),
        *(f"{blank}7{blank}" for blank in " \n\u00a0\u2003"),
        " 2024-02-29 ",
        "2024-02-29 5:6",
    ),
    "boolean": (True, False),
    "timestamp": tuple(datetime.fromisoformat(f"{text}+00:00") for text in _MOMENTS),
    "date": tuple(map(date.fromisoformat, _DAYS)),
    "array<long>": ([], [0], [1], [0, 0], [2, 0], [1, 2, 3], [0, 5, 0], [3, 0, 7, 1], [2**53, 1, 1], [-1, 2]),
    "array<double>": (
        *([], [0.5], [-1.0], [0.0], [0.005, 0.01], [0.5, 10.0, 250.0], [1.0, 1.0], [2.0, 1.0], [math.inf]),
        *([math.nan, 1.0], [-math.inf, 2.0], [-3.0, -2.0, 1e300]),
    ),
}
"""Values at the edges of each type; each may be undefined, too. A `text` is a string that is converted."""

CONSTANTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int", "long"), ("0", "1", "-1", "2", "2147483648", "-9223372036854775807")),
    "double": ("0.0", "0.5", "-0.5", "3", "1e300"),
    "string": ("''", "'a'", "','", "'é😀'"),
    "boolean": ("true",),
    "timestamp": ("'0001-01-01T00:00:00.000001Z'", "'9999-12-31'"),
    "date": ("'2024-02-29'", "'9999-12-31'"),
}
NUMBERS = ("int", "long", "double", "decimal(8, 2)", "decimal(38, 10)")
_WHOLE = ("int", "long", "double", "decimal(8, 2)")
TAKEN: dict[str, tuple[str, ...]] = {
    "number": NUMBERS,
    **dict.fromkeys(("whole", *BOUNDS), _WHOLE),
    "word": NUMBERS,
    "string": ("string",),
    "boolean": ("boolean",),
    **dict.fromkeys(("timestamp", "date"), ("timestamp", "date")),
    **dict.fromkeys(("value", "any", "same"), (*NUMBERS, "string", "boolean", "timestamp", "date")),
    "plain": (*NUMBERS, "text", "boolean"),
    "dated": ("timestamp", "date", "text"),
    "list": ("array<long>", "array<double>"),
    "numbers": ("array<long>", "array<double>"),
    "buckets": ("array<long>",),
    "bounds": ("array<double>",),
}
"""The types of columns that arguments of each kind are tried with."""
WRITTEN: dict[str, tuple[str, ...]] = {
    "digits": ("0", "1", "2", "7", "15"),
    "factor": ("1000", "-1", "9"),
    "coefficient": ("0", "-160"),
    "divisor": ("1", "3600"),
    "base": ("2", "10", "16", "36"),
    "bits": ("224", "256", "384", "512"),
    "unit": tuple(
        map(
            repr,
            (
                "microsecond",
                "millisecond",
                "second",
                "minute",
                "hour",
                "day",
                "week",
                "month",
                "quarter",
                "year",
            ),
        )
    ),
    "dateunit": tuple(map(repr, ("week", "month", "quarter", "year"))),
    "format": (repr("yyyy-MM-dd HH:mm:ss.SSS"),),
    "like": ("'a%'", "'_'", r"'%\\%%'", "''", "'%é%'", r"'\\\\'"),
    "regex": (r"'^[a-c]+$'", r"'(\\d+)\\s*'", "'.'", "'a|b'", "'(,)(b?)'", r"'\\w+\\W'"),
    "group": ("0", "1"),
    "replacement": ("''", "'é'", "'ab'"),
    "separator": ("','", "'.'", "'a'", "'||'", r"'\\\\'", "'é😀'", "' '"),
    "share": ("0", "0.5", "0.95", "1"),
}
"""The texts of arguments that have to be constants."""


@frozen
class Form:
    """A function or an operator, as `text` with a `{}` for each argument of some kind."""

    name: str
    text: str
    kinds: tuple[str, ...]


def functions() -> Iterator[Form]:
    """Every function of the table with each number of arguments that it takes, up to three."""
    for function in {f.name: f for f in FUNCTIONS.values()}.values():
        most = len(function.takes) + (1 if function.repeats else 0)
        for count in range(function.required, max(function.required, min(3, most)) + 1):
            kinds = (*function.takes, *function.takes[-1:])[:count]
            yield Form(function.name, f"{function.name}({', '.join(['{}'] * count)})", kinds)


OPERATORS = (
    *(Form(sign, f"{{}} {sign} {{}}", ("number", "number")) for sign in "+-*/%"),
    *(Form(sign, f"{{}} {sign} {{}}", ("same", "same")) for sign in ("=", "!=", "<", "<=", ">", ">=")),
    *(Form(word, f"{{}} {word} {{}}", ("boolean", "boolean")) for word in ("and", "or")),
    Form("not", "not {}", ("boolean",)),
    Form("sign", "-{}", ("number",)),
    Form("||", "{} || {}", ("string", "string")),
    Form("in", "{} in {{0, 1, 0.29, 9223372036854775807}}", ("number",)),
    Form("in", "{} in [-0.5, 9007199254740993)", ("number",)),
    Form("in", "{} in ['a', 'b']", ("string",)),
    Form("between", "{} between {} and {}", ("number", "number", "number")),
    Form("case", "case when {} then {} else {} end", ("boolean", "same", "same")),
    Form("seconds between", "{} - {}", ("timestamp", "timestamp")),
    *(
        Form(name, text, kinds)
        for name in ("floor", "ceil")
        for text, kinds in (
            (f"{name}({{}} / {{}})", ("number", "number")),
            (f"{name}({{}} * 0.29)", ("number",)),
            (f"{name}({{}} / 7 + 1)", ("number",)),
        )
    ),
)
FORMS = (*functions(), *OPERATORS)
_LETTERS = {type_: chr(ord("a") + number) for number, type_ in enumerate(VALUES)}


@frozen
class Call:
    """A form over columns and constants; `columns`: the types of its columns, by their names."""

    form: Form
    text: str
    columns: Mapping[str, str]


def calls(forms: Iterable[Form] = FORMS, most: int | None = None, seed: int = 0) -> Iterator[Call]:
    """Each form over columns of each type, and over one column and constants; `most`: at most that many of a form."""
    for form in forms:
        candidates = [*_candidates(form)]
        if most is not None:
            Random(f"{seed}{form.text}").shuffle(candidates)
        yield from islice((c for c in candidates if _is_in_the_language(c.text, c.columns)), most)


def _candidates(form: Form) -> Iterator[Call]:
    free = sum(kind not in WRITTEN for kind in form.kinds)
    for arguments in product(*(tuple(_arguments(kind, n)) for n, kind in enumerate(form.kinds))):
        columns = {name: type_ for name, type_ in arguments if type_}
        if len(columns) not in (free, min(free, 1)) or not _fits(columns):
            continue
        text = form.text.format(*(name for name, _ in arguments))
        yield Call(form, text, columns)
        if len(columns) == free:  # an engine may look into what it compares, or asks whether it is null
            yield from (Call(form, f"({tested}) is null", columns) for tested in (f"({text}) >= 0", text))


def _arguments(kind: str, position: int) -> Iterator[tuple[str, str]]:
    """A column and its type, or a constant and no type."""
    if kind in WRITTEN:
        yield from ((text, "") for text in WRITTEN[kind])
        return
    for type_ in TAKEN[kind]:
        yield f"{_LETTERS[type_]}{position}", type_
    for text in dict.fromkeys(text for type_ in TAKEN[kind] for text in CONSTANTS.get(type_, ())):
        yield text, ""


def _fits(columns: Mapping[str, str]) -> bool:
    """Leaves out three columns of different numbers, which would only be more of the same."""
    return len(columns) < 3 or len({t for t in columns.values() if t in NUMBERS}) < 2


def type_of(name: str) -> Type:
    """The type of a column."""
    return Type.parse("string" if name == "text" else name)


@cache
def _parsed(text: str) -> Any:
    return parse_expression(text)


def _is_in_the_language(text: str, columns: Mapping[str, str]) -> bool:
    """Returns True for a call whose types go together."""
    try:
        expressions.type_of(_parsed(text), {name: type_of(type_) for name, type_ in columns.items()})
    except (DiagnosticError, ValueError):
        return False
    return True


def rows_of(columns: Mapping[str, str], most: int | None, seed: int = 0) -> list[tuple[Any, ...]]:
    """The product of the edge values of some columns; `most`: a sample of that size."""
    rows = [*product(*((None, *VALUES[type_]) for type_ in columns.values()))]
    if most is None or len(rows) <= most:
        return rows
    return Random(f"{seed}{sorted(columns)}").sample(rows, most)


def frame_of(spark: SparkSession, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """The rows with their numbers, `$row`. Timestamps and dates come as numbers, as Python has no zone-free ones."""
    plain = {"timestamp": "bigint", "date": "int"}
    schema = ", ".join(f"{name} {plain.get(t, type_of(t).spark)}" for name, t in columns.items())
    frame = spark.createDataFrame(
        [(number, *map(_number, row)) for number, row in enumerate(rows)], f"`$row` bigint, {schema}"
    )
    casts = {"timestamp": "timestamp_micros({0})", "date": "date_from_unix_date({0})"}
    return frame.selectExpr(
        "`$row`", *(f"{casts.get(t, '{0}').format(name)} AS {name}" for name, t in columns.items())
    )


def _number(value: Any) -> Any:
    if isinstance(value, datetime):
        return micros(value)
    return (value - START.date()).days if isinstance(value, date) else value


def differences(
    session: SparkSession,
    engine: Engine,
    chosen: Iterable[Call],
    most: int | None = None,
    seed: int = 0,
    batch: int = 24,
) -> Iterator[str]:
    """Yields differences of an engine from the reference: the call, its arguments, the actual and the expected
    value."""
    shapes: dict[tuple[tuple[str, str], ...], list[Call]] = {}
    for call in chosen:
        if not list(refused(_parsed(call.text), engine)):
            shapes.setdefault(tuple(call.columns.items()), []).append(call)
    for shape, listed in shapes.items():
        columns = dict(shape) or {"a0": "int"}
        rows = rows_of(columns, most, seed)
        frame = frame_of(session, columns, rows)
        for start in range(0, len(listed), batch):
            yield from compared(frame, columns, rows, listed[start : start + batch])


def compared(
    frame: DataFrame, columns: Mapping[str, str], rows: Sequence[tuple[Any, ...]], chosen: Sequence[Call]
) -> Iterator[str]:
    """The differences of some calls over the columns and rows of a frame (`frame_of`)."""
    types = {name: type_of(type_) for name, type_ in columns.items()}
    parsed = [_parsed(call.text) for call in chosen]
    stated = [expressions.type_of(e, types) for e in parsed]
    texts = [expression_sql.sql(e, types) for e in parsed]
    result = frame.selectExpr("`$row`", *(f"{text} AS x{i}" for i, text in enumerate(texts)))
    columns_types = [*types_of(columns_in(result)).values()]
    for call, expected, got in zip(chosen, stated, columns_types, strict=True):
        if expected != got:
            yield f"{call.text} of {dict(call.columns)}: {got} is said to be {expected}"
    axes = [t.axis(f"x{i}") for i, t in enumerate(columns_types)]
    for number, *values in result.selectExpr("`$row`", *axes).collect():
        row = dict(zip(columns, rows[number], strict=True))
        for call, expression, type_, value in zip(chosen, parsed, stated, values, strict=True):
            expected = evaluate(expression, row, types)
            if call.form.name == "string" and isinstance(x := row.get("c0"), float) and 0 < abs(x) < 1e-321:
                continue  # Java takes two digits at least, and 4.9E-324 is nearer than 5.0E-324 (docs/engines.md)
            if not agree(call.form.name, type_, value, expected):
                yield f"{call.text}: {value!r}, {plain(type_, expected)!r} in the reference, for {row}"


def agree(name: str, type_: Type, value: Any, expected: Any) -> bool:
    """Returns True for the expected value, to the last bit. Some functions may differ by two units in the last place,
    unless a value is whole, because `floor` would jump."""
    value, expected = plain(type_, value), plain(type_, expected)
    if value is None or expected is None or type_.name != "double":
        return type(value) is type(expected) and value == expected
    if bits(value) == bits(expected):
        return True
    if name not in INEXACT or not (math.isfinite(value) and math.isfinite(expected)):
        return False
    # A power of a fraction may be next to a whole number, as 0.49999999999999994 to -1 is.
    jumps = name != "pow" and (value.is_integer() or expected.is_integer()) and abs(expected) < 2**53
    return not jumps and value * expected > 0 and abs(value - expected) <= 2 * math.ulp(expected)


_INEXACT = "cbrt pow exp expm1 ln log log10 log2 log1p sin cos tan asin acos atan atan2 sinh cosh tanh"
INEXACT = frozenset(_INEXACT.split())
"""Functions whose last digit depends on the engine (docs/language.md): no two libraries round them alike."""


def plain(type_: Type, value: Any) -> Any:
    """A value of the reference as one of a type."""
    if value is None:
        return None
    if type_.name == "double":
        return double(value)
    if isinstance(value, datetime | date):
        return _number(value)
    return Fraction(value) if type_.name == "decimal" else value


def bits(value: float) -> bytes:
    """The bits of a double; all that are NaN are one."""
    return struct.pack("<d", math.nan if math.isnan(value) else value)
