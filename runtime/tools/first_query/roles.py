"""Chooses the time, the key and the measured fields of a sample, and pairs of fields with one meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from attrs import frozen

from cedilla.compiler.expressions.units.registry import UnknownUnit
from cedilla.compiler.expressions.units.units import Mismatch, conversion
from cedilla.grammar.diagnostics.suggestions import suggest
from cedilla.runtime.tools.first_query.fields import Field
from cedilla.runtime.tools.first_query.names import base_name, words_of
from cedilla.runtime.tools.first_query.samples import Sample

REQUIRED = 0.9
"""The share of rows that have a time, or one of two versions of a field."""
_IDENTIFYING = (
    "id",
    "key",
    "name",
    "device",
    "sensor",
    "station",
    "meter",
    "machine",
    "host",
    "service",
    "plug",
    "s",
)
_MOST_KEYS = 10_000
_SECOND = 1_000_000
LENGTHS: Mapping[str, int] = {
    "day": 86_400 * _SECOND,
    "hour": 3600 * _SECOND,
    "minute": 60 * _SECOND,
    "second": _SECOND,
}
"""The lengths of windows and delays, in microseconds."""
_CODES = 12
"""The most different whole numbers that are likely codes, and not measured."""
_WINDOWS = 4
"""The least number of windows in a sample."""


@frozen
class Versions:
    """Two fields that no row has together, and that are likely one: the earlier and the later. `function`: they are in
    different units, by their names."""

    before: Field
    after: Field
    function: bool = False


def time_of(fields: Sequence[Field], sample: Sample) -> Field | None:
    """Returns the time of the rows: a time that most have, and that grows most often."""
    candidates = [f for f in fields if f.guess.is_time and len(f.values) >= REQUIRED * f.rows]
    return max(candidates, key=lambda f: (growth(f, sample), not f.is_optional), default=None)


def growth(time: Field, sample: Sample) -> float:
    """Returns the share of rows that are not earlier than the row before them in their file."""
    moments = [(sample.places[number], time.moment(number)) for number in time.values]
    steps = [b >= a for (p, a), (q, b) in pairwise(moments) if p == q and a is not None and b is not None]
    return sum(steps) / len(steps) if steps else 0.0


def span_of(time: Field) -> int:
    """Returns the microseconds from the first time of a sample to the last."""
    moments = [moment for number in time.values if (moment := time.moment(number)) is not None]
    return max(moments) - min(moments) if moments else 0


def window_of(time: Field) -> str:
    """Returns the greatest length that fits several times into the sample; of another axis than a time, a power of
    ten."""
    if not time.guess.is_time:
        span = max(time.numbers) - min(time.numbers)
        return str(next(10**n for n in range(18, -1, -1) if n == 0 or span >= _WINDOWS * 10**n))
    span = span_of(time)
    return next((name for name, length in LENGTHS.items() if span >= _WINDOWS * length), "second")


def delay_of(time: Field, sample: Sample) -> int:
    """Returns how much earlier times of a file are than those of earlier files, in microseconds; of a topic, than those
    of earlier records."""
    latest: int | None = None
    behind, of_file, file = 0, latest, -1
    is_topic = sample.format.startswith("kafka")
    for number in time.values:
        moment, part = time.moment(number), sample.places[number]
        if moment is None:
            continue
        if is_topic and part != file:
            latest = of_file = None
        elif is_topic or part != file:
            latest = of_file
        file = part
        if latest is not None:
            behind = max(behind, latest - moment)
        of_file = moment if of_file is None else max(of_file, moment)
    return behind


def key_of(fields: Sequence[Field], time: Field | None, sample: Sample) -> Field | None:
    """Returns the key of the rows: a text or whole number with values that come again, by its name, and by whether it
    and the time are in one row only."""
    candidates = [f for f in fields if f is not time and _may_be_key(f)]
    return max(candidates, key=lambda f: _likely_key(f, time), default=None)


def _may_be_key(field: Field) -> bool:
    count = len(field.distinct)
    is_key_type = field.guess.type in ("string", "int", "long") and not field.guess.unit
    return is_key_type and not field.is_optional and 2 <= count <= min(_MOST_KEYS, max(2, field.rows // 2))


def _likely_key(field: Field, time: Field | None) -> tuple[int, bool, int]:
    words = words_of(field.path[-1])
    is_named = 2 if words and words[-1] in _IDENTIFYING else int(field.guess.type == "string")
    if time is None:
        return is_named, False, len(field.distinct)
    pairs = [(field.values[n], time.values[n]) for n in field.values if n in time.values]
    return is_named, len(set(pairs)) == len(pairs), len(field.distinct)


def row_key_of(columns: Sequence[Field]) -> Field | None:
    """Returns the likely primary key of a table: a text or whole number with another value in each of its new rows, by
    its name, else by its place."""
    return max(columns, key=_likely_row_key, default=None)


def _likely_row_key(column: Field) -> tuple[bool, bool]:
    is_key_type = column.guess.type in ("string", "int", "long") and not column.guess.unit
    is_unique = is_key_type and len(column.distinct) == column.rows
    return is_unique, is_unique and "id" in words_of(column.path[-1])


def measures_of(fields: Sequence[Field], *others: Field | None) -> list[Field]:
    """Returns the fields that are measured: numbers that are neither times nor keys."""
    numbers = [f for f in fields if f not in others and f.guess.is_number and not f.guess.is_time]
    names = {"id", "code", "number", "version", "port", "year"}
    measured = [f for f in numbers if f.guess.unit or not names & {*words_of(f.path[-1])}]
    measured = [f for f in measured if f.guess.unit or _varies(f)] or measured
    return sorted(measured, key=lambda f: (not f.guess.unit, f.guess.type != "double"))


def _varies(field: Field) -> bool:
    """Returns False for few whole numbers, which are likely codes."""
    return field.guess.type not in ("int", "long") or len(field.distinct) > _CODES


def unit_field_of(fields: Sequence[Field]) -> Field | None:
    """Returns the field that names the unit of what is measured: its values are units of one kind."""
    named = (
        f for f in fields if f.guess.type == "string" and {"unit", "units", "uom"} & {*words_of(f.path[-1])}
    )
    return next((f for f in named if f.values and _are_units([*f.distinct])), None)


def _are_units(names: Sequence[str]) -> bool:
    try:
        for name in names:
            conversion(name, names[0])
    except (Mismatch, UnknownUnit):
        return False
    return True


def versions_of(fields: Sequence[Field], sample: Sample) -> list[Versions]:
    """Returns pairs of fields that are likely one under two names, or in two units. The names may differ in change
    events, if one column came in the place of another."""
    pairs: list[Versions] = []
    lacking = [field.path for field in fields if sample.lacks(field.path)]
    is_complete = sum(sample.having[path[0]] for path in lacking) == len(sample.rows)
    replaced = {*lacking} if len(lacking) == 2 and is_complete else set()
    taken: set[tuple[str, ...]] = set()
    for before, after in combinations((f for f in fields if f.is_optional and f.values), 2):
        if {before.path, after.path} & taken or before.values.keys() & after.values.keys():
            continue
        if len(before.values) + len(after.values) < REQUIRED * before.rows or not _alike(
            before, after, is_replaced={before.path, after.path} == replaced
        ):
            continue
        first, second = sorted((before, after), key=lambda f: min(f.values))
        pairs.append(Versions(first, second, function=first.guess.unit != second.guess.unit))
        taken |= {before.path, after.path}
    return pairs


def _alike(one: Field, other: Field, *, is_replaced: bool) -> bool:
    """Returns True for fields of one kind whose names are alike, if neither replaces the other, and whose units, if
    both have one, are too."""
    a, b = one.guess, other.guess
    if not (a.type and b.type) or not (a.type == b.type or (a.is_number and b.is_number)):
        return False
    if bool(a.unit) != bool(b.unit):
        return False
    names = [base_name(f.path[-1]) for f in (one, other)]
    words = [{*name.split("_")} for name in names]
    is_named_alike = bool(words[0] & words[1]) or suggest(names[0], [names[1]]) is not None
    is_short = any(name and other_name.startswith(name) for name, other_name in (names, names[::-1]))
    if not (is_replaced or is_named_alike or is_short):
        return False
    if a.unit == b.unit:
        return True
    try:
        conversion(b.unit, a.unit)
    except Mismatch:
        return False
    return True
