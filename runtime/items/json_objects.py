"""JSON objects of lines, as Spark's JSON reader takes them: words for doubles that JSON has no numbers for, and the
text of each value, which is what an attribute of type `string` gets where the value is no string.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any

from cedilla.compiler.expressions.types import STRING, Type

NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""Doubles that JSON has no numbers for, as outputs write them."""

_WORDS = {word: float(word) for word in (*NOT_FINITE, "+Infinity", "+INF", "-INF")}
_MORE_WORDS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[+-]INF\b|\+Infinity\b')
"""Those that Python's reader does not know; strings are matched so that nothing inside them is."""
_MANY_DIGITS = 400
"""A number of a greater exponent is written with it."""
_BLANK = re.compile(r"[ \t\n\r]*")


class NoObject:
    """What stands for a value that lies inside of what is no object."""


class JsonObject(dict[str, Any]):
    """The object of a line: numbers with a point are `Decimal`, NaN and infinities `float`. `line`: its text;
    `written`: attribute -> its text, where values are written as texts."""

    line: str = ""
    written: Mapping[str, str] = {}

    def texts_of(self, names: Collection[str]) -> Mapping[str, str]:
        """Some attributes -> the texts of their values, sign by sign as they are written."""
        if self.written:
            return {name: self.written[name] for name in names}
        if any(isinstance(self[name], dict | list | float) for name in names):
            return self._texts()
        try:  # once more, but by the parser: it is some ten times as fast
            again = json.loads(self.line, parse_int=str, parse_float=str)
        except ValueError:  # of a word for an infinity
            return self._texts()
        return {n: str(again[n]).lower() if isinstance(self[n], bool) else again[n] for n in names}

    def shown(self, name: str) -> str:
        """A value for a message."""
        return _shown(self, name)

    def with_fields(self, types: Mapping[str, Type]) -> JsonObject:
        """The same with what its line has by the names of attributes that came by accents: most have it all anyway."""
        return self

    def _texts(self) -> dict[str, str]:
        line = self.line
        plain = _replaced(line, lambda word: "-1".ljust(len(word), "0"))  # no text is moved
        decoder = json.JSONDecoder()
        found: dict[str, str] = {}
        at = _after_blanks(plain, 0) + 1
        while plain[at := _after_blanks(plain, at)] != "}":
            name, at = decoder.raw_decode(plain, at)
            begin = _after_blanks(plain, _after_blanks(plain, at) + 1)
            _, at = decoder.raw_decode(plain, begin)
            found[name] = line[begin:at]
            at = _after_blanks(plain, at)
            at += plain[at] == ","
        return found


def parse_line(text: str) -> JsonObject:
    """The object of a line. `ValueError` where it is no JSON object."""
    try:
        item: Any = _parsed(text)
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
    if not isinstance(item, dict):
        raise ValueError("the line is no JSON object")
    parsed = JsonObject(item)  # type: ignore[reportUnknownArgumentType]
    parsed.line = text
    return parsed


def parse_array(text: str) -> Any:
    """The list that a text is in JSON; else the text itself."""
    try:
        found: Any = _parsed(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, list) else text  # type: ignore[reportUnknownVariableType]


def _parsed(text: str) -> Any:
    hook = _with_whole_names if _SURROGATE.search(text) else None
    try:
        return json.loads(text, parse_float=Decimal, object_pairs_hook=hook)
    except ValueError:
        again = _replaced(text, lambda word: word.removeprefix("+").replace("INF", "Infinity"))
        if again == text:
            raise
        return json.loads(again, parse_float=Decimal, object_pairs_hook=hook)


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _with_whole_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    for name, _ in pairs:
        if not is_text(name):
            raise ValueError("a name has half a pair of surrogates")
    return dict(pairs)


def _replaced(text: str, new: Callable[[str], str]) -> str:
    """The text with other words in place of `+INF`, `-INF` and `+Infinity`."""
    return _MORE_WORDS.sub(lambda found: found[0] if found[0][0] == '"' else new(found[0]), text)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def read_strings(item: Mapping[str, Any], types: Mapping[str, Type]) -> Mapping[str, Any]:
    """A tuple with the text of each value in place of what is no string in an attribute of type `string`."""
    others = [
        n
        for n, v in item.items()
        if v is not None and types.get(n) == STRING and not isinstance(v, str | NoObject)
    ]
    if not others:
        return item
    texts = item.texts_of(others) if isinstance(item, JsonObject) else {n: json_text(item[n]) for n in others}
    return {**item, **{name: texts[name] for name in others}}


def is_text(text: str) -> bool:
    """Whether a text has no half of a pair of surrogates, which UTF-8 has no bytes for."""
    return text.isascii() or _HALF.search(text) is None


_HALF = re.compile("[\ud800-\udfff]")


def with_fields(item: Mapping[str, Any], types: Mapping[str, Type]) -> Mapping[str, Any]:
    """A tuple with all fields of some types that its line has."""
    return item.with_fields(types) if isinstance(item, JsonObject) else item


SHOWN = 40
"""How many signs of a string a message shows."""
NUMBER = r"[-+]?(?:[0-9][-+0-9.eE]*|NaN|Infinity|INF)"
"""A number, or a word for one, as a line has it."""
_CONTROL = re.compile(r"\\u00[0-9a-f]{2}")


def shown(item: Mapping[str, Any], name: str) -> str:
    """A value of a line for a message, the same as `formats.faults` makes of it in SQL."""
    return item.shown(name) if isinstance(item, JsonObject) else _shown(item, name)


def _shown(item: Mapping[str, Any], name: str) -> str:
    written = item.written if isinstance(item, JsonObject) else {}
    match written.get(name, item[name]):
        case bool() as value:
            return str(value).lower()
        case str() as value if not is_text(value):
            return "a text with half a pair of surrogates"
        case str() as value:
            quoted = _CONTROL.sub(
                lambda sign: sign[0][:2] + sign[0][2:].upper(), json.dumps(value[:SHOWN], ensure_ascii=False)
            )
            return quoted + ("…" if len(value) > SHOWN else "")
        case dict():
            return "an object"
        case list():
            return "a list"
        case value:
            key = f'"{name}"'
            line = item.line if isinstance(item, JsonObject) else f"{key}:{json_text(value)}"
            found = re.search(rf"{re.escape(key)}[ \t]*:[ \t]*({NUMBER})", line)
            return found[1] if found is not None and line.count(key) == 1 else "a number"


def word(value: Any) -> float | None:
    """The NaN or infinity that a JSON value, a word or a string, means as a double; `None` where it means none."""
    if isinstance(value, str):
        return _WORDS.get(value)
    return value if isinstance(value, float) and not math.isfinite(value) else None


def json_text(value: Any) -> str:
    """A JSON value as text, decimals with all their digits, NaN and infinities as strings, as Spark writes them.
    `ValueError` for what is none."""
    match value:
        case NoObject():
            raise ValueError("a value lies inside of what is no object")
        case Decimal():
            return f"{value:f}" if abs(value.adjusted()) < _MANY_DIGITS else str(value)
        case float() if not math.isfinite(value):
            return '"NaN"' if math.isnan(value) else f'"{"-" if value < 0 else ""}Infinity"'
        case dict():
            fields = value.items()  # type: ignore[reportUnknownVariableType]
            return f"{{{', '.join(f'{json_text(str(n))}: {json_text(v)}' for n, v in fields)}}}"  # type: ignore[reportUnknownArgumentType,reportUnknownVariableType]
        case list():
            return f"[{', '.join(map(json_text, value))}]"  # type: ignore[reportUnknownArgumentType]
        case _:
            return json.dumps(value, ensure_ascii=False)
