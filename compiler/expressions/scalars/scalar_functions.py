"""Scalar functions by their names in Spark SQL: arguments, result type, SQL (Spark 4, ANSI mode, UTC).

Each returns the same for the same arguments at any time, and none ends a query: a function without a value is
undefined. Whole numbers and doubles give equal results, because an Alter turns one into the other.
`runtime/engines/plain/scalars/` computes the same in plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Literal as OneOf

from attrs import frozen

from cedilla.compiler.expressions.aggregates import histograms
from cedilla.compiler.expressions.scalars import conversion_sql, encoding_sql, list_sql, scalar_sql
from cedilla.compiler.expressions.scalars.scalar_sql import LENGTHS, MONTHS, Writer
from cedilla.compiler.expressions.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Type,
    array_of,
    decimals,
)
from cedilla.compiler.expressions.units.conversions import whole_constant
from cedilla.grammar.diagnostics import failure
from cedilla.grammar.syntax import Expression

Defined = OneOf["every", "some", "rest", "first", "always"]
"""The arguments that a result needs: every one, some, some after the first, the first, none."""

INT, DATE = Type("int"), Type("date")

BOUNDS = {
    "length": (-(2**31), 10_000),
    "place": (-(2**31) + 1, 2**31 - 1),
    "days": (-3_652_058, 3_652_058),
    "months": (-119_988, 119_988),
    "bit": (0, 63),
}
"""Kinds of whole numbers with bounds: outside, the result is undefined."""

UNITS = (*LENGTHS, *MONTHS)


@frozen
class Kind:
    """A kind of argument.

    `word`: what messages ask for. `sample`: the argument of a sample call, if not `x`, `y` or `z`. `hint`: an example.
    """

    word: str
    sample: str | None = None
    hint: str | None = None


ARGUMENTS = {
    "number": Kind("a number"),
    **dict.fromkeys(("whole", "word", *BOUNDS), Kind("a number", "n")),
    "string": Kind("a string", "s"),
    "boolean": Kind("a condition", "condition"),
    "timestamp": Kind("a timestamp", "at"),
    "date": Kind("a date", "d"),
    **dict.fromkeys(("same", "value"), Kind("a value that is not an array")),
    "any": Kind("a value"),
    "plain": Kind("a number, a string or a condition", "s"),
    "dated": Kind("a timestamp, a date or a string", "d"),
    "digits": Kind("a constant from -15 to 15", "2", "as in `round(x, 2)`, or `round(x, -2)` for hundreds"),
    "factor": Kind("a whole constant other than 0"),
    "coefficient": Kind("a whole constant"),
    "divisor": Kind("a whole constant above 0"),
    "bits": Kind("one of the constants 224, 256, 384, 512", "256", "as in `sha2(s, 256)`"),
    "base": Kind("a constant from 2 to 36", "16", "as in `from_base(s, 16)`"),
    "unit": Kind(
        f"one of the constants {', '.join(map(repr, UNITS))}", "'hour'", "as in `date_trunc('hour', at)`"
    ),
    "dateunit": Kind(
        f"one of the constants {', '.join(map(repr, UNITS[-4:]))}",
        "'month'",
        "as in `trunc(d, 'month')`; digits of a number are cut off by `long(x)`",
    ),
    "format": Kind(
        "a constant of yyyy, MM, dd, HH, mm, ss, SSS, signs and quoted text",
        "'yyyy-MM-dd'",
        "as in `date_format(at, 'yyyy-MM-dd HH:mm:ss')`",
    ),
    "like": Kind(r"a constant with % and _; \ precedes %, _ or \ only", "'a%'", "as in `like(s, 'a%')`"),
    "regex": Kind(
        r"a constant regular expression of characters, . [...] (...) | ^ $ * + ? {n,m} \d \w \s \b",
        "'([a-z]+)'",
        "as in `rlike(s, '[a-z]+')`",
    ),
    "group": Kind(
        "the number of a group of the regular expression, a constant",
        "1",
        "as in `regexp_extract(s, '([a-z]+)', 1)`",
    ),
    "list": Kind("a list", "xs"),
    "numbers": Kind("a list of numbers", "xs"),
    "separator": Kind("a constant text of at least one character", "','", "as in `split(s, ',')`"),
    "buckets": Kind("a list of counts", "buckets", "as `list of long` reads `buckets` of OpenTelemetry"),
    "bounds": Kind("a list of bounds", "bounds", "as `list of double` reads `bounds` of OpenTelemetry"),
    "share": Kind("a constant between 0 and 1", "0.9", "as in `histogram_quantile(buckets, bounds, 0.95)`"),
    "replacement": Kind(r"a constant without $ and \ ", "'x'", "as in `regexp_replace(s, '[a-z]+', 'x')`"),
}
FORMAT = re.compile(r"yyyy|MM|dd|HH|mm|ss|SSS|[-/:., _]|'[^']+'")


@frozen
class Function:
    """A scalar function.

    `takes`: kinds of the arguments. Those after `required` are optional; with `repeats` the last may be
    repeated. `gives`: the result's type, or `same` (that of all arguments of this kind), or a function of the
    arguments and their types. With a function, decimals stay decimals; else they become doubles.
    """

    name: str
    takes: tuple[str, ...]
    required: int
    repeats: bool
    gives: Type | str | Given
    sql: str | Writer
    defined: Defined

    def sample(self, count: int = 0) -> str:
        """Returns the arguments of a sample call: the required ones, and others up to `count`."""
        samples = (ARGUMENTS[kind].sample or "xyz"[n % 3] for n, kind in enumerate(self.takes))
        return ", ".join(islice(samples, max(self.required, count)))


Given = Callable[[Sequence[tuple[Expression, Type]]], Type]


def _row(
    names: str,
    takes: str,
    gives: Type | str | Given,
    sql: str | Writer | None = None,
    defined: Defined = "every",
) -> dict[str, Function]:
    """Returns a function by its names.

    `takes`: kinds, with `?` for an optional argument, `*` for a repeated one.
    """
    kinds = takes.split()
    first, *_ = names.split()
    function = Function(
        first,
        tuple(kind.rstrip("?*") for kind in kinds),
        sum(not kind.endswith("?") for kind in kinds),
        takes.endswith("*"),
        gives,
        sql or f"{first}({{all}})",
        defined,
    )
    return dict.fromkeys(names.split(), function)


def _absolute(arguments: Sequence[tuple[Expression, Type]]) -> Type:
    ((_, type_),) = arguments
    return LONG if type_.is_integral else type_


def _rounded(arguments: Sequence[tuple[Expression, Type]]) -> Type:
    (rounded, type_), *digits = arguments
    places = next((value for argument, _ in digits if (value := whole_constant(argument)) is not None), 0)
    if type_.name != "decimal":
        return LONG if places < 0 and type_.is_integral else type_
    if places < 0 and type_.parameters[0] > decimals.DIGITS:
        message = f"a decimal is rounded to tens with at most {decimals.DIGITS} digits, found {type_}"
        raise failure(
            "RQ103", message, rounded.span, hint=f"a `decimal` of {decimals.DIGITS} digits, or `double(x)`"
        )
    return decimals.rounded_type(type_, places)


def _element(arguments: Sequence[tuple[Expression, Type]]) -> Type:
    element = arguments[0][1].element
    assert element is not None
    return element


def _total(arguments: Sequence[tuple[Expression, Type]]) -> Type:
    return LONG if _element(arguments).is_integral else DOUBLE


def _remainder(operator: str) -> Given:
    return lambda arguments: decimals.arithmetic_type(operator, arguments)


FUNCTIONS: dict[str, Function] = {
    # numbers
    **_row("abs", "number", _absolute, scalar_sql.absolute),
    **_row("sign signum", "number", DOUBLE, scalar_sql.sign),
    **_row("floor", "number", LONG),
    **_row("ceil ceiling", "number", LONG),
    **_row("round", "number digits?", _rounded, scalar_sql.rounded("round")),
    **_row("bround", "number digits?", _rounded, scalar_sql.rounded("bround")),
    **_row("rint", "number", DOUBLE, scalar_sql.rint),
    **_row("affine", "number factor coefficient divisor", DOUBLE),
    **_row("mod", "number number", _remainder("%"), scalar_sql.remainder),
    **_row("pmod", "number number", _remainder("pmod"), scalar_sql.positive_remainder),
    **_row("sqrt", "number", DOUBLE, scalar_sql.not_nan("sqrt")),
    **_row("cbrt", "number", DOUBLE, scalar_sql.not_nan("cbrt")),
    **_row("pow power", "number number", DOUBLE, scalar_sql.power),
    **_row("exp", "number", DOUBLE, scalar_sql.not_nan("exp")),
    **_row("expm1", "number", DOUBLE, scalar_sql.not_nan("expm1")),
    **_row("ln", "number", DOUBLE, scalar_sql.not_nan("ln")),
    **_row("log", "number number?", DOUBLE, scalar_sql.log),
    **_row("log10", "number", DOUBLE, scalar_sql.not_nan("log10")),
    **_row("log2", "number", DOUBLE, scalar_sql.log2),
    **_row("log1p", "number", DOUBLE, scalar_sql.log1p),
    **_row("sin", "number", DOUBLE, scalar_sql.not_nan("sin")),
    **_row("cos", "number", DOUBLE, scalar_sql.not_nan("cos")),
    **_row("tan", "number", DOUBLE, scalar_sql.not_nan("tan")),
    **_row("asin", "number", DOUBLE, scalar_sql.not_nan("asin")),
    **_row("acos", "number", DOUBLE, scalar_sql.not_nan("acos")),
    **_row("atan", "number", DOUBLE, scalar_sql.not_nan("atan")),
    **_row("atan2", "number number", DOUBLE, scalar_sql.atan2),
    **_row("sinh", "number", DOUBLE, scalar_sql.not_nan("sinh")),
    **_row("cosh", "number", DOUBLE, scalar_sql.not_nan("cosh")),
    **_row("tanh", "number", DOUBLE, scalar_sql.not_nan("tanh")),
    **_row("degrees", "number", DOUBLE, scalar_sql.not_nan("degrees")),
    **_row("radians", "number", DOUBLE, scalar_sql.not_nan("radians")),
    **_row("hypot", "number number", DOUBLE, scalar_sql.hypot),
    **_row("pi", "", DOUBLE),
    **_row("e", "", DOUBLE),
    **_row("isnan", "number", BOOLEAN, "coalesce(isnan({0}), false)", "always"),
    # one of several
    **_row("greatest", "same same*", "same", scalar_sql.best("greatest"), "some"),
    **_row("least", "same same*", "same", scalar_sql.best("least"), "some"),
    **_row("coalesce", "same*", "same", defined="some"),
    **_row("ifnull nvl", "same same", "same", "coalesce({all})", "some"),
    **_row("nvl2", "any same same", "same", "IF({0} IS NOT NULL, {1}, {2})", "rest"),
    **_row("if", "boolean same same", "same", defined="rest"),
    **_row("nullif", "same same", "same", "IF({0} = {1}, NULL, {0})", "first"),
    **_row("isnull", "any", BOOLEAN, "({0} IS NULL)", "always"),
    **_row("isnotnull", "any", BOOLEAN, "({0} IS NOT NULL)", "always"),
    # strings
    **_row("upper ucase", "string", STRING),
    **_row("lower lcase", "string", STRING),
    **_row("initcap", "string", STRING),
    **_row("length char_length character_length len", "string", INT),
    **_row("octet_length", "string", INT),
    **_row("ascii", "string", INT),
    **_row("char chr", "whole", STRING, "IF({0} < 0, '', char({0} & 255))"),
    **_row("trim", "string", STRING),
    **_row("ltrim", "string string?", STRING, encoding_sql.trimmed("LEADING")),
    **_row("rtrim", "string string?", STRING, encoding_sql.trimmed("TRAILING")),
    **_row("btrim", "string string?", STRING),
    **_row("concat", "string string*", STRING),
    **_row("concat_ws", "string string*", STRING, defined="first"),
    **_row("substring substr", "string place whole?", STRING, scalar_sql.substring),
    **_row("left", "string whole", STRING, scalar_sql.not_below_zero("left")),
    **_row("right", "string whole", STRING, scalar_sql.not_below_zero("right")),
    **_row("replace", "string string string?", STRING),
    **_row("translate", "string string string", STRING),
    **_row("reverse", "string", STRING),
    **_row("repeat", "string length", STRING),
    **_row("lpad", "string length string?", STRING),
    **_row("rpad", "string length string?", STRING),
    **_row("startswith", "string string", BOOLEAN),
    **_row("endswith", "string string", BOOLEAN),
    **_row("contains", "string string", BOOLEAN),
    **_row("instr", "string string", INT),
    **_row("locate position", "string string", INT),
    **_row("split_part", "string string place", STRING, "split_part({0}, {1}, nullif({2}, 0))"),
    **_row("substring_index", "string string place", STRING),
    **_row("levenshtein", "string string", INT),
    **_row("like", "string like", BOOLEAN),
    **_row("ilike", "string like", BOOLEAN, "like(lower({0}), lower({1}))"),
    **_row("rlike regexp_like regexp", "string regex", BOOLEAN),
    **_row("regexp_extract", "string regex group", STRING),
    **_row("regexp_replace", "string regex replacement", STRING),
    # bits and bytes
    **_row("bitwise_and", "word word", LONG, "({0} & {1})"),
    **_row("bitwise_or", "word word", LONG, "({0} | {1})"),
    **_row("bitwise_xor", "word word", LONG, "({0} ^ {1})"),
    **_row("bitwise_not", "word", LONG, "(-1L - {0})"),
    **_row("shift_left shiftleft", "word bit", LONG, "shiftleft({all})"),
    **_row("shift_right shiftright", "word bit", LONG, "shiftright({all})"),
    **_row("bit", "word bit", BOOLEAN, "(shiftright({all}) & 1L = 1L)"),
    **_row("bit_count", "word", INT),
    **_row("from_base", "string base", LONG, encoding_sql.from_base),
    **_row("to_base", "word base", STRING, encoding_sql.to_base),
    **_row("hex", "string", STRING),
    **_row("unhex", "string", STRING, encoding_sql.unhex),
    **_row("base64", "string", STRING),
    **_row("unbase64", "string", STRING, encoding_sql.unbase64),
    **_row("base64_to_hex", "string", STRING, encoding_sql.base64_to_hex),
    **_row("hex_to_base64", "string", STRING, encoding_sql.hex_to_base64),
    # lists
    **_row("histogram_quantile", "buckets bounds share", DOUBLE, histograms.quantile_of_one),
    **_row("size", "list", INT),
    **_row("element_at", "list place", _element, list_sql.element_at),
    **_row("list_sum", "numbers", _total, list_sql.total),
    **_row("list_avg", "numbers", DOUBLE, list_sql.average),
    **_row("list_min", "numbers", _element, list_sql.best("array_min")),
    **_row("list_max", "numbers", _element, list_sql.best("array_max")),
    **_row("split", "string separator", array_of(STRING), list_sql.split),
    # hashes
    **_row("hash", "value*", INT, scalar_sql.hashed, "always"),
    **_row("crc32", "string", LONG),
    **_row("md5", "string", STRING),
    **_row("sha1 sha", "string", STRING),
    **_row("sha2", "string bits", STRING),
    # dates and times
    **_row("year", "date", INT),
    **_row("quarter", "date", INT),
    **_row("month", "date", INT),
    **_row("day dayofmonth", "date", INT),
    **_row("dayofweek", "date", INT),
    **_row("weekday", "date", INT, "((dayofweek({0}) + 5) % 7)"),
    **_row("dayofyear", "date", INT),
    **_row("weekofyear", "date", INT),
    **_row("hour", "timestamp", INT),
    **_row("minute", "timestamp", INT),
    **_row("second", "timestamp", INT),
    **_row("last_day", "date", DATE),
    **_row("date_add dateadd", "date days", DATE),
    **_row("date_sub", "date days", DATE),
    **_row("add_months", "date months", DATE),
    **_row("datediff date_diff", "date date", INT, "CAST(datediff({all}) AS INT)"),
    **_row("date_trunc", "unit timestamp", TIMESTAMP, scalar_sql.truncated_time),
    **_row("trunc", "date dateunit", DATE, scalar_sql.truncated_date),
    **_row("date_format", "timestamp format", STRING),
    **_row("unix_seconds", "timestamp", LONG, scalar_sql.whole_units(1_000_000)),
    **_row("unix_millis", "timestamp", LONG, scalar_sql.whole_units(1_000)),
    **_row("unix_micros", "timestamp", LONG),
    **_row("unix_date", "date", INT),
    **_row("timestamp_seconds", "number", TIMESTAMP, scalar_sql.since_1970(1)),
    **_row("timestamp_millis", "number", TIMESTAMP, scalar_sql.since_1970(1_000)),
    **_row("timestamp_micros", "number", TIMESTAMP, scalar_sql.since_1970(1_000_000)),
    **_row("date_from_unix_date", "days", DATE),
    # other types
    **_row("int", "plain", INT, conversion_sql.whole(INT)),
    **_row("long bigint", "plain", LONG, conversion_sql.whole(LONG)),
    **_row("double", "plain", DOUBLE, conversion_sql.double),
    **_row("boolean", "plain", BOOLEAN, conversion_sql.boolean),
    **_row("string", "value", STRING, conversion_sql.string),
    **_row("timestamp to_timestamp", "dated", TIMESTAMP, conversion_sql.timestamp),
    **_row("date to_date", "dated", DATE, conversion_sql.date),
}
"""Every name, including synonyms, with its function."""
