"""Expressions in plain Python, tuple by tuple: what their SQL must agree with (`compiler/expressions.py`).

`None` is undefined. Whole numbers are `int`, other numbers `float` or, exact, `Fraction`; strings are `str`,
conditions `bool`, timestamps `datetime` with a zone, dates `date`. It is slow and keeps to the words of Spark's manual.
"""

from __future__ import annotations

import hashlib
import math
import operator
import re
import struct
import zlib
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from cedilla.compiler import expressions, scalars
from cedilla.compiler.affine import Affine
from cedilla.compiler.types import Type
from cedilla.grammar.diagnostics import Span
from cedilla.grammar.syntax import Attribute, Binary, Case, Expression, InRange, InSet, Literal, Scalar, Unary

Row = Mapping[str, Any]
_START = datetime(1970, 1, 1, tzinfo=UTC)
_LONG = 2**63
_NOWHERE = Span("", 0, 0, 1, 1, 1, 1)
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: Expression, row: Row) -> Any:
    """The value of an expression for one tuple; attributes that the tuple lacks are undefined."""
    match expression:
        case Attribute(name):
            return row.get(name)
        case Literal(value):
            return value
        case Unary("-", operand):
            value = _number(evaluate(operand, row))
            return None if value is None else _in_range(-value)
        case Unary(_, operand):
            value = evaluate(operand, row)
            return None if value is None else not value
        case InSet(operand, values, negated):
            value = evaluate(operand, row)
            return None if value is None else any(_compare("=", value, v.value) for v in values) != negated
        case InRange(operand, pattern, negated):
            value = evaluate(operand, row)
            if value is None:
                return None
            low, high = pattern.low, pattern.high
            above = low is None or _compare(">=" if pattern.low_closed else ">", value, low.value)
            below = high is None or _compare("<=" if pattern.high_closed else "<", value, high.value)
            return (above and below) != negated
        case Binary("and" | "or" as word, left, right):
            found = [evaluate(left, row), evaluate(right, row)]
            decided = word == "or"
            return decided if decided in found else None if None in found else not decided
        case Binary(sign, left, right):
            x, y = evaluate(left, row), evaluate(right, row)
            if x is None or y is None:
                return None
            return _compare(sign, x, y) if sign in _COMPARED else _arithmetic(sign, _number(x), _number(y))
        case Case(branches, otherwise):
            for branch in branches:
                if evaluate(branch.condition, row) is True:
                    return evaluate(branch.value, row)
            return None if otherwise is None else evaluate(otherwise, row)
        case Scalar():
            return _call(expression, row)


def _call(node: Scalar, row: Row) -> Any:
    name, known = scalars.FUNCTIONS[node.name].name, scalars.FUNCTIONS[node.name]
    if name in ("floor", "ceil") and (form := expressions.single(node.arguments[0])) is not None:
        part = _number(evaluate(form[0], row))
        given = [None if part is None else _affine(form[1], part)]
    else:
        kinds = (*known.takes, *known.takes[-1:] * (len(node.arguments) - len(known.takes)))
        given = [_as(kind, evaluate(a, row)) for kind, a in zip(kinds, node.arguments, strict=False)]
    if known.defined == "every" and None in given:
        return None
    try:
        return _VALUES[name](*given)
    except OverflowError:
        return None  # before the year 1 or after 9999


# --- numbers ---------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    return Fraction(value) if isinstance(value, Decimal) else value


def _is_odd(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _in_range(value: Any) -> Any:
    """Whole numbers of more than 64 bits are undefined."""
    return None if isinstance(value, int) and not -_LONG <= value < _LONG else value


def _affine(function: Affine, value: Any) -> Any:
    """In one go, as the SQL of `floor` has it: exact for exact numbers, rounded as doubles are for doubles."""
    p, q, r = function.integers()
    return (value * float(p) + q) / r if isinstance(value, float) else function(value)


def _arithmetic(sign: str, x: Any, y: Any) -> Any:
    if isinstance(x, float) or isinstance(y, float):
        x, y = _double(x), _double(y)
    match sign:
        case "+" | "-" | "*":
            return _in_range({"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](x, y))
        case "/":
            return None if y == 0 else x / y if isinstance(x, float) else Fraction(x) / y
        case _:
            return _remainder(x, y)


def _remainder(x: Any, y: Any) -> Any:
    """With the sign of the dividend."""
    if y == 0:
        return None
    if isinstance(x, float) or isinstance(y, float):
        return math.nan if math.isinf(x) else math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def _positive_remainder(x: Any, y: Any) -> Any:
    rest = _remainder(x, y)
    return rest if rest is None or rest >= 0 else _remainder(rest + y, y)


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _compare(sign: str, x: Any, y: Any) -> bool:
    return _COMPARED[sign](*_comparable(_number(x), _number(y)))


def _comparable(x: Any, y: Any) -> tuple[Any, Any]:
    """Two values as ones that Python compares as Spark does: constants in doubles, moments read."""
    if isinstance(x, str) and isinstance(y, date):
        x = _read(y, x)
    elif isinstance(y, str) and isinstance(x, date):
        y = _read(x, y)
    elif isinstance(x, float) or isinstance(y, float):
        return _double(x), _double(y)
    return x, y


def _read(like: date, text: str) -> date:
    """A constant in ISO form."""
    kind = "timestamp" if isinstance(like, datetime) else "date"
    return _moment(kind, text)


def _moment(kind: str, text: str) -> Any:
    value = Type(kind).value(Literal(text, text, span=_NOWHERE))
    assert isinstance(value, int)
    if kind == "date":
        return _START.date() + timedelta(days=value)
    return _START + timedelta(microseconds=value)


def _rounded(value: Any, digits: int = 0, mode: str = ROUND_HALF_UP) -> Any:
    if isinstance(value, int) or _is_odd(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(repr(_double(value)))
    return float(exact.quantize(Decimal(1).scaleb(-digits), mode)) if abs(exact) < 2**52 else float(exact)


def _whole(value: Any, low: int = -(2**31), high: int = 2**31 - 1) -> int | None:
    """A number as a whole one of 32 bits."""
    if _is_odd(value):
        return None
    whole = value if isinstance(value, int) else int(_rounded(value))
    return whole if low <= whole <= high else None


def _as(kind: str, value: Any) -> Any:
    """An argument as what the function takes."""
    if value is None:
        return None
    match kind:
        case "whole" | "length" | "days" | "months":
            return _whole(value, *scalars.BOUNDS.get(kind, ()))
        case "timestamp" | "date" if isinstance(value, str):
            return _moment(kind, value)
        case "timestamp":
            return value.astimezone(UTC) if isinstance(value, datetime) else _midnight(value)
        case "date":
            return value.astimezone(UTC).date() if isinstance(value, datetime) else value
        case _:
            return _number(value)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _rounding(function: Callable[[Any], int]) -> Callable[[Any], Any]:
    return lambda value: None if _is_odd(value) else _in_range(function(value))


def _real(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of doubles: undefined outside its domain, infinite where the result is too large."""

    def computed(*given: Any) -> Any:
        numbers = [_double(value) for value in given]
        try:
            result = function(*numbers)
        except OverflowError:
            return math.inf
        except ValueError:
            return None
        return None if math.isnan(result) else result

    return computed


def _power(x: float, y: float) -> float:
    if x == 0 and y < 0:
        return math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf


def _log(x: float, *y: float) -> float:
    if not y:
        return math.log(x)
    base, of = math.log(x), math.log(*y)
    return of / base if base else math.copysign(math.inf, of) if of else math.nan


def _tangent_hyperbolic(function: Callable[[float], float]) -> Callable[[float], float]:
    def signed(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)

    return signed


# --- one of several --------------------------------------------------------------------------------------


def _best(better: str) -> Callable[..., Any]:
    def best(*given: Any) -> Any:
        found: Any = None
        for value in given:
            if value is not None and (found is None or _compare(better, value, found)):
                found = value
        return found

    return best


def _coalesce(*given: Any) -> Any:
    return next((value for value in given if value is not None), None)


def _null_if(x: Any, y: Any) -> Any:
    return None if x is not None and y is not None and _compare("=", x, y) else x


# --- strings ---------------------------------------------------------------------------------------------


def _substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(0, start) : max(0, start + length)]


def _padded(text: str, length: int, pad: str, *, left: bool) -> str:
    if length <= len(text) or not pad:
        return text[: max(0, length)]
    missing = length - len(text)
    filling = (pad * missing)[:missing]
    return filling + text if left else text + filling


def _joined(separator: str | None, *given: str | None) -> str | None:
    return None if separator is None else separator.join(text for text in given if text is not None)


def _translate(text: str, letters: str, others: str) -> str:
    table: dict[int, str | None] = {}
    for place, letter in enumerate(letters):
        table.setdefault(ord(letter), others[place] if place < len(others) else None)
    return text.translate(table)


def _part(text: str, separator: str, number: int) -> str | None:
    if number == 0:
        return None
    pieces = text.split(separator) if separator else [text]
    place = number - 1 if number > 0 else len(pieces) + number
    return pieces[place] if 0 <= place < len(pieces) else ""


def _until(text: str, separator: str, count: int) -> str:
    if not separator or count == 0:
        return ""
    pieces = text.split(separator)
    return separator.join(pieces[:count] if count > 0 else pieces[count:])


def _distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _like(text: str, pattern: str) -> bool:
    tokens: list[str] = re.findall(r"\\.|.", pattern, re.DOTALL)
    written = {"%": ".*", "_": "."}
    parts = (written.get(token) or re.escape(token.removeprefix("\\") or "\\") for token in tokens)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)  # as in Java, \w and the like are of ASCII only


def _extract(text: str, pattern: str, group: int) -> str:
    found = _regex(pattern).search(text)
    return (found[group] or "") if found else ""


# --- hashes ----------------------------------------------------------------------------------------------


def _hash(*given: Any) -> int:
    """Murmur3 as Spark has it: the hash of an argument is the seed of the next; undefined ones are skipped."""
    seed = 42
    for value in given:
        match value:
            case None:
                pass
            case bool():
                seed = _mixed(seed, struct.pack("<i", value))
            case str():
                seed = _mixed(seed, value.encode())
            case datetime():
                seed = _mixed(seed, struct.pack("<q", _micros(value)))
            case date():
                seed = _mixed(seed, struct.pack("<i", (value - _START.date()).days))
            case _:  # 0.0 and -0.0 are one
                seed = _mixed(seed, struct.pack("<d", _double(value) + 0.0))
    return seed - 2**32 if seed >= 2**31 else seed


def _mixed(seed: int, data: bytes) -> int:
    end = len(data) - len(data) % 4
    words = list(struct.unpack(f"<{end // 4}I", data[:end]))
    words += [
        byte - 256 if byte > 127 else byte for byte in data[end:]
    ]  # Spark takes each byte left for a word
    for word in words:
        mixed = _turned(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF
        seed = (_turned(seed ^ mixed, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    seed ^= len(data)
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return seed ^ seed >> 16


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


# --- dates and times -------------------------------------------------------------------------------------


def _micros(moment: datetime) -> int:
    return (moment - _START) // timedelta(microseconds=1)


def _since_1970(units: int) -> Callable[[Any], datetime | None]:
    def moment(value: Any) -> datetime | None:
        if not -62_135_596_800 * units <= value <= 253_402_300_799 * units:
            return None
        return _START + timedelta(microseconds=int(_rounded(value * (1_000_000 // units))))

    return moment


def _add_months(day: date, count: int) -> date:
    months = day.year * 12 + day.month - 1 + count
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def _trunc(day: date, unit: str) -> date:
    match unit.lower():
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case _:
            return day.replace(month=1, day=1)


def _date_trunc(unit: str, moment: datetime) -> datetime:
    unit = unit.lower()
    lengths = {
        "microsecond": 1,
        "millisecond": 1_000,
        "second": 10**6,
        "minute": 60 * 10**6,
        "hour": 3600 * 10**6,
    }
    if unit in lengths:
        return moment - timedelta(microseconds=_micros(moment) % lengths[unit])
    return _midnight(moment.date() if unit == "day" else _trunc(moment.date(), unit))


def _formatted(moment: datetime, pattern: str) -> str:
    written = {
        "yyyy": f"{moment.year:04}",
        "MM": f"{moment.month:02}",
        "dd": f"{moment.day:02}",
        "HH": f"{moment.hour:02}",
        "mm": f"{moment.minute:02}",
        "ss": f"{moment.second:02}",
        "SSS": f"{moment.microsecond // 1000:03}",
    }
    tokens: list[str] = scalars.FORMAT.findall(pattern)
    return "".join(written.get(token, token.strip("'")) for token in tokens)


_DATE = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\s*", re.DOTALL)
_TIMESTAMP = re.compile(
    r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{1,2}:?\d{2}|[+-]\d{1,2})?)?)?)?\s*"
)


def _to_date(value: Any) -> date | None:
    if not isinstance(value, str):
        return value.astimezone(UTC).date() if isinstance(value, datetime) else value
    found = _DATE.fullmatch(value)
    try:
        return date(*(int(part or 1) for part in found.groups())) if found else None
    except ValueError:
        return None


def _to_timestamp(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return value if isinstance(value, datetime) else _midnight(value)
    found = _TIMESTAMP.fullmatch(value)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "").ljust(6, "0")[:6]),
            UTC,
        )
    except ValueError:
        return None
    return moment - timedelta(minutes=_offset(zone)) if zone and zone[0] in "+-" else moment


def _offset(zone: str) -> int:
    hours, _, minutes = zone[1:].partition(":")
    if not minutes and len(hours) > 2:
        hours, minutes = hours[:-2], hours[-2:]
    return (int(hours) * 60 + int(minutes or 0)) * (-1 if zone[0] == "-" else 1)


# --- other types -----------------------------------------------------------------------------------------


def _to_whole(bits: int) -> Callable[[Any], int | None]:
    def convert(value: Any) -> int | None:
        if isinstance(value, str):
            text = value.strip()
            value = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else None
        if value is None or _is_odd(value):
            return None
        whole = int(value)
        return whole if -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1) else None

    return convert


_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?|[+-]?inf(?:inity)?", re.IGNORECASE)


def _to_double(value: Any) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        if not _REAL.fullmatch(text):
            return None
        value = text if text[-1] in "yY" or "inf" in text.lower() else text.rstrip("dDfF")
    result = float(value) if isinstance(value, str) else _double(value)
    return None if math.isnan(result) else result


_WORDS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def _to_boolean(value: Any) -> bool | None:
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else value != 0


def _to_string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case datetime():
            text = value.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case date():
            return value.isoformat()
        case int():
            return str(value)
        case _:
            return _java(_double(value))


def _java(value: float) -> str:
    """A double as Java writes it; whole numbers as if they were of a whole type."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == math.floor(value) and abs(value) < 1e15:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(digits) - 1}"


# --- all of them -----------------------------------------------------------------------------------------


_VALUES: dict[str, Callable[..., Any]] = {
    "abs": lambda x: _in_range(abs(x)),
    "sign": lambda x: float((x > 0) - (x < 0)),
    "floor": _rounding(math.floor),
    "ceil": _rounding(math.ceil),
    "round": _rounded,
    "bround": lambda x, digits=0: _rounded(x, digits, ROUND_HALF_EVEN),
    "rint": lambda x: float(_rounded(_double(x), 0, ROUND_HALF_EVEN)),
    "mod": _remainder,
    "pmod": _positive_remainder,
    "sqrt": _real(math.sqrt),
    "cbrt": _real(lambda x: math.copysign(abs(x) ** (1 / 3), x)),
    "pow": _real(_power),
    "exp": _real(math.exp),
    "expm1": _real(math.expm1),
    "ln": _real(math.log),
    "log": _real(_log),
    "log10": _real(math.log10),
    "log2": _real(math.log2),
    "log1p": _real(math.log1p),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "asin": _real(math.asin),
    "acos": _real(math.acos),
    "atan": _real(math.atan),
    "atan2": _real(math.atan2),
    "sinh": _real(_tangent_hyperbolic(math.sinh)),
    "cosh": _real(math.cosh),
    "tanh": _real(math.tanh),
    "degrees": _real(math.degrees),
    "radians": _real(math.radians),
    "hypot": _real(math.hypot),
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "isnan": lambda x: x is not None and isinstance(x, float) and math.isnan(x),
    "greatest": _best(">"),
    "least": _best("<"),
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nvl2": lambda x, y, z: z if x is None else y,
    "if": lambda condition, x, y: x if condition else y,
    "nullif": _null_if,
    "isnull": lambda x: x is None,
    "isnotnull": lambda x: x is not None,
    "upper": str.upper,
    "lower": str.lower,
    "initcap": lambda s: " ".join(word[:1].title() + word[1:].lower() for word in s.split(" ")),
    "length": len,
    "octet_length": lambda s: len(s.encode()),
    "ascii": lambda s: ord(s[0]) if s else 0,
    "char": lambda n: "" if n < 0 else chr(n % 256),
    "trim": lambda s: s.strip(" "),
    "ltrim": lambda s: s.lstrip(" "),
    "rtrim": lambda s: s.rstrip(" "),
    "btrim": lambda s, letters=" ": s.strip(letters) if letters else s,
    "concat": lambda *parts: "".join(parts),
    "concat_ws": _joined,
    "substring": _substring,
    "left": lambda s, n: s[: max(0, n)],
    "right": lambda s, n: s[-n:] if n > 0 else "",
    "replace": lambda s, old, new="": s.replace(old, new) if old else s,
    "translate": _translate,
    "reverse": lambda s: s[::-1],
    "repeat": lambda s, n: s * n,
    "lpad": lambda s, n, pad=" ": _padded(s, n, pad, left=True),
    "rpad": lambda s, n, pad=" ": _padded(s, n, pad, left=False),
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda s, part: part in s,
    "instr": lambda s, part: s.find(part) + 1,
    "locate": lambda part, s: s.find(part) + 1,
    "split_part": _part,
    "substring_index": _until,
    "levenshtein": _distance,
    "like": _like,
    "ilike": lambda s, pattern: _like(s.lower(), pattern.lower()),
    "rlike": lambda s, pattern: _regex(pattern).search(s) is not None,
    "regexp_extract": _extract,
    "regexp_replace": lambda s, pattern, new: _regex(pattern).sub(lambda _: new, s),
    "hash": _hash,
    "crc32": lambda s: zlib.crc32(s.encode()),
    "md5": lambda s: hashlib.md5(s.encode()).hexdigest(),
    "sha1": lambda s: hashlib.sha1(s.encode()).hexdigest(),
    "sha2": lambda s, bits: hashlib.new(f"sha{bits}", s.encode()).hexdigest(),
    "year": lambda d: d.year,
    "quarter": lambda d: (d.month + 2) // 3,
    "month": lambda d: d.month,
    "day": lambda d: d.day,
    "dayofweek": lambda d: d.isoweekday() % 7 + 1,
    "weekday": lambda d: d.weekday(),
    "dayofyear": lambda d: d.timetuple().tm_yday,
    "weekofyear": lambda d: d.isocalendar().week,
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
    "last_day": _last_day,
    "date_add": lambda d, n: d + timedelta(days=n),
    "date_sub": lambda d, n: d - timedelta(days=n),
    "add_months": _add_months,
    "datediff": lambda end, start: (end - start).days,
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "date_format": _formatted,
    "unix_seconds": lambda t: _micros(t) // 1_000_000,
    "unix_millis": lambda t: _micros(t) // 1_000,
    "unix_micros": _micros,
    "unix_date": lambda d: (d - _START.date()).days,
    "timestamp_seconds": _since_1970(1),
    "timestamp_millis": _since_1970(1_000),
    "timestamp_micros": _since_1970(1_000_000),
    "date_from_unix_date": lambda n: _START.date() + timedelta(days=n),
    "int": _to_whole(32),
    "long": _to_whole(64),
    "double": _to_double,
    "boolean": _to_boolean,
    "string": _to_string,
    "timestamp": _to_timestamp,
    "date": _to_date,
}
