"""Lines whose keys are nearly a marker's. Taken for tuples, they would be set aside one by one while the run goes on in
the old unit, so they end it as spoilt markers do (RQ212).

A line is one where it is an object with one key, or with keys that all begin with `$`; and one of these keys is near
`$accent` or `$punctuation`, is no declared attribute, and has a string for a value that begins with `[`. Near is what
is one edit away, of `punctuation` two, without regard to case and to `$`, `_`, `-` and blanks at the ends; an edit
inserts, deletes or replaces a letter, or swaps two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from cedilla.compiler.expressions.types import quote
from cedilla.runtime.items.json_objects import parse_line

_EDITS = {"accent": 1, "punctuation": 2}
_PATTERN = r'[ \t]*\{[ \t]*"(\$|[^"\\]{4,14}"[ \t]*:[ \t]*"\[[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t]*\}[ \t\r]*$)'
EDGE = 28
"""Signs at the beginning of a line in which a key has to show; whoever reads many lines looks no further."""

_WRITTEN = quote(r'"([^"]*)"')
_KEY = f"trim(BOTH '$_- ' FROM lower(regexp_extract(value, {_WRITTEN}, 1)))"
_NEAR = " OR ".join(f"levenshtein({_KEY}, '{word}') <= {2 * edits}" for word, edits in _EDITS.items())
CANDIDATE = f"contains(left(value, {EDGE}), '\"[') AND value RLIKE {quote('^' + _PATTERN)} AND ({_NEAR})"
"""SQL: whether a line `value` of one key may be one; few others are."""


def near_key(line: str, item: Mapping[str, Any], attributes: Collection[str] = ()) -> str | None:
    """The key of a line that is nearly a marker's, `None` where none is, or the line is a marker.

    `item`: what the line holds; `attributes`: those that are declared.
    """
    if not ('"[' in line[:EDGE] or '"$' in line[:EDGE]) or not re.match(_PATTERN, line):
        return None
    if item.get("$accent") is not None or item.get("$punctuation") is not None:
        return None
    if len(item) > 1 and not all(key.startswith("$") for key in item):
        return None
    for key, value in item.items():
        if key not in attributes and isinstance(value, str) and value.startswith("[") and _is_near(key):
            return key
    return None


def is_near_marker(line: str, attributes: Collection[str] = ()) -> bool:
    """Whether a line is nearly a marker."""
    return _key(line, attributes) is not None


def problem(line: str) -> tuple[str, str]:
    """What is wrong with a line that was meant as a marker, and what mends it."""
    if (key := _key(line)) is None:
        return (
            "a line that is meant as a marker is no JSON object",
            'quotes inside a marker are escaped: {"$accent": "[[place = \\"north\\", -(p)]]"}',
        )
    meant = min(_EDITS, key=lambda word: _distance(_core(key), word))
    return (
        f"a line with the key `{key}` is nearly a marker, and none",
        f"`${meant}` if it is meant as one; an attribute of that name has to be declared",
    )


def _key(line: str, attributes: Collection[str] = ()) -> str | None:
    try:
        return near_key(line, parse_line(line), attributes)
    except ValueError:
        return None


def _core(key: str) -> str:
    return key.strip("$_- ").casefold()


def _is_near(key: str) -> bool:
    core = _core(key)
    return any(_distance(core, word) <= edits for word, edits in _EDITS.items())


def _distance(a: str, b: str) -> int:
    """The least number of edits between two words (optimal string alignment)."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]
