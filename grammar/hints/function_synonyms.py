"""Functions of SQL, Spark, Flink, pandas, PromQL, jq and Excel, with what the language has for each. For hints only."""

from __future__ import annotations

_DIFFERENCE = (
    "the difference of two timestamps is a number, their seconds: `(ended - began) / 1 minute`; "
    "`datediff(ended, began)` counts days"
)
_EARLIER = "functions of the tuples before are `running[lag(x) as before, delta(x) as change per k on ts](R)`"
_LATER = (
    "the tuple after each is the one before it in the opposite order, in a window that closes: "
    "`running[lag(x) as next per k, w on at desc](R)`"
)
_SHARE = (
    "shares and tiles are computed from the place and the count: `running[rank() as place per w on x](R)`, joined "
    "with `aggregate[count() as n by w](R)`"
)
_BEST = "the best tuples of each group are `top[1 by at desc per k](R)`"
_NO_LISTS = (
    "a list of values is read by `size(xs)` or `element_at(xs, 1)` and taken apart by `unnest[xs as x](R)`; lists of "
    "objects and maps are taken apart where the source is declared, by `each`"
)
_INSIDE = 'a field inside of an object is declared: `city: string from "address.city"`'
_COUNTER = "a counter in a window: `aggregate[increase(x) as grown by k, w](window[1 hour on at as w](R))`"
_MOVING = (
    "a moving average is `running[avg(x) as mean per k on at over last 5 rows](R)`, or of the last 10 minutes; "
    "for each minute it is `avg(x)` over a sliding window, `window[5 minutes every 1 minute on at as w](R)`"
)
_CAST = "a value is converted by `int(x)`, `double(x)`, `string(x)`, `date(x)` or `timestamp(x)`"
_COLUMN = (
    "an attribute is written by its name alone, without quotes: `a`; a constant without quotes, too: `5`"
)
_ANY = "`count(where t > 90) > 0` tests whether some tuples meet a condition, `count(where t <= 90) = 0` whether all do"
_REGRESSION = "of two values there are `slope(x, y)`, `corr(x, y)` and `covar(x, y)`"

_AGGREGATES = {
    "avg(x)": "mean average avrg",
    "avg_angle(x)": "mean_angle circular_mean circmean avg_direction",
    "count(distinct x)": "count_distinct countdistinct distinct_count distinctcount approx_count_distinct "
    "approx_distinct nunique n_distinct uniq unique dcount cardinality",
    "count()": "n count_all count_rows countrows nrow size_of_group counter",
    "sum(distinct x)": "sum_distinct sumdistinct",
    "quantile(x, 0.95)": "percentile percentile_approx approx_percentile percentile_cont quantiles approx_quantile "
    "quantile_cont quantile_over_time pct",
    "median(x)": "approx_median median_approx",
    "stddev(x)": "std stddev_samp stdev sd stdev_s standard_deviation",
    "var(x)": "variance var_samp var_s",
    "collect(x)": "collect_list array_agg list tolist make_list to_list",
    "collect(distinct x)": "collect_set make_set array_distinct",
    "first(x)": "first_value any_value head earliest earliest_by_offset anyvalue",
    "last(x)": "last_value tail latest latest_by_offset last_over_time",
    "count(where t > 90)": "count_if countif counts_if",
    "sum(x where t > 90)": "sum_if sumif",
    "avg(x where t > 90)": "avg_if avgif averageif",
    "sum(x)": "total add sum_over_time summe",
    "min(x)": "minimum min_over_time",
    "max(x)": "maximum max_over_time",
    "product(x)": "prod",
    "corr(x, y)": "correlation pearson",
    "max(x) - min(x)": "spread range value_range",
    "sum(x * w) / sum(w)": "weighted_avg wavg weighted_average weighted_mean",
    "exp(avg(ln(x)))": "geomean geometric_mean gmean",
    "quantile(x, 0.75) - quantile(x, 0.25)": "iqr",
    "stddev_pop(x)": "stdev_p stdevp stddevp",
    "var_pop(x)": "varp var_p variance_pop variancep",
    "covar(x, y)": "covar_samp covariance cov",
    "mode(x)": "most_frequent most_common",
    "arg_max(x, y)": "max_by maxby argmax max_row idxmax",
    "arg_min(x, y)": "min_by minby argmin idxmin",
    "string_agg(x, ', ')": "listagg group_concat concat_agg string_join textjoin concat_all wm_concat strings_concat",
    "bit_and(x)": "bitand",
    "bit_or(x)": "bitor",
}
_AGGREGATES_INSTEAD = {
    "count first, then choose: `top[3 by n desc per k](aggregate[count() as n by k, x](R))`": "approx_top_k",
    _ANY: "bool_or bool_and boolor booland any every all some logical_or logical_and or_agg and_agg",
    "bits are combined by `bit_and(x)` and `bit_or(x)`": "bit_xor bitxor",
    _COUNTER: "irate delta idelta deriv derivative changes resets differences",
    "`count()` by `floor(x / 10)` counts in bins: `extend[floor(x / 10) as bin](R)`": "histogram "
    "histogram_numeric width_bucket bucket",
    _MOVING: "ewma ema moving_avg moving_average rolling rolling_mean sma movingaverage",
    "`quantile(x, 0.95)` lies between two neighbours, `largest(x, n)` is one of the values": "percentile_disc "
    "quantile_disc",
    _REGRESSION: "skewness kurtosis skew kurt regr_slope regr_r2 linear_regression entropy",
    _BEST: "topk top_k nth_value bottomk",
}
_SCALARS = {
    "bitwise_and(x, y)": "bitand",
    "bitwise_or(x, y)": "bitor",
    "bitwise_xor(x, y)": "bitxor xor bit_xor",
    "bitwise_not(x)": "bitnot bit_not bitneg",
    "shift_left(x, n)": "bitshiftleft bitwise_left_shift bitlshift bit_shift_left lshift",
    "shift_right(x, n)": "bitshiftright bitwise_right_shift bitrshift bit_shift_right rshift",
    "bit(x, n)": "getbit get_bit bit_get bittest bit_test",
    "bit_count(x)": "bitcount popcount",
    "from_base(s, 16)": "conv hex2dec hex_to_int hextoint hex_to_long parse_hex",
    "to_base(x, 16)": "to_hex dec2hex int_to_hex tohex",
    "unhex(s)": "from_hex hex_decode fromhex hex_to_text",
    "hex(s)": "hex_encode",
    "base64(s)": "to_base64 base64_encode base64encode base64_encode_string b64encode",
    "unbase64(s)": "from_base64 base64_decode base64decode base64_decode_string b64decode base64_to_text",
    "double(x)": "float number to_number tonumber to_double numeric val todouble to_float parsefloat float64",
    "int(x)": "tointeger to_integer integer to_int toint parseint toint32 int32",
    "long(x)": "to_long tolong int64 fix toint64",
    "string(x)": "str to_string tostring varchar text",
    "boolean(x)": "bool to_boolean toboolean",
    "length(s)": "strlen count_chars string_length charlength lenght nchar",
    "instr(s, part)": "charindex strpos indexof index_of find index search",
    "rlike(s, '[a-z]+')": "test match matches regexp_matches regex_match regexmatch regexp_contains similar_to",
    "regexp_replace(s, '[a-z]+', new)": "gsub regex_replace replace_regex replace_all replaceall sub",
    "regexp_extract(s, '([a-z]+)', 1)": "regexp_substr regex_extract regexp_match extract_regex",
    "lower(s)": "ascii_downcase tolower to_lower lowercase lower_case downcase tolowercase",
    "upper(s)": "ascii_upcase toupper to_upper uppercase upper_case upcase touppercase",
    "initcap(s)": "capitalize title proper",
    "trim(s)": "strip",
    "ltrim(s)": "lstrip trimstart",
    "rtrim(s)": "rstrip trimend",
    "concat(s, s)": "paste paste0 strcat concatenate concat_string str_concat",
    "substring(s, from, length)": "mid substrb slice substr_utf8 substring_utf8",
    "size(xs)": "array_length array_size list_length",
    "element_at(xs, 1)": "element list_element array_get list_get",
    "list_sum(xs)": "array_sum sum_list listsum",
    "list_avg(xs)": "array_avg list_mean array_average",
    "list_min(xs)": "array_min",
    "list_max(xs)": "array_max",
    "split(s, ',')": "string_to_array string_split",
    "split_part(s, ',', 1)": "split_string strtok str_split split_index splitpart",
    "startswith(s, part)": "starts_with begins_with beginswith has_prefix hasprefix",
    "endswith(s, part)": "ends_with has_suffix hassuffix",
    "contains(s, part)": "includes str_contains has contains_substr contains_string has_substring",
    "repeat(s, n)": "replicate rept",
    "lpad(s, n)": "padleft pad_left zfill leftpad",
    "rpad(s, n)": "padright pad_right rightpad",
    "sha2(s, 256)": "sha256 sha_256 sha2_256",
    "sha2(s, 512)": "sha512 sha_512",
    "if(condition, x, y)": "iif iff ifelse if_else when choose ifthenelse if_then_else cond where tern ternary",
    "case when t > 90 then 'hot' else 'cold' end": "decode switch case_when choose_by map_values ifs",
    "isnull(x)": "isna is_null isundefined is_missing isblank",
    "isnotnull(x)": "isnotna notnull notna is_not_null isdefined not_null",
    "isnan(x)": "is_nan",
    "coalesce(x, 0)": "fillna zeroifnull nz fill_null fill_na coalesc default if_null zeroifundefined",
    "nullif(x, 0)": "nullifzero na_if",
    "abs(x)": "fabs absolute absolute_value",
    "ceil(x)": "roundup round_up",
    "floor(x)": "rounddown round_down",
    "floor(a / b)": "int_div intdiv integer_divide quotient div",
    "mod(x, y)": "modulo modulus remainder rem fmod",
    "floor(x / 10) * 10": "bin bin_at",
    "s = ''": "isempty is_empty empty",
    "s != ''": "isnotempty is_not_empty",
    "sin(radians(x))": "sind",
    "cos(radians(x))": "cosd",
    "tan(radians(x))": "tand",
    "x * x": "square sqr squared",
    "pow(x, 1 / 3)": "nthroot",
    "sqrt(x)": "sqroot square_root squareroot",
    "ln(x)": "loge log_e natural_log",
    "log10(x)": "log_10 lg",
    "pow(x, y)": "pwr expt",
    "pi()": "math_pi m_pi",
    "greatest(x, y)": "max_of maximum_of scalar_max max2",
    "least(x, y)": "min_of minimum_of scalar_min min2",
    "least(greatest(x, low), high)": "clamp clip bound",
    "date_format(at, 'yyyy-MM-dd')": "to_char format_date strftime date_to_string format_datetime format_timestamp "
    "datetime_format tochar date_to_str todatestring formatdatetime",
    "date_trunc('hour', at)": "datetrunc trunc_date timestamp_trunc datetime_trunc time_bucket floor_time",
    "timestamp_seconds(x)": "from_unixtime to_timestamp_ltz from_epoch epoch_to_timestamp fromtimestamp todatetime "
    "from_unix_time",
    "timestamp_millis(x)": "from_unixtime_millis epoch_ms from_epoch_millis millis_to_timestamp",
    "unix_seconds(at)": "to_unix_timestamp epoch to_epoch to_unixtime unixepoch unixtime epoch_seconds to_seconds",
    "unix_millis(at)": "to_epoch_millis epoch_millis to_unix_millis millis to_epoch_ms",
    "dayofweek(d)": "dow day_of_week isodow",
    "dayofyear(d)": "doy day_of_year yday",
    "day(d)": "day_of_month mday",
    "weekofyear(d)": "week week_of_year isoweek week_number weeknum",
    "month(d)": "month_of_year",
    "hour(at)": "hours hour_of_day",
    "year(d)": "years",
    "add_months(d, 1)": "date_add_months edate",
    "last_day(d)": "eomonth end_of_month",
    "datediff(ended, began)": "days_between daysbetween",
    "timestamp(s)": "datetime to_datetime parse_datetime strptime str_to_date parse_date parse_timestamp"
    " try_to_timestamp "
    "parsetime to_timestamp_ntz",
    "date(s)": "make_date date_from_parts datefromparts to_date_ntz",
}
_SCALARS_INSTEAD = {
    "days and months have numbers, no names: `dayofweek(d)`, `month(d)`": "dayname day_name weekday_name monthname "
    "month_name",
    "`datediff(ended, began)` counts days, `year(ended) * 12 + month(ended)` months": "months_between monthsbetween "
    "date_diff_months",
    "`round(x, 2)` rounds to digits, `long(x)` cuts all of them off": "truncate truncatenumber trunc_to",
    "times in a query are always in UTC": "convert_timezone convert_tz at_timezone tz_convert "
    "to_utc_timestamp from_utc_timestamp tolocaltime astimezone timezone",
    "tuples with a partner are `A semi join B on k`, those without one `A anti join B on k`": "exists not_exists",
    "an expression has exact decimals where an attribute is declared as a `decimal`": "decimal to_decimal",
    _CAST: "cast convert try_cast safe_cast astype",
    _DIFFERENCE: "timestampdiff timestamp_diff age timediff time_diff seconds_between minutes_between hours_between "
    "datetime_diff",
    "a time is moved by whole days: `date_add(d, 7)`; `timestamp_seconds(unix_seconds(at) + 60)` is a minute later": ""
    "timestampadd timestamp_add date_plus addtime datetime_add interval make_interval",
    "a part of a time is `year(d)`, `month(d)`, `day(d)`, `hour(at)`, `minute(at)` or `second(at)`": ""
    "extract date_part datepart",
    _LATER: "lead next following",
    _EARLIER: "lag diff shift previous prev pct_change cumsum cummax cummin cumulative_sum running_total "
    "running_sum runningdifference offset",
    f"numbers and ranks are `running[row_number() as i, rank() as place per k on at](R)`; {_BEST}": ""
    "row_number rank dense_rank rownum",
    _SHARE: "ntile percent_rank cume_dist",
    _NO_LISTS: "array struct map explode unnest flatten array_contains named_struct object list_value "
    "transform filter flat_map posexplode to_array row map_keys unnest_keys map_entries",
    _INSIDE: "json_extract get_json_object json_value from_json parse_json json_query jsonpath"
    " json_extract_scalar to_json "
    "json_get json_extract_string",
    _COLUMN: "col lit column literal f attr field",
    "texts are put together by `concat(s, string(x))`, times by `date_format(at, 'yyyy-MM-dd')`": ""
    "format printf format_string sprintf format_number to_text fmt",
    "windows are made by `window[5 minutes on at as w](R)`, and `w` is their number": "tumble tumbling hop date_bin "
    "tumble_start tumble_end window_start window_end hop_start session_start window",
    "`x in {1, 2, 3}` compares with several values; `count(where t > 90) > 0` asks for one of many": "any some "
    "in_list isin is_in one_of oneof any_of in_set",
    "`x in [low, high]` is a range": "between is_between inrange in_range",
}

_AS_CALLS = ("did you mean `{}`?", "{}")


def _by_name(*tables: tuple[dict[str, str], str]) -> dict[str, str]:
    return {
        name: shape.format(synonym)
        for table, shape in tables
        for synonym, names in table.items()
        for name in names.split()
    }


AGGREGATES = _by_name((_AGGREGATES_INSTEAD, _AS_CALLS[1]), (_AGGREGATES, _AS_CALLS[0]))
"""Aggregate functions by other names, each with its hint."""
SCALARS = _by_name((_SCALARS_INSTEAD, _AS_CALLS[1]), (_SCALARS, _AS_CALLS[0]))
"""Functions of one tuple by other names, each with its hint."""


def percentile(name: str) -> str | None:
    """The hint for `p95`."""
    digits = name[1:]
    if name[:1] == "p" and digits.isdecimal() and len(digits) > 1:
        return f"did you mean `quantile(x, 0.{digits})`?"
    return None
