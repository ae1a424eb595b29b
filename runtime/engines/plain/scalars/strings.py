"""Functions of strings: cutting, joining, searching, patterns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def _substring(text: str, position: int, length: int | None = None) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(0, start) : None if length is None else max(0, start + length)]


def _padded(text: str, length: int, pad: str, *, left: bool) -> str:
    if length <= len(text) or not pad:
        return text[: max(0, length)]
    missing = length - len(text)
    filling = (pad * missing)[:missing]
    return filling + text if left else text + filling


def _joined(separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _translate(text: str, letters: str, others: str) -> str:
    table: dict[int, str | None] = {}
    for index, letter in enumerate(letters):
        table.setdefault(ord(letter), others[index] if index < len(others) else None)
    return text.translate(table)


def _part(text: str, separator: str, number: int) -> str | None:
    if number == 0:
        return None
    pieces = text.split(separator) if separator else [text]
    index = number - 1 if number > 0 else len(pieces) + number
    return pieces[index] if 0 <= index < len(pieces) else ""


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
    parts = [""]
    for token in tokens:
        if token == "%":
            parts.append("")
        else:
            parts[-1] += "." if token == "_" else re.escape(token.removeprefix("\\") or "\\")
    if len(parts) == 1:
        return re.fullmatch(parts[0], text, re.DOTALL) is not None
    first, *inner, last = parts
    # The first place of a part leaves most to the others: no further one is tried.
    places = "".join(f"(?>.*?{part})" for part in inner)
    return re.fullmatch(f"{first}{places}.*{last}", text, re.DOTALL) is not None


def _regex(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern: \\w and the like match ASCII only; `$` is the very end."""
    tokens: list[str] = re.findall(r"\[\^?(?:\\.|[^\]\\])+\]|\\.|.", pattern, re.DOTALL)
    return re.compile("".join(r"\Z" if token == "$" else token for token in tokens), re.ASCII)


def _extract(text: str, pattern: str, group: int) -> str:
    match = _regex(pattern).search(text)
    return (match[group] or "") if match else ""


VALUES: dict[str, Callable[..., Any]] = {
    "upper": str.upper,
    "lower": str.lower,
    "initcap": lambda s: " ".join(word[:1].title() + word[1:].lower() for word in s.split(" ")),
    "length": len,
    "octet_length": lambda s: len(s.encode()),
    "ascii": lambda s: ord(s[0]) if s else 0,
    "char": lambda n: "" if n < 0 else chr(n % 256),
    "trim": lambda s: s.strip(" "),
    "ltrim": lambda s, letters=" ": s.lstrip(letters) if letters else s,
    "rtrim": lambda s, letters=" ": s.rstrip(letters) if letters else s,
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
}
