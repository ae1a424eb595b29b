"""Guesses the type of each field of a sample, and describes its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from attrs import evolve, field, frozen

from cedilla.compiler.expressions.types import STRING, Type
from cedilla.compiler.expressions.types.versions import is_like_version, is_version
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.grammar.diagnostics.printable import one_line
from cedilla.runtime.tools.first_query.names import unit_in, words_of
from cedilla.runtime.tools.first_query.samples import Sample

_SHOWN = 6
"""The most values that a comment lists."""
_LONGEST = 24
"""The most characters of a text that a comment shows."""
_MOSTLY = 0.9
"""The least share of numbers with which the other values of a field are faults."""
_FEW = 3
"""The most words in a column of numbers that mean no value."""


@frozen(slots=False)
class Field:
    """A field of some rows. `values`: by the numbers of the rows that have one. `kind`: the type of its
    column, if files have types. `written`: its texts in a file of texts."""

    path: FieldPath
    values: Mapping[int, Any]
    rows: int
    format: str
    kind: str | None = None
    written: Sequence[str] = field(factory=list[str])
    more: tuple[str, ...] = ()
    """Notes on rows where it is something else."""

    @property
    def is_optional(self) -> bool:
        """True if a row lacks it."""
        return len(self.values) < self.rows

    @cached_property
    def distinct(self) -> Counter[Any]:
        """Its different values, with their numbers; none for lists and objects."""
        return Counter(value for value in self.values.values() if not isinstance(value, list | dict))

    @cached_property
    def numbers(self) -> list[float]:
        """Its numbers, in the order of rows."""
        return [float(value) for value in self.values.values() if _is_number(value)]

    @cached_property
    def guess(self) -> Guess:
        """The guess about it."""
        return _of_column(self, self.kind) if self.kind is not None else _of_values(self)

    def moment(self, number: int) -> int | None:
        """Returns the time of a row in microseconds; `None` for a row without one."""
        value = self.values.get(number)
        if value is None or not self.guess.is_time:
            return None
        try:
            if self.guess.scale:
                return int(value * self.guess.scale)
            return Type("timestamp").moment(str(value))
        except (ValueError, TypeError):
            return None


@frozen
class Guess:
    """The guess about a field. `type`: as a declaration has it, empty if no attribute reads the field; `more`: further
    words of the declaration, before a unit; `none`: texts that mean no value. `scale`: microseconds of one unit of a
    time that is a number. `notes`: what was seen. `unit`: that of its name, or of a time.
    `in_text`: its numbers are in texts."""

    type: str
    notes: tuple[str, ...] = ()
    more: str = ""
    none: tuple[str, ...] = ()
    scale: int = 0
    unit: str = ""
    in_text: bool = False

    @property
    def is_time(self) -> bool:
        return self.type == "timestamp" or self.scale > 0

    @property
    def is_number(self) -> bool:
        return self.type in ("int", "long", "double") or self.type.startswith("decimal(")


def fields_of(sample: Sample) -> list[Field]:
    """Returns the fields of a sample in their order."""
    paths = dict.fromkeys((*sample.kinds, *(path for row in sample.rows for path in row)))
    fields: list[Field] = []
    for path in paths:
        values = {number: row[path] for number, row in enumerate(sample.rows) if path in row}
        of = (sample.kinds.get(path), sample.written.get(path, []))
        more = ("a key in the names of folders",) if path in sample.folders else ()
        fields.append(Field(path, values, len(sample.rows), sample.format, *of, more))
    return fields


def without_objects(fields: Sequence[Field]) -> list[Field]:
    """Returns the fields without overlaps: a field is an object, or a value, as in most rows."""
    kept: list[Field] = []
    for own in fields:
        inside = [f for f in fields if len(f.path) > len(own.path) and f.path[: len(own.path)] == own.path]
        outer = [f for f in fields if len(f.path) < len(own.path) and own.path[: len(f.path)] == f.path]
        rows_inside = len({number for f in inside for number in f.values})
        if rows_inside > len(own.values) or any(len(f.values) >= len(own.values) for f in outer):
            continue
        note = f"an object in {rows_inside:,} rows, which are set aside (RQ301)"
        kept.append(evolve(own, more=(note,)) if inside else own)
    return kept


def _of_column(field_: Field, kind: str) -> Guess:
    """Returns the guess for a column with a type."""
    if kind in ("tinyint", "smallint", "int", "bigint"):
        return _with_unit(field_, "long" if kind == "bigint" else "int", (_range(field_),))
    if kind in ("float", "double"):
        return _with_unit(field_, "double", (_range(field_),))
    if kind.startswith("decimal("):
        return _with_unit(field_, kind.replace(",", ", "), (_range(field_),))
    if kind in ("timestamp", "timestamp_ntz", "date"):
        zone = ("times without a zone are read in UTC",) if kind == "timestamp_ntz" else ()
        return Guess("date" if kind == "date" else "timestamp", (_span(field_), *zone))
    if kind == "boolean":
        return Guess("boolean", (_list(field_),))
    if kind in ("string", "binary"):
        times = ("`timestamp(...)` in the query reads it as a time",) if _all_times(field_) else ()
        return Guess("string", (_list(field_), *times))
    if (match := re.fullmatch(r"array<(\w+)>", kind)) and match[1] in _ELEMENTS:
        return Guess(f"list of {_ELEMENTS[match[1]]}")
    return Guess("", (f"a column of type {kind}, which no attribute reads",))


_ELEMENTS = {"int": "int", "bigint": "long", "double": "double", "string": "string", "boolean": "boolean"}


def _of_values(field_: Field) -> Guess:
    """Returns the guess for values without a declared type."""
    values = [*field_.values.values()]
    if any(isinstance(value, dict) for value in values):
        return Guess("", ("an object inside of too many others",))
    if any(isinstance(value, list) for value in values):
        return _of_lists(values)
    if all(isinstance(value, bool) for value in values):
        return Guess("boolean", (_list(field_),))
    numbers = [value for value in values if _is_number(value)]
    if len(numbers) == len(values):
        return _of_numbers(field_, numbers)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return _of_texts(field_)
    return _of_mixed(field_, numbers, texts)


def _of_lists(values: Sequence[Any]) -> Guess:
    inner = [element for value in values for element in (value if isinstance(value, list) else [value])]
    kinds = {_kind(element) for element in inner}
    if kinds == {"long", "double"}:
        kinds = {"double"}
    if len(kinds) == 1 and (kind := kinds.pop()):
        return Guess(f"list of {kind}")
    return Guess("", ("a list of objects, of lists, or of several types",))


def _of_numbers(field_: Field, numbers: Sequence[Any]) -> Guess:
    is_whole = all(isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers)
    if is_whole and (scale := _scale(field_)):
        unit = {1_000_000: "s", 1000: "ms", 1: "us"}[scale]
        span = f"{_moment(min(numbers) * scale)} to {_moment(max(numbers) * scale)}"
        note = f"{span}, if these are {unit} since 1970"
        return Guess("long", (note,), scale=scale, unit=unit)
    return _with_unit(field_, "long" if is_whole else "double", (_range(field_),))


def _of_texts(field_: Field) -> Guess:
    if field_.format in ("csv", "xml", "json", "kafka") and _has_commas(field_):
        return _with_unit(field_, "double", ("texts with a decimal comma",), ' decimal ","')
    if _are_versions(field_):
        return Guess("version", (_list(field_),))
    if field_.format in ("json", "kafka") and _has_numbers(field_):
        others = [text for text in field_.values.values() if not _is_number_text(text)]
        aside = f"; set aside (RQ301): {len(others):,}, such as {_comment_text(others[0])}" if others else ""
        return evolve(_with_unit(field_, "double", (f"numbers in texts{aside}",)), in_text=True)
    if _all_times(field_):
        is_day = all(re.fullmatch(r"\d{4}-\d\d-\d\d", text) for text in field_.distinct)
        is_local = not is_day and any(not re.search(r"(Z|[+-]\d\d:?\d\d)$", text) for text in field_.distinct)
        zone = ('without an offset they are read in UTC; `zone "Europe/Berlin"` says another',)
        return Guess("date" if is_day else "timestamp", (_span(field_), *(zone if is_local else ())))
    return Guess("string", (_list(field_),))


def _of_mixed(field_: Field, numbers: Sequence[Any], texts: Sequence[str]) -> Guess:
    """Returns the guess for values of several kinds: numbers, if the others are few, else texts."""
    words = Counter(texts)
    count = len(field_.values) - len(numbers)
    kinds = f"mixed: {len(numbers):,} numbers and {count:,} other values, such as {_comment_text(_first_other(field_))}"
    is_none = field_.format == "csv" and len(words) <= _FEW and len(numbers) > count == len(texts)
    if is_none or len(numbers) >= _MOSTLY * len(field_.values):
        is_whole = all(isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers)
        none = tuple(sorted(words)) if is_none else ()
        note = f"{kinds}, which mean no value" if is_none else f"{kinds}, which are set aside (RQ301)"
        return _with_unit(field_, "long" if is_whole else "double", (_range(field_), note), none=none)
    return Guess("string", (kinds,))


def _first_other(field_: Field) -> Any:
    return next(value for value in field_.values.values() if not _is_number(value))


def _with_unit(
    field_: Field, type_: str, notes: tuple[str, ...], more: str = "", none: tuple[str, ...] = ()
) -> Guess:
    unit = unit_in(field_.path[-1])
    named = ("unit by its name",) if unit else ()
    return Guess(type_, (*filter(None, notes), *named), more, none, unit=unit)


# --- times ---

_TIMES = (
    "ts",
    "time",
    "timestamp",
    "at",
    "when",
    "epoch",
    "date",
    "datetime",
    "created",
    "updated",
    "modified",
)
_BEGIN, _END = 946_684_800, 4_102_444_800  # the years 2000 to 2100


def _scale(field_: Field) -> int:
    """Returns the microseconds of one unit, if numbers are likely times since 1970 by their name and their size."""
    if not set(words_of(field_.path[-1])) & {*_TIMES}:
        return 0
    numbers = field_.numbers
    for scale in (1_000_000, 1000, 1):
        begin, end = (moment * 1_000_000 // scale for moment in (_BEGIN, _END))
        if all(begin <= number < end for number in numbers):
            return scale
    return 0


def _all_times(field_: Field) -> bool:
    try:
        for text in field_.distinct:
            Type("timestamp").moment(text)
    except (ValueError, AttributeError, TypeError):
        return False
    return bool(field_.distinct)


def _has_numbers(field_: Field) -> bool:
    """Returns True if most texts are numbers, some with a point; whole numbers may be codes."""
    numbers = [text for text in field_.values.values() if _is_number_text(text)]
    return any("." in text for text in numbers) and len(numbers) >= _MOSTLY * len(field_.values)


_VERSIONS = {"version", "firmware", "fw", "release", "schema"}


def _are_versions(field_: Field) -> bool:
    """Returns True if a field's name and its texts say that it has versions. Without any dot, `"3"` may be a code."""
    is_named = bool(_VERSIONS & {*words_of(field_.path[-1])})
    return is_named and any(map(is_like_version, field_.distinct)) and all(map(is_version, field_.distinct))


def _is_number_text(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", text) is not None


def _has_commas(field_: Field) -> bool:
    texts = [str(text) for text in field_.distinct]
    return any("," in text for text in texts) and all(
        re.fullmatch(r"[+-]?\d+(,\d+)?", text) and not re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", text)
        for text in texts
    )


# --- words ---


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "long"
        case float() | Decimal():
            return "double"
        case str():
            return "string"
        case _:
            return ""


def _range(field_: Field) -> str:
    numbers = [value for value in field_.values.values() if _is_number(value)]
    return f"{_digits(min(numbers))} to {_digits(max(numbers))}" if numbers else ""


def _digits(number: Any) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{float(number):.6g}"


def _span(field_: Field) -> str:
    texts = sorted(map(str, field_.values.values()))
    return f"{texts[0]} to {texts[-1]}" if texts else ""


def _moment(micros: float) -> str:
    from cedilla.compiler.expressions.types import TIMESTAMP

    return TIMESTAMP.wire(int(micros)).strip('"')


def _list(field_: Field) -> str:
    values = field_.distinct
    if not values:
        return ""
    first = ", ".join(_comment_text(value) for value, _ in values.most_common(_SHOWN))
    if len(values) <= _SHOWN:
        return f"one value, {first}" if len(values) == 1 else f"{len(values)} values: {first}"
    return f"{len(values):,} values, such as {first}"


def _comment_text(value: Any) -> str:
    """Returns a value for a comment, on one line and short."""
    if not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else one_line(str(value))[:_LONGEST]
    cut = value[:_LONGEST] + ("…" if len(value) > _LONGEST else "")
    return one_line(STRING.wire(cut))
