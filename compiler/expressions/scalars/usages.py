"""Calls of scalar functions with the names of their arguments, and notes where a name is not enough."""

from __future__ import annotations

from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS

_TEXT = """\
round(x [, digits]): halves away from zero
bround(x [, digits]): halves to even digits
rint(x): to a whole number, halves to even
affine(x, p, q, r): (x * p + q) / r, as on paper
mod(x, y): the remainder, with the sign of x
pmod(x, y): the remainder, not negative
log([base,] x)
atan2(y, x)
isnan(x): false if x is undefined
greatest(x, y, ...): of the defined ones
least(x, y, ...): of the defined ones
coalesce(x, ...): the first defined one
ifnull(x, y): the first defined one
nvl2(x, y, z): y if x is defined, else z
if(condition, x, y): y if the condition is not true
nullif(x, y): undefined if x = y, else x
ltrim(s [, letters])
rtrim(s [, letters])
btrim(s [, letters])
concat(s, t, ...)
concat_ws(separator, s, ...): leaves out undefined strings
substring(s, from [, length]): positions from 1, from the end if negative
replace(s, old [, new])
translate(s, letters, letters)
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
like(s, pattern)
ilike(s, pattern)
rlike(s, regex)
regexp_extract(s, regex, group)
regexp_replace(s, regex, new): new is plain text
bitwise_and(x, y): of the 64 bits of a long, in two's complement
bitwise_or(x, y)
bitwise_xor(x, y)
shift_left(x, n): n from 0 to 63
shift_right(x, n): n from 0 to 63; keeps the sign
bit(x, n): whether bit n is set; n from 0, the last one, to 63
bit_count(x): how many bits are set
from_base(s, base): digits with or without a sign; undefined for other texts
to_base(x, base): letters are upper case
hex(s): the bytes of a text in UTF-8, in hexadecimal digits
unhex(s): the text of such bytes; undefined for other texts
base64(s): the bytes of a text in UTF-8
unbase64(s): the text of such bytes; undefined for other texts
base64_to_hex(s): any bytes
hex_to_base64(s): any bytes
histogram_quantile(buckets, bounds, share): values lie evenly inside of a bucket
element_at(xs, n): from 1, from the end if negative
list_sum(xs): undefined if the list is empty
list_avg(xs): undefined if the list is empty
list_min(xs): undefined if the list is empty
list_max(xs): undefined if the list is empty
split(s, separator): the separator is plain text
hash(x, ...): numbers are hashed as doubles
sha2(s, bits)
dayofweek(d): Sunday is 1
weekday(d): Monday is 0
date_add(d, days)
date_sub(d, days)
datediff(end, start)
date_trunc(unit, at)
trunc(d, unit)
date_format(at, pattern)
int(x)
long(x)
double(x)
boolean(x)
string(x): whole numbers without a point, decimals without final zeros
timestamp(x)
date(x)
"""
"""Calls that say more than a sample call does."""

USAGES: dict[str, tuple[str, str]] = {
    **{function.name: (f"{function.name}({function.sample()})", "") for function in FUNCTIONS.values()},
    **{
        usage.partition("(")[0]: (usage, note)
        for usage, _, note in (line.partition(": ") for line in _TEXT.splitlines())
    },
}
"""First name of a function -> a call of it, and a note or nothing."""
