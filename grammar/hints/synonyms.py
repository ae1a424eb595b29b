"""Names in other languages for types, formats, functions, operators and statements of this one. For hints only."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cedilla.grammar.hints import forms


def by_word(table: Mapping[str, str]) -> dict[str, str]:
    """Returns each word with its text. `table`: words that share a text -> the text."""
    return {word: text for words, text in table.items() for word in words.split()}


TYPES = by_word(
    {
        "integer int32 smallint tinyint short byte int4 serial": "int",
        "bigint int64 int8 uint uint32 uint64 biginteger": "long",
        "float real float64 float32 double_precision number": "double",
        "numeric money bigdecimal": "decimal(10, 2)",
        "varchar text char str nvarchar uuid json": "string",
        "bool bit logical": "boolean",
        "datetime timestamptz timestamp_ltz timestamp_ntz instant": "timestamp",
    }
)
"""Types of SQL, Flink, PySpark and others."""

FORMATS = by_word(
    {
        "jsonl ndjson jsonlines json_lines lines": "json",
        "pq parq": "parquet",
        "topic kafka_json redpanda confluent": "kafka",
        "deltalake delta_lake deltatable": "delta",
        "apache_iceberg pyiceberg icebergtable": "iceberg",
        "otel opentelemetry otlp_json": "otlp",
    }
)
"""Formats by other names."""

_SHOWN = "`cedilla read FOLDER` prints an output that was written, `cedilla simulate` runs without an engine"
NO_FORMATS = by_word(
    {
        "print console stdout screen log terminal show memory": _SHOWN,
        "file files folder path fs": 'a folder has a format: `json "path"`',
        "orc hudi text": "this format cannot be read yet",
        "avro kafka_avro protobuf": "records of Avro and Protobuf are read from a topic with a registry, "
        '`from kafka "host:9092/topic" registry "http://host:8081"`',
        "jdbc postgres postgresql mysql sqlite http https mqtt pulsar kinesis socket": "sources and outputs are "
        "files, topics of Kafka and tables of Delta or Iceberg",
        "s3 gcs hdfs abfs": 'a store is part of the path: `json "s3://bucket/path"`',
    }
)
"""Formats that there are not, and what to do."""

_LATER = (
    "tuples after it are those before it in the opposite order, in a window that closes: "
    "`running[avg(x) as mean per k, w on ts desc over last 5 rows](R)`"
)
FRAMES = by_word(
    {
        "following next future": f"a frame has the tuples up to each one; {_LATER}",
        "rows range groups between preceding current unbounded": "a frame ends with its tuple and comes last, "
        "`running[avg(x) as mean per k on ts over last 5 rows](R)`, or last 10 minutes, or all with ties, which is "
        f"SQL's RANGE; {_LATER}",
        "ignore respect nulls": "`first`, `last`, `nth`, sums and the like leave undefined values out, `lag` does not",
    }
)
"""Frames of SQL, in `running`."""
BEYOND_FRAMES = {
    f"{end} {word}": f"a frame ends with its tuple; {_LATER}"
    for end in ("rows", "seconds", "minutes", "hours", "days")
    for word in ("and", "following")
}
"""Words after a frame of `running`."""
PARTITIONS = by_word(
    {
        "partition": "keys come after `per`, the order after `on`: `running[sum(x) as total per k on ts](R)`",
        "order": "the order comes after `on`: `running[sum(x) as total per k on ts, id desc](R)`",
        "over": "the frame comes last, and `per` is PARTITION BY: "
        "`running[sum(x) as total per k on ts over last 5 rows](R)`",
        "ignore respect": FRAMES["ignore"],
    }
)
"""Parts of OVER of SQL, after the functions of `running`."""

NO_TYPES = by_word(
    {
        "map struct row object record jsonb variant": "a field inside of an object is declared by its path: `city: "
        'string from "address.city"`; `each` after the path of the source takes maps and lists apart',
        "array list set vector": "`tags: list of string` or `xs: list of double` declares a list",
        "time interval duration": "a length of time is a number with a unit, `d: double unit s`",
        "binary bytes blob bytea varbinary": "bytes are texts: declare it as `string`, which `base64_to_hex(s)` and "
        "`from_base(s, 16)` read",
        "enum": '`string in {"a", "b"}` lists the values',
    }
)
"""Types that there are not, and what to declare."""

CONVERTED = (
    'an output brings an attribute to a unit: `emit R to json "path" with t in degC`; '
    "constants are converted by themselves, `t > 30 degC`"
)
"""The conversion of values to another unit, which other systems write as a function, a cast or a clause."""

UNITS = by_word(
    {
        "ms millis milli": "millisecond",
        "s sec secs": "second",
        "m min mins": "minute",
        "h hr hrs": "hour",
        "d": "day",
        "w": "week",
    }
)
"""Units of time that are written short elsewhere."""

_ALTER = "alter(t, y -> y * 2)"
CHANGES = by_word(
    {
        "add insert create new introduce": "+(p: double)",
        "drop delete remove del": "-(p)",
        "change scale multiply map modify update transform set apply": _ALTER,
        "convert units to_unit measure": "unit(t, degC)",
        "decibel decibels db dbm log10 ph": "unit(p, dBm)",
        "extend domain widen expand allow": "grow(s, {3})",
        "replace translate decode encode recoding codes": "recode(k, {1: 2, 2: 1})",
        "move alias name": "rename(new, old)",
        "exchange switch interchange": "swap(a, b)",
        "overflow rollover modulo mod unsigned signed wraparound": "wrap(x, 65536)",
        "timezone time_zone tz": 'zone(at, "Europe/Berlin")',
        "comma locale number_format separator sign": 'decimal(x, ",")',
        "undefined null none nodata sentinel na": "missing(x, {-999})",
    }
)
"""Changes of accents by other names."""

_AFTER = "a time after another one is `at > 2025-01-31`, one before it `at < 2025-01-31`"
_NO_OR = "conditions are joined by `,` or `and`: several values are `s in {2, 3}`, other cases are accents of their own"
CONDITIONS = by_word(
    {
        "or | || xor": _NO_OR,
        "not !": "the opposite of a condition is `s != 3`, `t <= 5`",
        "after before since till": _AFTER,
        "is": "equality is written `=`",
        "between from until": "a range is written `ts in [0, 60)`, both ends included `ts in [0, 60]`",
        "like ilike rlike matches contains startswith": "a condition compares with constants: `s = 2`, `s in {1, 2}`, "
        "`ts in [0, 60)`",
        "now today current_timestamp": "a condition compares with a constant, not with a function: "
        "`at < 2025-01-31T12:00:00Z`",
        "where if when for select case": f"conditions come first, then the change: `[[s = 2, {_ALTER}]]`",
    }
)
"""Words in conditions of other languages that markers do not have."""

STATEMENTS = by_word(
    {
        "select with query project filter": "a relation gets a name, and is written out: `t := project[a](select[a > "
        '1](r));`, `emit t to json "out";`',
        "insert write output print show save sink return execute export": "results are written by `emit r to json "
        '"out";`',
        "create source input read load kafka relation": "a source is declared by `stream r(ts: long, a: int) from "
        'json "path";`',
        "from": 'a relation is selected by `t := select[a > 1](r);` and written by `emit t to json "out";`; '
        'a source is declared by `stream r(ts: long) from json "path";`',
        "const var val define param declare": "a constant is `let rate = 0.9;`",
        "view if def function": "a relation gets a name by `name := relation;`",
        "import include use require": "a query is one text; nothing is imported",
    }
)
"""First words of statements in other languages."""

OPERATORS = by_word(
    {
        "join": "relations are joined by `A join B on k`",
        "union unionall union_all merge append": "relations are united by `A union B`",
        "intersect": "tuples of both relations are `A intersect B`",
        "minus": "the difference of relations is `A minus B`",
        "filter where having grep qualify": "tuples are selected by `select[t > 90](R)`",
        "map withcolumn with_column mutate assign transform compute": "attributes are computed by `extend[t * 1.8 + "
        "32 as f](R)`",
        "orderby order_by order sortby sort_by sorted": "tuples are sorted by `sort[t desc](R)`",
        "groupby group_by group reduce summarize summarise agg fold rollup": "groups are made by "
        "`aggregate[avg(t) as mean by l](R)`",
        "tumble tumbling hop hopping sliding slide tumblingwindow": "windows are made by `window[5 minutes every 1 "
        "minute on at as w](R)`",
        "dedup dedupe unique uniq drop_duplicates dropduplicates deduplicate": "equal tuples are left out by "
        "`distinct(R)`, `distinct[a, b](R)`",
        "take head fetch": "the first tuples to arrive are `limit[5](R)`",
        "rank row_number topk top_k topn argmax": "the best of each group are `top[10 by x desc per y](R)`",
        "avg sum count min max": "functions of many tuples are for `aggregate[avg(t) as mean by l](R)`",
        "drop drop_columns columns pick alias": "attributes are chosen by `project[a, b as c](R)`",
        "recode alter grow evolve accent": 'accents are lines of a stream, {"$accent": "[[alter(t, y -> y * 2)]]"}; '
        "a query computes by `extend[t * 2 as u](R)`",
        "unit units convert to_unit with_units": CONVERTED,
        "except_ difference subtract exceptall": "the difference of relations is written `A minus B`",
    }
)
"""Operators by other names, with what does the same."""


def around(text: str) -> str:
    """Returns the hint for an operator that is written after its input; `text` begins with its name."""
    named = re.match(r"[\W_]*(\w*)", text)
    name = named[1].lower() if named else ""
    form = forms.OPERATORS.get(name, "select[t > 90](R)")
    other = None if name in forms.OPERATORS else OPERATORS.get(name) or CLAUSES.get(name)
    return other or f"operators are written around their input: `{form}`"


AFTER_GROUPS = by_word(
    {
        "having qualify": "results are selected after it: `select[mean > 90](aggregate[...](R))`",
        "where": "tuples are selected before it, `aggregate[...](select[t > 90](R))`, results after it, "
        "`select[mean > 90](aggregate[...](R))`, those of one function by `sum(x where t > 90)`",
        "order sort": "results are sorted after it: `sort[mean desc](aggregate[...](R))`",
        "limit": "the first of an order are `top[10 by mean desc](aggregate[...](R))`",
        "window": "windows are made before it: `aggregate[avg(t) as m by w](window[5 minutes on at as w](R))`",
        "(": "a key is an attribute: `extend[hour(at) as h](R)` computes one before; keys come last: "
        "`aggregate[avg(t) as mean, count() as n by l](R)`",
        "descending ascending down up reverse decreasing": "a direction is `asc` or `desc`",
        "nulls": "undefined values come last, ascending or descending",
    }
)
"""Words after the keys of an operator in other languages."""

_NO_KEYS = "a source has no keys or indexes: leave the word out"
_MAY_MISS = "every tuple has an attribute, unless it is declared with `?` after its name: `a?: int`"
DECLARED = by_word(
    {
        "not null nullable optional required nonnull ?": _MAY_MISS,
        "primary unique key index references auto_increment identity foreign": _NO_KEYS,
        "= :=": "the value of tuples without the attribute is its default: `a: int default 0`",
        "precision": "`double` alone",
        "unsigned": "`int` and `long` have a sign: `a: long in [0, )` declares what is not negative",
        "varying": "`string` alone",
        "with without timezone tz": "a `timestamp` without an offset is in UTC; local times are `at: timestamp zone "
        '"Europe/Berlin"`',
        "metadata": 'an attribute is read from a field of its tuple: `at: timestamp from "time"`',
        "generated": "attributes are computed by `extend[t * 2 as u](R)`",
        "check": "the values of an attribute are declared by `in {1, 2}` or `in [1, 10)`",
        "comment": "a comment begins with `#` and ends with its line",
        "[ ( NAME": "a unit is written `double unit degC`, a list `list of string`; a comma separates attributes",
        "list <": "a stream declares lists, `tags: list of string`, and no accent adds one",
    }
)
"""Words after the type of an attribute in other languages."""

AFTER_VALUES = {
    "unit": "a unit comes before the domain and the default: `t: double unit degC in [0, 40] default 20`",
    "in": "a domain comes before the default: `s: int in {1, 2} default 1`",
    "from": 'the path comes once, after the type: `shop: string from "order.shop" default "web"`',
    "(": 'it is a constant alone: `at: timestamp default "2026-01-01T00:00:00Z"`',
}
"""Words after the values of an attribute in other languages."""

OUTPUTS = by_word(
    {
        "key keyed partition partitioned": "in Kafka the key of records is part of the address: "
        '`to kafka "host:9092/topic?key=k"`'
    }
)
"""Words after the place of an output in other languages."""
CONVERSIONS = {"NAME": "an output has a unit by `with t in degC`, or all as they came by `in original units`"}
"""Words after an output that is `in` something."""
KEYS = {"as": f"the key of an output that is updated comes before its place: `{forms.LATEST}`"}
"""Words after the place of an output that is updated."""
LATEST = by_word(
    {
        "NAME last": "a relation is named by `name := relation;`; an output that is updated is written "
        f"`{forms.LATEST}`"
    }
)
"""Words after a relation that is emitted `as` something."""

CLAUSES = by_word(
    {
        "where": "tuples are selected by `select[t > 90](R)`",
        "having": "tuples are selected by `select[mean > 90](R)`, of an aggregate too",
        "group": "groups are made by `aggregate[avg(t) as mean by l](R)`",
        "order": "tuples are sorted by `sort[t desc](R)`",
        "limit": "the first tuples to arrive are `limit[5](R)`",
        "sort filter select project window top distinct rename aggregate map": "operators are written around "
        "their input: `sort[t desc](R)`, `select[t > 90](R)`",
        "difference except subtract - without": "the difference of relations is written `A minus B`",
        "by": "groups are made by `aggregate[avg(t) as mean by l](R)`",
        "in with": CONVERTED,
        "{": "operators are written around their input: `select[t > 90](R)`",
        "tablesample": "a share of the tuples is `sample[1 in 10 by k](R)`",
        "as": "a relation is named by `name := relation;`",
        "latest upsert upserted merge update updated": f"an output that is updated is written `{forms.LATEST}`",
        " ".join(("into", *forms.FORMATS)): 'an output is written `emit R to json "path"`',
    }
)
"""Words after a relation in other languages."""

JOINS = by_word(
    {
        "natural lookup asof temporal interval hash broadcast equi self lateral outer semi anti left inner join "
        "antijoin semijoin leftjoin innerjoin outerjoin crossjoin hashjoin leftouter rightouter fullouter leftsemi "
        "leftanti": "joins are `A join B on k`, `A left join B on k`, `A semi join B on k`, `A anti join B on k`",
        "right rightjoin": "`B left join A on k` says the same as a right join",
        "full fulljoin": "a full join is the union of `A left join B on k` and `B anti join A on k`",
        "cross": "a join requires attributes that are equal: `A join B on k`",
        ",": "two relations are joined by `A join B on k`, or united by `A union B`",
        "+ &": "relations are united by `A union B`; tuples of both are `A intersect B`",
    }
)
"""Words and signs between two relations in other languages."""

AFTER_SETS = by_word(
    {
        "if": "tuples are chosen by `select[t > 90](R)`",
        "all": "a union keeps all tuples; `distinct(A union B)` leaves out equal ones",
        "distinct": "attributes are written in brackets, `distinct[a, b](R)`; equal tuples of two relations are left "
        "out by `distinct(A union B)`",
    }
)
"""Words before a relation in other languages."""

AFTER_RESULTS = by_word(
    {
        "by , ]": "a result has a name, and groups come last: `aggregate[avg(t) as mean by l](R)`",
        "where": "a condition is part of the call: `count(where t > 90)`, `sum(x where t > 90)`",
    }
)
"""Words after a result in other languages."""

AFTER_WINDOWS = by_word(
    {
        "every sliding slide hop step": f"the step comes before `on`: `{forms.OPERATORS['window']}`",
        "by per partition for group": "a window is of all tuples; its groups are `aggregate[avg(t) as mean by k, w]"
        "(window[...](R))`",
    }
)
"""Words after the attribute of a window in other languages."""

_ONE_PATH = (
    'a source has one path: relations are united by `A union B`; brokers are `"one:9092,two:9092/topic"`'
)
PROMISES = by_word(
    {
        "watermark withwatermark lateness heartbeats heartbeat_": "a watermark is written `heartbeat ts delay 10`",
        "punctuate punctuation punctuations punctuates puntuated punctated": "a promise of punctuations "
        "is written `punctuated on ts`",
        "using options path location encoding": 'a place is written `from json "path"`; records of `kafka` are '
        "JSON, or by a `registry` of schemas also Avro, those of `kafka_otlp` requests of OTLP",
        "version versionasof starting startingversion offset earliest latest since": "a new query reads all that "
        "is there; `select` leaves out what is older",
        "where filter select": "tuples are selected by `select[t > 90](R)`, data points of `otlp` by `metrics "
        '"http.server.duration"`',
        "group groupid consumer": "no consumer group is asked for: offsets are in the checkpoint of the query",
        "order sort ordering": "tuples come in the order of their files, by time or, `ordered by name`, by name; "
        "`sort[a](R)` sorts them",
        "with properties": 'a source has no properties: `from kafka "host:9092/topic"`; those of Kafka are in a file',
        ",": _ONE_PATH,
        "from": f"{_ONE_PATH}; a new query reads all that is there",
    }
)
"""Words after a source in other languages."""
