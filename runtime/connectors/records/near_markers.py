"""Recognizes lines that are markers, and malformed ones that only look like markers (RQ212).

A line that looks like a marker is not a tuple. Quarantining it as one would let the run continue in the old unit, so it
ends the query. There are three kinds:

- A line with the key of a marker that is not a JSON object: Python's `{'$accent': '...'}`, YAML's `$accent: ...`, an
  open quote.
- A marker with other content on its line: keys of a tuple, a second marker. Keys that begin with `$` are remarks.
- A line whose key is similar to a marker's: an object with one key, or with keys that all begin with `$`. One of these
  keys is similar to `$accent` or `$punctuation`, is not a declared attribute, and has a string value that begins with
  `[`. Similar keys have an edit distance of one, or two for `punctuation`. Case, and `$`, `_`, `-` and blanks at the
  ends, do not count. An edit inserts, deletes or replaces a letter, or swaps two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from cedilla.grammar.diagnostics.suggestions import edits
from cedilla.runtime.connectors.records.json_objects import parse_line

KINDS = ("accent", "punctuation")
KEYS = tuple(f"${kind}" for kind in KINDS)
_EDITS = {"accent": 1, "punctuation": 2}
_PATTERN = re.compile(
    r'[ \t]*\{[ \t]*"(\$|[^"\\]{4,14}"[ \t]*:[ \t]*"\[[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t]*\}[ \t\r]*$)'
)
_LOOSE = re.compile(r"""[ \t]*\{[ \t]*["']?([^"'\\:]{4,14})["']?[ \t]*:[ \t]*["']\[""")
"""A line that is not a JSON object and has a key with the text of a marker."""
_WORD = r"\$(?:accent|punctuation)(?![\w$])"
_MEANT = re.compile(rf"""[^\w$]*{_WORD}|.*?(?:"{_WORD}"|{_WORD}\\?["'`”’]?[ \t]*[:=])""")
"""A line with the key of a marker as its first word, in double quotes, or before a colon."""
ESCAPED = re.compile(rb"\\u00(?:24|6[1359ef]|7[045])", re.IGNORECASE)
"""A pattern of the escaped letters of a marker's key; writers of JSON do not escape these."""
_SIGNS = (*(key.encode() for key in KEYS), b'"[', b"'[")
EDGE = 28
"""Number of characters at the beginning of a line that must show a similar key; scans of many lines check no more."""


def marker_of(
    line: str, item: Mapping[str, Any] | None, attributes: Collection[str] = ()
) -> tuple[str, str] | None:
    """Returns the kind and the text of a marker, or of a line that looks like one; `None` for other lines.

    The kind is `accent`, `punctuation`, `malformed`, or `suspicious_key` if only the declared `attributes` can decide.
    `item`: the object of the line, `None` if it is not one.
    """
    if item is None:
        if _MEANT.match(line):
            return "malformed", line
        return ("suspicious_key", line) if _loose_key(line, attributes) is not None else None
    kinds = [kind for kind in KINDS if item.get(f"${kind}") is not None]
    if kinds:
        is_alone = next(_beside(line, item), None) is None
        return (kinds[0], str(item[f"${kinds[0]}"])) if is_alone else ("malformed", line)
    return ("suspicious_key", line) if _near_key(line, item, attributes) is not None else None


def may_have_markers(text: bytes) -> bool:
    """Returns False if no line of a text is a marker or looks like one."""
    return any(sign in text for sign in _SIGNS) or (b"\\" in text and ESCAPED.search(text) is not None)


def is_near_marker(line: str, attributes: Collection[str] = ()) -> bool:
    """Returns True for a line that looks like a marker but is not one."""
    kind_and_text = marker_of(line, _object(line), attributes)
    return kind_and_text is not None and kind_and_text[0] not in KINDS


def problem(line: str) -> tuple[str, str]:
    """Returns message and hint for a line that looks like a marker but is not one."""
    item = _object(line)
    if item is not None and any(item.get(key) is not None for key in KEYS):
        return more_beside(_beside(line, item))
    key = _near_key(line, item) if item is not None else None if _MEANT.match(line) else _loose_key(line)
    if key is not None:
        meant = min(_EDITS, key=lambda word: edits(_core(key), word))
        return (
            f"a line with the key `{key}` looks like a marker, but is not one",
            f"write `${meant}` for a marker; an attribute of that name has to be declared",
        )
    if line.rstrip().endswith(("},", "};")) and _object(line.rstrip()[:-1]) is not None:
        hint = "nothing comes after the object of a line: leave the sign at its end out"
    elif any(f'"{word}"' in line for word in KEYS):
        hint = 'quotes inside a marker are escaped: {"$accent": "[[place = \\"north\\", -(p)]]"}'
    else:
        hint = 'keys and texts in double quotes: {"$accent": "[[-(p)]]"}; `json.dumps` of Python writes them'
    return "a line that looks like a marker is not a JSON object", hint


def more_beside(names: Iterable[str]) -> tuple[str, str]:
    """Returns message and hint for a marker with other keys or columns on its line."""
    return (
        f"the line of a marker contains more: {', '.join(names)}",
        "each marker is a line of its own, and so is each tuple: the tuples that an accent changes come after it",
    )


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        return parse_line(line)
    except ValueError:
        return None


def _beside(line: str, item: Mapping[str, Any]) -> Iterator[str]:
    """Yields the keys on the line of a marker other than the marker and remarks."""
    markers = [key for key in KEYS if item.get(key) is not None]
    yield from markers[1:]
    for key, value in item.items():
        is_remark = key.startswith("$") and not _is_near(key)
        if value is not None and key not in KEYS and not is_remark:
            yield key
    if len(re.findall(rf'"{re.escape(markers[0])}"[ \t]*:', line)) > 1:
        yield f"{markers[0]} twice"


def _near_key(line: str, item: Mapping[str, Any], attributes: Collection[str] = ()) -> str | None:
    start = line[:EDGE]
    if not ('"[' in start or '"$' in start) or not _PATTERN.match(line):
        return None
    if len(item) > 1 and not all(key.startswith("$") for key in item):
        return None
    for key, value in item.items():
        if key not in attributes and isinstance(value, str) and value.startswith("[") and _is_near(key):
            return key
    return None


def _loose_key(line: str, attributes: Collection[str] = ()) -> str | None:
    match = _LOOSE.match(line)
    if match is None or match[1] in attributes or not _is_near(match[1]):
        return None
    return match[1]


def _core(key: str) -> str:
    return key.strip("$_- ").casefold()


def _is_near(key: str) -> bool:
    core = _core(key)
    return any(
        abs(len(core) - len(word)) <= most and edits(core, word) <= most for word, most in _EDITS.items()
    )
