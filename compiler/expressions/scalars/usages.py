"""Calls of scalar functions with the names of their arguments, and notes where a name is not enough."""

from __future__ import annotations

_TEXT = """\
abs(x)
sign(x)
floor(x)
ceil(x)
round(x [, digits]): halves away from zero
bround(x [, digits]): halves to even digits
rint(x): to a whole number, halves to even
affine(x, p, q, r): (x * p + q) / r, as on paper
mod(x, y): the remainder, with the sign of x
pmod(x, y): the remainder, not negative
sqrt(x)
cbrt(x)
pow(x, y)
exp(x)
expm1(x)
ln(x)
log([base,] x)
log10(x)
log2(x)
log1p(x)
sin(x)
cos(x)
tan(x)
asin(x)
acos(x)
atan(x)
atan2(y, x)
sinh(x)
cosh(x)
tanh(x)
degrees(x)
radians(x)
hypot(x, y)
pi()
e()
isnan(x): false if x is undefined
greatest(x, y, ...): of the defined ones
least(x, y, ...): of the defined ones
coalesce(x, ...): the first defined one
ifnull(x, y): the first defined one
nvl2(x, y, z): y if x is defined, else z
if(condition, x, y): y if the condition is not true
nullif(x, y): undefined if x = y, else x
isnull(x)
isnotnull(x)
upper(s)
lower(s)
initcap(s)
length(s)
octet_length(s)
ascii(s)
char(n)
trim(s)
ltrim(s)
rtrim(s)
btrim(s [, letters])
concat(s, t, ...)
concat_ws(separator, s, ...): leaves out undefined strings
substring(s, from [, length]): positions from 1, from the end if negative
left(s, n)
right(s, n)
replace(s, old [, new])
translate(s, letters, letters)
reverse(s)
repeat(s, n): n up to 10,000
lpad(s, n [, pad]): n up to 10,000
rpad(s, n [, pad]): n up to 10,000
startswith(s, part)
endswith(s, part)
contains(s, part)
instr(s, part): the position from 1, or 0
locate(part, s): the position from 1, or 0
split_part(s, separator, n)
substring_index(s, separator, n)
levenshtein(s, s)
like(s, pattern)
ilike(s, pattern)
rlike(s, regex)
regexp_extract(s, regex, group)
regexp_replace(s, regex, new): new is plain text
hash(x, ...): numbers are hashed as doubles
crc32(s)
md5(s)
sha1(s)
sha2(s, bits)
year(d)
quarter(d)
month(d)
day(d)
dayofweek(d): Sunday is 1
weekday(d): Monday is 0
dayofyear(d)
weekofyear(d)
hour(at)
minute(at)
second(at)
last_day(d)
date_add(d, days)
date_sub(d, days)
add_months(d, n)
datediff(end, start)
date_trunc(unit, at)
trunc(d, unit)
date_format(at, pattern)
unix_seconds(at)
unix_millis(at)
unix_micros(at)
unix_date(d)
timestamp_seconds(x)
timestamp_millis(x)
timestamp_micros(x)
date_from_unix_date(n)
int(x)
long(x)
double(x)
boolean(x)
string(x): whole numbers without a point, decimals without final zeros
timestamp(x)
date(x)
"""

USAGES: dict[str, tuple[str, str]] = {
    usage.partition("(")[0]: (usage, note)
    for usage, _, note in (line.partition(": ") for line in _TEXT.splitlines())
}
"""First name of a function -> a call of it, and a note or nothing."""
