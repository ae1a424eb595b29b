"""Aggregate functions: partial results, how these merge, and the effect of an Alter on them (theory 2.8).

All texts are Spark SQL templates. `{x}` and `{y}` are the arguments, null if a tuple does not count. `{real}`
is the first of them as a double, and `{k}` a constant argument. `{order}` is the order of arrival, and `{p}` the
name of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Literal as OneOf

from attrs import evolve, field, frozen

from cedilla.compiler.expressions import angles
from cedilla.compiler.expressions.aggregate_parts import (
    all_values,
    argument_type,
    double_type,
    fold_array,
    let,
    long_type,
    no_alter,
    same_alter,
    scaled_alter,
    slope_of_alter,
    squared_slope,
    sum_type,
    unless_empty,
)
from cedilla.compiler.expressions.types import LONG, Type, array_of
from cedilla.compiler.regions.affine import Affine

Carry = Callable[[Affine], Affine | None]
Takes = OneOf["value", "number", "share", "size", "circle"]
"""The kinds of arguments: any value, a number, a constant in [0, 1], a positive whole constant, a positive
one.
"""

CONSTANTS: tuple[Takes, ...] = ("share", "size", "circle")


@frozen
class Function:
    """One aggregate function. `usage`: a sample call.

    `partials`: suffix -> SQL, computed per group over new tuples. `merge`: suffix -> SQL over the partial
    columns ``{p}$suffix`` of partial results of a group, in any grouping of them. `finish`: SQL over merged
    columns. `has_value`: SQL over partial columns, null if no value came. `carry`: the effect of an
    argument's Alter on the result; `None` absorbs it. `type`: result type by the first argument's. `ordered`:
    the result depends on the order of arrival.
    """

    usage: str
    partials: Mapping[str, str]
    merge: Mapping[str, str]
    finish: str
    has_value: str
    carry: Carry
    type: Callable[[Type], Type]
    takes: tuple[Takes, ...] = ("number",)
    ordered: bool = False
    distinct: Function | None = field(default=None, repr=False)
    """The function over distinct values; `None` if the language does not have it."""
    special: Callable[[Type], Function | None] = field(default=lambda _: None, repr=False)
    """Returns another function for arguments of a type, if that type needs one."""

    def over(self, argument: Type) -> Function:
        return self.special(argument) or self

    @property
    def numeric(self) -> bool:
        """True if the first argument must be a number."""
        return self.takes[0] == "number"


# Chan, Golub and LeVeque's pairwise update: stable where sums of squares would cancel.
_SPREAD = (
    "aggregate(collect_list(`{p}$spread`), named_struct('n', 0L, 'mean', 0D, 'm2', 0D), "
    "(a, b) -> IF(b.n = 0, a, named_struct("
    "'n', a.n + b.n, "
    "'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
    "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n))))"
)
_VARIANCE = "`{p}$spread`.m2 / (`{p}$spread`.n - 1)"

_JOINT = {
    "joint": "named_struct('n', count({x}), "
    "'mx', avg(CAST({x} AS DOUBLE)), 'my', avg(CAST({y} AS DOUBLE)), "
    "'xx', var_pop({x}) * count({x}), 'yy', var_pop({y}) * count({x}), 'xy', covar_pop({x}, {y}) * count({x}))",
    # Only this decides exactly if values differ: moments of equal values can be slightly above zero.
    **{f"{end}_{v}": f"{end}({{{v}}})" for end in ("min", "max") for v in "xy"},
}
_MERGE_JOINT = {
    "joint": "aggregate(collect_list(`{p}$joint`), "
    "named_struct('n', 0L, 'mx', 0D, 'my', 0D, 'xx', 0D, 'yy', 0D, 'xy', 0D), "
    "(a, b) -> IF(b.n = 0, a, named_struct("
    "'n', a.n + b.n, "
    "'mx', a.mx + (b.mx - a.mx) * b.n / (a.n + b.n), "
    "'my', a.my + (b.my - a.my) * b.n / (a.n + b.n), "
    "'xx', a.xx + b.xx + (b.mx - a.mx) * (b.mx - a.mx) * a.n * b.n / (a.n + b.n), "
    "'yy', a.yy + b.yy + (b.my - a.my) * (b.my - a.my) * a.n * b.n / (a.n + b.n), "
    "'xy', a.xy + b.xy + (b.mx - a.mx) * (b.my - a.my) * a.n * b.n / (a.n + b.n))))",
    **{f"{end}_{v}": f"{end}(`{{p}}${end}_{v}`)" for end in ("min", "max") for v in "xy"},
}


def _exact(text: str) -> str:
    """Returns a sum as a long, undefined if it has more than 64 bits."""
    return f"try_cast({text} AS BIGINT)"


# Two halves of 32 bits each never overflow, and cost no more than one sum; decimals would cost several times as much.
_SUM_OF_LONGS = {
    "sum": "CAST(CAST(sum(shiftright({x}, 32)) AS DECIMAL(20, 0)) * 4294967296BD + sum({x} & 4294967295L) "
    "AS DECIMAL(38, 0))"
}
_LOW = 28
"""Digits of the lower part of a decimal in a sum; this leaves ten digits for the number of values."""


def _upper(value: str, scale: int) -> str:
    """Returns the upper part of a decimal, in units.

    Avoids divisions of decimals, whose scales differ by engine.
    """
    unit = _unit(scale)
    return f"CAST(rint(CAST({value} - {value} % {unit} AS DOUBLE) / 1E{_LOW - scale}D) AS BIGINT)"


def _whole_of(scale: int, high: str, low: str) -> str:
    """Joins both parts of a number; undefined if it has more than 38 digits."""
    unit, kind = _unit(scale), f"DECIMAL(38, {scale})"
    units, rest = f"({high} + {_upper(low, scale)})", f"({low} % {unit})"
    fewer, more = f"{units} > 0 AND {rest} < 0", f"{units} < 0 AND {rest} > 0"  # both of one sign
    units = f"({units} - CASE WHEN {fewer} THEN 1 WHEN {more} THEN -1 ELSE 0 END)"
    rest = f"({rest} + CASE WHEN {fewer} THEN {unit} WHEN {more} THEN -{unit} ELSE 0BD END)"
    product = f"CAST(CAST({units} AS DECIMAL({38 - _LOW}, 0)) * {unit} AS {kind})"
    return f"CASE WHEN abs({units}) < {10 ** (38 - _LOW)} THEN CAST({product} + {rest} AS {kind}) END"


def _unit(scale: int) -> str:
    return f"{Decimal(1).scaleb(_LOW - scale):f}BD"


def _special_sum(argument: Type) -> Function | None:
    """Returns sums that do not overflow on the way, whatever the order of the values."""
    if argument == LONG:
        return evolve(_SUM, partials=_SUM_OF_LONGS, finish=_exact("`{p}$sum`"))
    if argument.name != "decimal" or argument.parameters[0] <= _LOW:
        return None
    scale = argument.parameters[1]
    unit, low = _unit(scale), "`{p}$sum`.low"
    return evolve(
        _SUM,
        partials={"sum": f"named_struct('high', sum({_upper('{x}', scale)}), 'low', sum({{x}} % {unit}))"},
        merge={"sum": f"named_struct('high', sum(`{{p}}$sum`.high), 'low', sum({low}))"},
        finish=_whole_of(scale, "`{p}$sum`.high", low),
        has_value=low,
    )


def _special_distinct_sum(argument: Type) -> Function | None:
    def total(value: str, type_: str) -> str:
        zero, add = f"CAST(0 AS {type_})", f"CAST(a + {value} AS {type_})"
        return f"IF(size(`{{p}}$set`) > 0, aggregate(`{{p}}$set`, {zero}, (a, v) -> {add}), NULL)"

    plain = _distinct(_SUM, total("v", "DECIMAL(38, 0)"))
    if argument.name in ("int", "long"):
        return evolve(plain, finish=_exact(total("v", "DECIMAL(38, 0)")))
    if argument.name != "decimal":
        return None
    digits, scale = argument.parameters
    if digits <= _LOW:
        return evolve(plain, finish=total("v", f"DECIMAL({digits + 10}, {scale})"))
    unit = _unit(scale)
    parts = total(_upper("v", scale), "BIGINT"), total(f"(v % {unit})", f"DECIMAL(38, {scale})")
    return evolve(plain, finish=_whole_of(scale, *parts))


_NUMBERS = {"values": "collect_list({real})"}
_MERGE_VALUES = {"values": all_values("values")}
_HOLDS_VALUES = unless_empty("`{p}$values`")
_DOUBLES = "transform(`{p}$set`, v -> CAST(v AS DOUBLE))"


def _quantile(share: str) -> str:
    rank = f"{share} * (size(s) - 1)"  # linear between the two neighbours, as Spark's `percentile`
    low, high = f"CAST(floor({rank}) AS INT)", f"CAST(ceil({rank}) AS INT)"
    least, greatest = f"get(s, {low})", f"get(s, {high})"
    between = f"{least} + ({greatest} - {least}) * ({rank} - floor({rank}))"
    return let(
        "array_sort(`{p}$values`)",
        "s",
        f"IF(size(s) > 0, IF({least} = {greatest}, {least}, {between}), NULL)",
    )


def _best(usage: str, ascending: str) -> Function:
    return Function(
        usage,
        {"best": f"slice(sort_array(collect_list({{x}}), {ascending}), 1, {{k}})"},
        {"best": f"slice(sort_array({all_values('best')}, {ascending}), 1, {{k}})"},
        unless_empty("`{p}$best`"),
        unless_empty("`{p}$best`"),
        same_alter,
        array_of,
        ("value", "size"),
    )


def _end(usage: str, end: str) -> Function:
    """Returns the first or last value. The order of arrival may have ties, so the value counts too."""
    return Function(
        usage,
        {"end": f"{end}(struct({{order}} AS o, {{x}} AS v)) FILTER (WHERE {{x}} IS NOT NULL)"},
        {"end": f"{end}(`{{p}}$end`)"},
        "`{p}$end`.v",
        "`{p}$end`",
        same_alter,
        argument_type,
        ("value",),
        ordered=True,
    )


def _distinct(function: Function, finish: str) -> Function:
    """Returns a function of the set of values."""
    return evolve(
        function,
        partials={"set": "collect_set({x})"},
        merge={"set": f"array_distinct({all_values('set')})"},
        finish=finish,
        has_value=unless_empty("`{p}$set`"),
    )


_AVG = Function(
    "avg(x)",
    {"sum": "sum({real})", "n": "count({x})"},
    {"sum": "sum(`{p}$sum`)", "n": "sum(`{p}$n`)"},
    "nanvl(`{p}$sum`, double('NaN')) / nullif(`{p}$n`, 0)",
    "nullif(`{p}$n`, 0)",
    same_alter,
    double_type,
)
_AVG_ANGLE = Function(
    "avg_angle(x, 360)",
    angles.PARTIALS,
    angles.MERGE,
    angles.FINISH,
    "nullif(`{p}$n`, 0)",
    scaled_alter,
    double_type,
    ("number", "circle"),
    special=lambda argument: _angle_of_decimals if argument.name == "decimal" else None,
)
_angle_of_decimals = evolve(_AVG_ANGLE, partials=angles.OF_DECIMALS)
_SUM = Function(
    "sum(x)", {"sum": "sum({x})"}, {"sum": "sum(`{p}$sum`)"}, "`{p}$sum`", "`{p}$sum`", scaled_alter, sum_type
)
_COUNT = Function(
    "count(x)",
    {"n": "count({x})"},
    {"n": "sum(`{p}$n`)"},
    "coalesce(`{p}$n`, 0L)",
    "nullif(`{p}$n`, 0)",
    no_alter,
    long_type,
    ("value",),
)
_MIN, _MAX = (
    Function(
        f"{end}(x)",
        {end: f"{end}({{x}})"},
        {end: f"{end}(`{{p}}${end}`)"},
        f"`{{p}}${end}`",
        f"`{{p}}${end}`",
        same_alter,
        argument_type,
        ("value",),
    )
    for end in ("min", "max")
)
_VAR = Function(
    "var(x)",
    {
        "spread": "named_struct('n', count({x}), 'mean', avg(CAST({x} AS DOUBLE)), "
        "'m2', var_pop({x}) * count({x}))"
    },
    {"spread": _SPREAD},
    f"IF(`{{p}}$spread`.n > 1, {_VARIANCE}, NULL)",
    "nullif(`{p}$spread`.n, 0)",
    squared_slope,
    double_type,
)
_QUANTILE = Function(
    "quantile(x, 0.9)",
    _NUMBERS,
    _MERGE_VALUES,
    _quantile("{k}"),
    _HOLDS_VALUES,
    same_alter,
    double_type,
    ("number", "share"),
)
_COLLECT = Function(
    "collect(x)",
    {"list": "collect_list(struct({order} AS o, {x} AS v)) FILTER (WHERE {x} IS NOT NULL)"},
    {"list": all_values("list")},
    unless_empty("transform(array_sort(`{p}$list`), e -> e.v)"),
    unless_empty("`{p}$list`"),
    same_alter,
    array_of,
    ("value",),
    ordered=True,
)
_PRODUCT = Function(
    "product(x)",
    {"product": f"{fold_array('collect_list({real})', '*')}"},
    {"product": f"{fold_array('collect_list(`{p}$product`)', '*')}"},
    "`{p}$product`",
    "`{p}$product`",
    no_alter,
    double_type,
)
_CORR = Function(
    "corr(x, y)",
    _JOINT,
    _MERGE_JOINT,
    "IF(`{p}$min_x` < `{p}$max_x` AND `{p}$min_y` < `{p}$max_y`, "
    "`{p}$joint`.xy / nullif(sqrt(`{p}$joint`.xx) * sqrt(`{p}$joint`.yy), 0), NULL)",
    "nullif(`{p}$joint`.n, 0)",
    no_alter,
    double_type,
    ("number", "number"),
)

_ENDLESS = {
    "min": "coalesce(min(IF({x} < double('Infinity'), {x}, NULL)), CASE WHEN bool_or({x} = double('Infinity')) "
    "THEN double('Infinity') WHEN count({x}) > 0 THEN double('NaN') END)",
    "max": "coalesce(max(IF({x} > double('-Infinity'), {x}, NULL)), "
    "IF(count({x}) > 0, double('-Infinity'), NULL))",
}


def with_infinities(name: str, function: Function, argument: Type) -> Function:
    """Replaces `min` and `max` of doubles for Sail, which begins with the largest finite number."""
    if argument.name != "double" or name not in _ENDLESS:
        return function
    text = _ENDLESS[name]
    return evolve(function, partials={name: text}, merge={name: text.replace("{x}", f"`{{p}}${name}`")})


FUNCTIONS: dict[str, Function] = {
    "avg": evolve(
        _AVG, distinct=_distinct(_AVG, f"{fold_array(_DOUBLES, '+')} / nullif(size(`{{p}}$set`), 0)")
    ),
    "avg_angle": _AVG_ANGLE,
    "sum": evolve(
        _SUM,
        special=_special_sum,
        distinct=evolve(_distinct(_SUM, fold_array(_DOUBLES, "+")), special=_special_distinct_sum),
    ),
    "count": evolve(_COUNT, distinct=_distinct(_COUNT, "CAST(size(`{p}$set`) AS BIGINT)")),
    "min": evolve(_MIN, distinct=_MIN),
    "max": evolve(_MAX, distinct=_MAX),
    "var": _VAR,
    "stddev": evolve(
        _VAR,
        usage="stddev(x)",
        finish=f"IF(`{{p}}$spread`.n > 1, sqrt({_VARIANCE}), NULL)",
        carry=slope_of_alter,
    ),
    "first": _end("first(x)", "min"),
    "last": _end("last(x)", "max"),
    "median": evolve(_QUANTILE, usage="median(x)", finish=_quantile("0.5D"), takes=("number",)),
    "quantile": _QUANTILE,
    "collect": evolve(
        _COLLECT,
        distinct=evolve(
            _COLLECT, finish=unless_empty("array_distinct(transform(array_sort(`{p}$list`), e -> e.v))")
        ),
    ),
    "largest": _best("largest(x, 3)", "false"),
    "smallest": _best("smallest(x, 3)", "true"),
    "product": evolve(_PRODUCT, distinct=_distinct(_PRODUCT, fold_array(_DOUBLES, "*"))),
    "corr": _CORR,
    "slope": evolve(
        _CORR,
        usage="slope(y, x)",
        # The arguments of a slope are swapped, as in Spark's `regr_slope`.
        finish="IF(`{p}$min_y` < `{p}$max_y`, `{p}$joint`.xy / nullif(`{p}$joint`.yy, 0), NULL)",
    ),
}
"""Name in the language -> function; `var` and `stddev` are those of a sample, as in Spark."""

DISTINCT = tuple(name for name, function in FUNCTIONS.items() if function.distinct is not None)
"""The functions that can be taken of distinct values."""
