"""What other languages call what this one has: types, formats, functions, operators, statements. For hints only."""

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
    **dict.fromkeys(("topic", "kafka_json", "redpanda", "confluent"), "kafka"),
    **dict.fromkeys(("deltalake", "delta_lake", "deltatable"), "delta"),
    **dict.fromkeys(("otel", "opentelemetry", "otlp_json"), "otlp"),
}
"""Formats by other names."""

CONVERTED = (
    'an output brings an attribute to a unit: `emit R to json "path" with t in degC`; '
    "constants are converted by themselves, `t > 30 degC`"
)
"""How values come to another unit, which others write as a function, a cast or a clause."""

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
    **dict.fromkeys(("mean_angle", "circular_mean", "circmean", "avg_direction"), "avg_angle(x)"),
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

STATEMENTS = {
    **dict.fromkeys(
        ("select", "with", "query", "project", "filter"),
        'a relation gets a name, and is written out: `t := project[a](select[a > 1](r));`, `emit t to json "out";`',
    ),
    **dict.fromkeys(
        ("insert", "write", "output", "print", "show", "save", "sink", "return", "execute", "export"),
        'results are written by `emit r to json "out";`',
    ),
    **dict.fromkeys(
        ("create", "source", "input", "read", "from", "load", "kafka", "relation"),
        'a source is declared by `stream r(ts: long, a: int) from json "path";`',
    ),
    **dict.fromkeys(("const", "var", "val", "define", "param", "declare"), "a constant is `let rate = 0.9;`"),
    **dict.fromkeys(("view", "if", "def", "function"), "a relation gets a name by `name := relation;`"),
    **dict.fromkeys(("import", "include", "use", "require"), "a query is one text; nothing is imported"),
}
"""What statements of other languages begin with."""

OPERATORS = {
    **dict.fromkeys(
        ("filter", "where", "having", "grep", "qualify"),
        "tuples are selected by `select[t > 90](R)`",
    ),
    **dict.fromkeys(
        ("map", "withcolumn", "with_column", "mutate", "assign", "transform", "compute"),
        "attributes are computed by `extend[t * 1.8 + 32 as f](R)`",
    ),
    **dict.fromkeys(
        ("orderby", "order_by", "order", "sortby", "sort_by", "sorted"),
        "tuples are sorted by `sort[t desc](R)`",
    ),
    **dict.fromkeys(
        ("groupby", "group_by", "group", "reduce", "summarize", "agg", "fold", "rollup"),
        "groups are made by `aggregate[avg(t) as mean by l](R)`",
    ),
    **dict.fromkeys(("unionall", "union_all", "merge", "append"), "relations are united by `A union B`"),
    **dict.fromkeys(
        ("tumble", "tumbling", "hop", "hopping", "sliding", "slide", "tumblingwindow"),
        "windows are made by `window[5 minutes every 1 minute on at as w](R)`",
    ),
    **dict.fromkeys(
        ("dedup", "dedupe", "unique", "uniq", "drop_duplicates", "dropduplicates", "deduplicate"),
        "equal tuples are left out by `distinct(R)`, `distinct[a, b](R)`",
    ),
    **dict.fromkeys(("take", "head", "fetch"), "the first tuples to arrive are `limit[5](R)`"),
    **dict.fromkeys(
        ("rank", "row_number", "topk", "top_k", "topn", "argmax"),
        "the best of each group are `top[10 by x desc per y](R)`",
    ),
    **dict.fromkeys(
        ("avg", "sum", "count", "min", "max"),
        "functions of many tuples are for `aggregate[avg(t) as mean by l](R)`",
    ),
    **dict.fromkeys(
        ("drop", "drop_columns", "columns", "pick", "alias"),
        "attributes are chosen by `project[a, b as c](R)`",
    ),
    **dict.fromkeys(
        ("recode", "alter", "grow", "evolve", "accent"),
        'accents are lines of a stream, {"$accent": "[[alter(t, y -> y * 2)]]"}; '
        "a query computes by `extend[t * 2 as u](R)`",
    ),
    **dict.fromkeys(("unit", "units", "convert", "to_unit", "with_units"), CONVERTED),
    **dict.fromkeys(
        ("except_", "difference", "subtract", "exceptall"),
        "the difference of relations is written `A minus B`",
    ),
}
"""Operators by other names, with what does the same."""

CLAUSES = {
    "where": "tuples are selected by `select[t > 90](R)`",
    "having": "tuples are selected by `select[mean > 90](R)`, of an aggregate too",
    "group": "groups are made by `aggregate[avg(t) as mean by l](R)`",
    "order": "tuples are sorted by `sort[t desc](R)`",
    "limit": "the first tuples to arrive are `limit[5](R)`",
    "tablesample": "a share of the tuples is `sample[1 in 10 by k](R)`",
    "as": "a relation is named by `name := relation;`",
}
"""What other languages write behind a relation."""

PROMISES = {
    **dict.fromkeys(
        ("watermark", "withwatermark", "lateness", "heartbeats", "heartbeat_"),
        "what is older is closed, as a watermark does, by `heartbeat ts delay 10`",
    ),
    **dict.fromkeys(
        ("punctuate", "punctuation", "punctuations", "punctuates", "puntuated", "punctated"),
        "what the source promises to close is written `punctuated on ts`",
    ),
    **dict.fromkeys(
        ("format", "using", "options", "path", "location", "encoding"),
        'a place is written `from json "path"`; records of `kafka` are JSON, those of `kafka_otlp` requests of OTLP',
    ),
    **dict.fromkeys(
        (
            "version",
            "versionasof",
            "starting",
            "startingversion",
            "offset",
            "earliest",
            "latest",
            "since",
            "from",
        ),
        "a new query reads all that is there; `select` leaves out what is older",
    ),
    **dict.fromkeys(
        ("where", "filter", "select"),
        'tuples are selected by `select[t > 90](R)`, data points of `otlp` by `metrics "http.server.duration"`',
    ),
    **dict.fromkeys(
        ("group", "groupid", "consumer"),
        "no consumer group is asked for: offsets are in the checkpoint of the query",
    ),
    ",": 'a source has one path: relations are united by `A union B`; brokers are `"one:9092,two:9092/topic"`',
}
"""What is written behind a source elsewhere."""

WORDS = frozenset(
    (
        *("and", "or", "not", "in", "is", "null", "between", "as", "on", "by", "to", "from", "join", "union"),
        *(
            "minus",
            "intersect",
            "case",
            "when",
            "then",
            "else",
            "end",
            "desc",
            "asc",
            "every",
            "per",
            "where",
        ),
        *("stream", "table", "set", "let", "emit", "operator", "punctuated", "heartbeat", "delay", "except"),
        *("select", "project", "extend", "rename", "distinct", "sort", "top", "limit", "sample"),
        *("window", "session", "aggregate", "left", "semi", "anti", "true", "false", "rows"),
    )
)
"""Words of the language that are written in capitals elsewhere."""


def percentile(name: str) -> str | None:
    """`p95` as a quantile."""
    digits = name[1:]
    return f"quantile(x, 0.{digits})" if name[:1] == "p" and digits.isdecimal() and len(digits) > 1 else None
