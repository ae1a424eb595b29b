"""Parses JSON objects of lines in the same way as Spark's JSON reader. It accepts words for NaN and infinities, and it
gives the text of each value for attributes of type `string`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from cedilla.compiler.expressions.types import STRING, VERSION, Type
from cedilla.compiler.plan.field_paths import FieldPath
from cedilla.runtime.connectors.records.foreign import json_value

NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""Doubles without a number in JSON, as outputs write them."""

_WORDS = {word: float(word) for word in (*NOT_FINITE, "+Infinity", "+INF", "-INF")}
_MORE_WORDS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[+-]INF\b|\+Infinity\b')
"""Words that Python's parser does not know. The pattern also matches strings, so that words inside them are not
found."""
_MIN_EXPONENT = 400
"""Minimum exponent of numbers that are written with an exponent."""
_BLANK = re.compile(r"[ \t\n\r]*")


def object_of(text: str | bytes) -> dict[str, Any]:
    """Returns the JSON object of a text that anybody may have written; an empty one for every other text."""
    try:
        content = json_value(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


class NoObject:
    """Placeholder for a value whose path leads through a value that is not an object."""


class TwoValues(NoObject):
    """Placeholder for different values at several paths of an attribute (RQ312)."""


ARRAY = "the line is an array of objects: `jq -c '.[]'` writes them as lines"


class JsonObject(dict[str, Any]):
    """The object of a line: numbers with a point are `Decimal`, NaN and infinities `float`. `line`: its text.
    `written`: attribute -> its text, for formats that write values as texts."""

    line: str = ""
    written: Mapping[str, str] = {}

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Maps attributes to the texts of their values exactly as written."""
        if self.written:
            return {name: self.written[name] for name in names}
        if any(isinstance(self[name], dict | list | float) for name in names):
            return self._texts()
        try:  # parse again, which is about ten times as fast
            again = json.loads(self.line, parse_int=str, parse_float=str)
        except ValueError:  # the line contains a word for an infinity
            return self._texts()
        return {n: str(again[n]).lower() if isinstance(self[n], bool) else again[n] for n in names}

    def shown(self, name: str) -> str:
        """Returns a value for a message."""
        return _value_text(self, name)

    def with_fields(self, types: Mapping[str, Type]) -> JsonObject:
        """Returns the tuple with the fields of added attributes too; most tuples contain all fields already."""
        return self

    def with_paths(self, paths: Mapping[str, FieldPath]) -> JsonObject | None:
        """Returns the tuple of a format that keeps all that it was read from, by other paths; else `None`."""
        return None

    def _texts(self) -> dict[str, str]:
        line = self.line
        plain = _replaced(line, lambda word: "-1".ljust(len(word), "0"))  # offsets remain the same
        decoder = json.JSONDecoder()
        texts: dict[str, str] = {}
        at = _after_blanks(plain, 0) + 1
        while plain[at := _after_blanks(plain, at)] != "}":
            name, at = decoder.raw_decode(plain, at)
            begin = _after_blanks(plain, _after_blanks(plain, at) + 1)
            _, at = decoder.raw_decode(plain, begin)
            texts[name] = line[begin:at]
            at = _after_blanks(plain, at)
            at += plain[at] == ","
        return texts


def parse_line(text: str) -> JsonObject:
    """Parses a line to an object. Raises `ValueError` if it is not a JSON object."""
    item: Any = _parsed(text)
    if not isinstance(item, dict):
        is_array = isinstance(item, list) and item and all(isinstance(element, dict) for element in item)  # type: ignore[reportUnknownVariableType]
        raise ValueError(ARRAY if is_array else "the line is not a JSON object")
    parsed = JsonObject(item)  # type: ignore[reportUnknownArgumentType]
    parsed.line = text
    return parsed


def parse_array(text: str) -> Any:
    """Parses a text as a JSON list; returns the text itself if it is not a list."""
    try:
        value: Any = _parsed(text)
    except ValueError:
        return text
    return value if isinstance(value, list) else text  # type: ignore[reportUnknownVariableType]


def _parsed(text: str) -> Any:
    if is_too_deep(text):
        raise ValueError("the line is nested too deeply")
    hook = _with_whole_names if _SURROGATE.search(text) else None
    try:
        return json.loads(text, parse_float=decimal_of, object_pairs_hook=hook)
    except ValueError:
        again = _replaced(text, lambda word: word.removeprefix("+").replace("INF", "Infinity"))
        if again == text:
            raise
        return json.loads(again, parse_float=decimal_of, object_pairs_hook=hook)


def is_too_deep(text: str) -> bool:
    """Returns True if lists and objects lie in more than `DEEPEST` others. Readers visit them by recursion."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    import numpy as np

    signs = np.frombuffer(_STRING.sub("", text).encode("utf-8", "replace"), np.uint8)
    begins, ends = np.isin(signs, _OPENING), np.isin(signs, _CLOSING)
    return int(np.cumsum(begins.astype(np.int64) - ends).max(initial=0)) > DEEPEST


DEEPEST = 200
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_OPENING, _CLOSING = [*b"[{"], [*b"]}"]


def decimal_of(text: str) -> Decimal:
    """The number of a text. An exponent that no `Decimal` has is cut: the number stays beyond all types."""
    try:
        return Decimal(text)
    except InvalidOperation:
        digits, _, exponent = text.lower().partition("e")
        return Decimal(f"{digits}e{'-' if exponent.startswith('-') else ''}{_FARTHEST_EXPONENT}")


def number_of(text: str) -> float | Decimal:
    """The number of a text: a double if its digits are the same, else a decimal with all of them."""
    number = float(text)
    if len(text) <= _SAFE_LENGTH or decimal_of(text) == Decimal(repr(number)):
        return number
    return decimal_of(text)


_SAFE_LENGTH = 16
"""Maximum length of a text with a point that a double always keeps: 15 digits."""
_FARTHEST_EXPONENT = 10**17
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _with_whole_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    for name, _ in pairs:
        if not is_text(name):
            raise ValueError("a name has half a pair of surrogates")
    return dict(pairs)


def _replaced(text: str, new: Callable[[str], str]) -> str:
    """Replaces `+INF`, `-INF` and `+Infinity` in a text by other words."""
    return _MORE_WORDS.sub(lambda match: match[0] if match[0][0] == '"' else new(match[0]), text)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def read_strings(item: Mapping[str, Any], types: Mapping[str, Type]) -> Mapping[str, Any]:
    """Replaces values of attributes of type `string` or `version` that are not strings by their texts."""
    others = [
        n
        for n, v in item.items()
        if v is not None and types.get(n) in (STRING, VERSION) and not isinstance(v, str | NoObject)
    ]
    if not others:
        return item
    texts = item.texts_of(others) if isinstance(item, JsonObject) else {n: json_text(item[n]) for n in others}
    return {**item, **{name: texts[name] for name in others}}


def is_text(text: str) -> bool:
    """Returns True if a text contains no unpaired surrogate, which UTF-8 cannot encode."""
    return text.isascii() or _HALF.search(text) is None


_HALF = re.compile("[\ud800-\udfff]")


def with_fields(item: Mapping[str, Any], types: Mapping[str, Type]) -> Mapping[str, Any]:
    """Returns a tuple with all fields of some types that its line contains."""
    return item.with_fields(types) if isinstance(item, JsonObject) else item


MAX_SHOWN = 40
"""Maximum number of characters of a string in a message."""
NUMBER = r"[-+]?(?:[0-9][-+0-9.eE]*|NaN|Infinity|INF)"
"""A number, or a word for NaN or an infinity, as in a line."""
_CONTROL = re.compile(r"\\u00[0-9a-f]{2}")


def shown(item: Mapping[str, Any], name: str) -> str:
    """Returns a value of a line for a message."""
    return item.shown(name) if isinstance(item, JsonObject) else _value_text(item, name)


def _value_text(item: Mapping[str, Any], name: str) -> str:
    spellings = item.written if isinstance(item, JsonObject) else {}
    match spellings.get(name, item[name]):
        case bool() as value:
            return str(value).lower()
        case str() as value if not is_text(value):
            return "a text with half a pair of surrogates"
        case str() as value:
            quoted = _CONTROL.sub(
                lambda sign: sign[0][:2] + sign[0][2:].upper(),
                json.dumps(value[:MAX_SHOWN], ensure_ascii=False),
            )
            return quoted + ("…" if len(value) > MAX_SHOWN else "")
        case dict():
            return "an object"
        case list():
            return "a list"
        case value:
            key = f'"{name}"'
            line = item.line if isinstance(item, JsonObject) else f"{key}:{json_text(value)}"
            match = re.search(rf"{re.escape(key)}[ \t]*:[ \t]*({NUMBER})", line)
            return match[1] if match is not None and line.count(key) == 1 else "a number"


def word(value: Any) -> float | None:
    """Returns the NaN or infinity in a JSON value, a word or a string; `None` for other values."""
    if isinstance(value, str):
        return _WORDS.get(value)
    return value if isinstance(value, float) and not math.isfinite(value) else None


def json_text(value: Any) -> str:
    """Returns a JSON value as text: decimals with all of their digits, NaN and infinities as strings, as Spark writes
    them. Raises `ValueError` for a `NoObject`."""
    match value:
        case NoObject():
            raise ValueError("a value lies inside of a value that is not an object")
        case Decimal():
            return f"{value:f}" if abs(value.adjusted()) < _MIN_EXPONENT else str(value)
        case float() if not math.isfinite(value):
            return '"NaN"' if math.isnan(value) else f'"{"-" if value < 0 else ""}Infinity"'
        case dict():
            fields = value.items()  # type: ignore[reportUnknownVariableType]
            return f"{{{', '.join(f'{json_text(str(n))}: {json_text(v)}' for n, v in fields)}}}"  # type: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        case list():
            return f"[{', '.join(map(json_text, value))}]"  # type: ignore[reportUnknownArgumentType]
        case _:
            return json.dumps(value, ensure_ascii=False)
