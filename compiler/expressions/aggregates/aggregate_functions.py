"""Aggregate functions: partial results, how these merge, and the effect of an Alter on them (theory 2.8)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from cedilla.compiler.expressions.aggregates import angles, chosen_values, histograms, variances
from cedilla.compiler.expressions.aggregates.aggregate_function import Function
from cedilla.compiler.expressions.aggregates.aggregate_kinds import SPLIT_DIGITS
from cedilla.compiler.expressions.aggregates.aggregate_parts import (
    all_values,
    argument_type,
    fold_array,
    let,
    no_alter,
    same_alter,
    scaled_alter,
    slope_of_alter,
    squared_slope,
    sum_type,
    unless_empty,
)
from cedilla.compiler.expressions.aggregates.split_sums import in_two_parts, unit, upper, whole_of
from cedilla.compiler.expressions.types import DOUBLE, LONG, STRING, Type, array_of


def _exact(text: str) -> str:
    """Returns a sum as a long, undefined if it has more than 64 bits."""
    return f"try_cast({text} AS BIGINT)"


# Two halves of 32 bits each never overflow, and cost no more than one sum; decimals would cost several times as much.
_SUM_OF_LONGS = {
    "sum": "CAST(CAST(sum(shiftright({x}, 32)) AS DECIMAL(20, 0)) * 4294967296BD + sum({x} & 4294967295L) "
    "AS DECIMAL(38, 0))"
}


def _special_sum(argument: Type) -> Function | None:
    """Returns sums that do not overflow on the way, whatever the order of the values."""
    if argument == LONG:
        return evolve(_SUM, partials=_SUM_OF_LONGS, finish=_exact("`{p}$sum`"))
    if argument.name != "decimal" or argument.parameters[0] <= SPLIT_DIGITS:
        return None
    scale = argument.parameters[1]
    least, low = unit(scale), "`{p}$sum`.low"
    return evolve(
        _SUM,
        partials={"sum": in_two_parts(upper("{x}", scale), f"{{x}} % {least}", scale)},
        merge={"sum": in_two_parts("`{p}$sum`.high", low, scale)},
        finish=whole_of(scale, "`{p}$sum`.high", low),
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
    if digits <= SPLIT_DIGITS:
        return evolve(plain, finish=total("v", f"DECIMAL({digits + 10}, {scale})"))
    least = unit(scale)
    parts = total(upper("v", scale), "BIGINT"), total(f"(v % {least})", f"DECIMAL(38, {scale})")
    return evolve(plain, finish=whole_of(scale, *parts))


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
    {"total": "sum({real})", "n": "count({x})"},
    {"total": "sum(`{p}$total`)", "n": "sum(`{p}$n`)"},
    "nanvl(`{p}$total`, double('NaN')) / nullif(`{p}$n`, 0)",
    "nullif(`{p}$n`, 0)",
    same_alter,
    DOUBLE,
)
_AVG_ANGLE = Function(
    "avg_angle(x, 360)",
    angles.PARTIALS,
    angles.MERGE,
    angles.FINISH,
    "nullif(`{p}$n`, 0)",
    scaled_alter,
    DOUBLE,
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
    LONG,
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
_VARIANCE, _VARIANCE_POP = (of("`{p}$spread`.m2") for of in (variances.of_sample, variances.of_population))
_VAR = Function(
    "var(x)",
    variances.SPREAD,
    variances.MERGE_SPREAD,
    _VARIANCE,
    "nullif(`{p}$spread`.n, 0)",
    squared_slope,
    DOUBLE,
)
_QUANTILE = Function(
    "quantile(x, 0.9)",
    _NUMBERS,
    _MERGE_VALUES,
    _quantile("{k}"),
    _HOLDS_VALUES,
    same_alter,
    DOUBLE,
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
_STRING_AGG = evolve(
    _COLLECT,
    usage="string_agg(x, ', ')",
    finish="IF(size(`{p}$list`) > 0, array_join(transform(array_sort(`{p}$list`), e -> e.v), {k}), NULL)",
    carry=no_alter,
    gives=STRING,
    takes=("string", "text"),
)
_PRODUCT = Function(
    "product(x)",
    {"product": f"{fold_array('collect_list({real})', '*')}"},
    {"product": f"{fold_array('collect_list(`{p}$product`)', '*')}"},
    "`{p}$product`",
    "`{p}$product`",
    no_alter,
    DOUBLE,
)
_HISTOGRAM_QUANTILE = Function(
    "histogram_quantile(buckets, bounds, 0.95)",
    {"histogram": histograms.histogram("{x}", "{y}")},
    {"histogram": "`{p}$histogram`"},
    histograms.quantile("`{p}$histogram`", "{k}"),
    unless_empty("`{p}$histogram`"),
    no_alter,
    DOUBLE,
    ("counts", "list", "share"),
    has_entries=True,
)
_CORR = Function(
    "corr(x, y)",
    variances.JOINT,
    variances.MERGE_JOINT,
    "IF(`{p}$min_x` < `{p}$max_x` AND `{p}$min_y` < `{p}$max_y`, "
    "`{p}$joint`.xy / nullif(sqrt(`{p}$joint`.xx) * sqrt(`{p}$joint`.yy), 0), NULL)",
    "nullif(`{p}$joint`.n, 0)",
    no_alter,
    DOUBLE,
    ("number", "number"),
)

_ENDLESS = {
    "min": "coalesce(min(IF({x} < double('Infinity'), {x}, NULL)), CASE WHEN bool_or({x} = double('Infinity')) "
    "THEN double('Infinity') WHEN count({x}) > 0 THEN double('NaN') END)",
    "max": "CASE WHEN bool_or(isnan({x})) THEN double('NaN') "
    "ELSE coalesce(max(IF({x} > double('-Infinity'), {x}, NULL)), "
    "IF(count({x}) > 0, double('-Infinity'), NULL)) END",
}


def with_infinities(function: Function, arguments: Mapping[str, Type]) -> Function:
    """Replaces the least and the greatest of doubles for Sail, which begins with the largest finite number, and forgets
    a NaN before or after other numbers. `arguments`: the types of `x` and `y`."""
    partials, merge = dict(function.partials), dict(function.merge)
    for part in partials:
        end, _, argument = part.partition("_")
        if end in _ENDLESS and arguments[argument or "x"].name == "double":
            partials[part] = _ENDLESS[end].replace("{x}", f"{{{argument or 'x'}}}")
            merge[part] = _ENDLESS[end].replace("{x}", f"`{{p}}${part}`")
    return evolve(function, partials=partials, merge=merge)


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
    "stddev": evolve(_VAR, usage="stddev(x)", finish=f"sqrt({_VARIANCE})", carry=slope_of_alter),
    "var_pop": evolve(_VAR, usage="var_pop(x)", finish=_VARIANCE_POP),
    "stddev_pop": evolve(_VAR, usage="stddev_pop(x)", finish=f"sqrt({_VARIANCE_POP})", carry=slope_of_alter),
    "first": chosen_values.end_of("first", "min"),
    "last": chosen_values.end_of("last", "max"),
    "arg_max": chosen_values.extreme("arg_max", "max"),
    "arg_min": chosen_values.extreme("arg_min", "min"),
    "mode": chosen_values.MODE,
    "median": evolve(_QUANTILE, usage="median(x)", finish=_quantile("0.5D"), takes=("number",)),
    "quantile": _QUANTILE,
    "collect": evolve(
        _COLLECT,
        distinct=evolve(
            _COLLECT, finish=unless_empty("array_distinct(transform(array_sort(`{p}$list`), e -> e.v))")
        ),
    ),
    "string_agg": evolve(
        _STRING_AGG,
        distinct=evolve(
            _STRING_AGG,
            finish="IF(size(`{p}$list`) > 0, "
            "array_join(array_distinct(transform(array_sort(`{p}$list`), e -> e.v)), {k}), NULL)",
        ),
    ),
    "largest": chosen_values.best("largest(x, 3)", "false"),
    "smallest": chosen_values.best("smallest(x, 3)", "true"),
    "product": evolve(_PRODUCT, distinct=_distinct(_PRODUCT, fold_array(_DOUBLES, "*"))),
    "bit_and": chosen_values.bits("bit_and"),
    "bit_or": chosen_values.bits("bit_or"),
    "covar": evolve(_CORR, usage="covar(x, y)", finish=variances.of_sample("`{p}$joint`.xy")),
    "covar_pop": evolve(_CORR, usage="covar_pop(x, y)", finish=variances.of_population("`{p}$joint`.xy")),
    "corr": _CORR,
    "slope": evolve(
        _CORR,
        usage="slope(y, x)",
        # The arguments of a slope are swapped, as in Spark's `regr_slope`.
        finish="IF(`{p}$min_y` < `{p}$max_y`, `{p}$joint`.xy / nullif(`{p}$joint`.yy, 0), NULL)",
    ),
    "histogram_quantile": _HISTOGRAM_QUANTILE,
}
"""Name in the language -> function; `var`, `stddev` and `covar` are those of a sample."""

DISTINCT = tuple(name for name, function in FUNCTIONS.items() if function.distinct is not None)
"""The functions that can be taken of distinct values."""
