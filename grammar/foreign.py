"""What other languages call what this one has: types, formats, functions. For hints only."""

from __future__ import annotations

TYPES = {
    **dict.fromkeys(("integer", "int32", "smallint", "tinyint", "short", "byte", "int4", "serial"), "int"),
    **dict.fromkeys(("bigint", "int64", "int8", "uint64", "biginteger"), "long"),
    **dict.fromkeys(("float", "real", "float64", "float32", "double_precision", "number"), "double"),
    **dict.fromkeys(("numeric", "money", "bigdecimal"), "decimal(10, 2)"),
    **dict.fromkeys(("varchar", "text", "char", "str", "nvarchar", "uuid", "json"), "string"),
    **dict.fromkeys(("bool", "bit", "logical"), "boolean"),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_ltz", "timestamp_ntz", "instant"), "timestamp"),
}
"""Types of SQL, Flink, PySpark and others."""

FORMATS = {
    **dict.fromkeys(("jsonl", "ndjson", "jsonlines", "json_lines", "lines"), "json"),
    **dict.fromkeys(("pq", "parq"), "parquet"),
}
"""Formats by other names."""

UNITS = {
    **dict.fromkeys(("ms", "millis", "milli"), "millisecond"),
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    **dict.fromkeys(("m", "min", "mins"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs"), "hour"),
    "d": "day",
    "w": "week",
}
"""Units of time that are written short elsewhere."""

AGGREGATES = {
    **dict.fromkeys(("mean", "average"), "avg(x)"),
    **dict.fromkeys(
        (
            *("count_distinct", "countdistinct", "approx_count_distinct", "approx_distinct", "nunique"),
            *("n_distinct", "uniq", "unique"),
        ),
        "count(distinct x)",
    ),
    **dict.fromkeys(
        ("percentile", "percentile_approx", "approx_percentile", "percentile_cont", "quantiles"),
        "quantile(x, 0.95)",
    ),
    **dict.fromkeys(("std", "stddev_samp", "stdev", "stddev_pop"), "stddev(x)"),
    **dict.fromkeys(("variance", "var_samp", "var_pop"), "var(x)"),
    **dict.fromkeys(
        ("collect_list", "collect_set", "array_agg", "list", "group_concat", "string_agg", "listagg"),
        "collect(x)",
    ),
    **dict.fromkeys(("first_value", "any_value", "head"), "first(x)"),
    **dict.fromkeys(("last_value", "tail", "latest"), "last(x)"),
    **dict.fromkeys(("count_if", "countif"), "count(where t > 90)"),
    **dict.fromkeys(("sum_if", "sumif"), "sum(x where t > 90)"),
    **dict.fromkeys(("total", "add"), "sum(x)"),
    **dict.fromkeys(("minimum", "least"), "min(x)"),
    **dict.fromkeys(("maximum", "greatest"), "max(x)"),
}
"""Aggregate functions by other names, with the call that does the same."""

SCALARS = {
    **dict.fromkeys(("cast", "convert", "try_cast"), "double(x)` or `string(x)"),
    **dict.fromkeys(("float", "number", "to_number", "tonumber", "to_double", "numeric"), "double(x)"),
    **dict.fromkeys(("integer", "to_int", "toint"), "int(x)"),
    **dict.fromkeys(("str", "to_string", "tostring", "varchar", "text"), "string(x)"),
    "bool": "boolean(x)",
    **dict.fromkeys(("strlen", "size", "count_chars"), "length(s)"),
    **dict.fromkeys(("charindex", "strpos", "indexof", "index_of", "find"), "instr(s, part)"),
    **dict.fromkeys(("test", "match", "matches", "regexp_matches"), "rlike(s, '[a-z]+')"),
    "ascii_downcase": "lower(s)",
    "ascii_upcase": "upper(s)",
    **dict.fromkeys(("iif", "ifelse", "when", "choose"), "if(condition, x, y)"),
    **dict.fromkeys(("isna", "is_null"), "isnull(x)"),
    **dict.fromkeys(("fillna", "zeroifnull"), "coalesce(x, 0)"),
    **dict.fromkeys(("extract", "date_part", "datepart"), "year(d)` or `hour(at)"),
    **dict.fromkeys(
        ("to_char", "format_date", "strftime", "date_to_string"), "date_format(at, 'yyyy-MM-dd')"
    ),
    **dict.fromkeys(("datetrunc", "trunc_date"), "date_trunc('hour', at)"),
    **dict.fromkeys(("from_unixtime", "to_timestamp_ltz", "from_epoch"), "timestamp_seconds(x)"),
    **dict.fromkeys(("to_unix_timestamp", "epoch", "to_epoch"), "unix_seconds(at)"),
    **dict.fromkeys(("tumble", "tumbling", "hop", "date_bin"), "window[5 minutes on at as w](R)"),
}
"""Functions of one tuple by other names, with the call that does the same."""


def percentile(name: str) -> str | None:
    """`p95` as a quantile."""
    digits = name[1:]
    return f"quantile(x, 0.{digits})" if name[:1] == "p" and digits.isdecimal() and len(digits) > 1 else None
