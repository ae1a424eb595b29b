"""Which lines are markers, and which were meant as one but are none (RQ212).

A line that is meant as a marker is no tuple: set aside as one, it would let the run go on in the old unit. So it ends
the query. There are three kinds:

- A line with the key of a marker that is no JSON object: Python's `{'$accent': '...'}`, YAML's `$accent: ...`, an
  open quote.
- A marker with more on its line: keys of a tuple, a second marker. Keys that begin with `$` are remarks.
- A line whose key is nearly a marker's: an object with one key, or with keys that all begin with `$`. One of these
  keys is near `$accent` or `$punctuation`, is no declared attribute, and has a string for a value that begins with
  `[`. Near is one edit away, of `punctuation` two, without regard to case and to `$`, `_`, `-` and blanks at the
  ends; an edit inserts, deletes or replaces a letter, or swaps two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from cedilla.runtime.items.json_objects import parse_line

KINDS = ("accent", "punctuation")
KEYS = tuple(f"${kind}" for kind in KINDS)
_EDITS = {"accent": 1, "punctuation": 2}
_PATTERN = re.compile(
    r'[ \t]*\{[ \t]*"(\$|[^"\\]{4,14}"[ \t]*:[ \t]*"\[[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t]*\}[ \t\r]*$)'
)
_LOOSE = re.compile(r"""[ \t]*\{[ \t]*["']?([^"'\\:]{4,14})["']?[ \t]*:[ \t]*["']\[""")
"""A line that is no JSON object and has a key with the text of a marker."""
_WORD = r"\$(?:accent|punctuation)(?![\w$])"
_MEANT = re.compile(rf"""[^\w$]*{_WORD}|.*?(?:"{_WORD}"|{_WORD}\\?["'`”’]?[ \t]*[:=])""")
"""A line with the key of a marker as its first word, in double quotes, or before a colon."""
EDGE = 28
"""Signs at the beginning of a line in which a near key has to show; whoever reads many lines looks no further."""


def marker_of(
    line: str, item: Mapping[str, Any] | None, attributes: Collection[str] = ()
) -> tuple[str, str] | None:
    """The kind of marker that a line is or was meant as, and its text; `None` where the line is neither.

    The kind is `accent`, `punctuation`, `spoilt`, or `near` where only the declared `attributes` can tell. `item`: the
    object that the line is, `None` where it is none.
    """
    if item is None:
        if _MEANT.match(line):
            return "spoilt", line
        return ("near", line) if _loose_key(line, attributes) is not None else None
    kinds = [kind for kind in KINDS if item.get(f"${kind}") is not None]
    if kinds:
        is_alone = next(_beside(line, item), None) is None
        return (kinds[0], str(item[f"${kinds[0]}"])) if is_alone else ("spoilt", line)
    return ("near", line) if _near_key(line, item, attributes) is not None else None


def is_near_marker(line: str, attributes: Collection[str] = ()) -> bool:
    """Returns True for a line that is meant as a marker and is none."""
    found = marker_of(line, _object(line), attributes)
    return found is not None and found[0] not in KINDS


def problem(line: str) -> tuple[str, str]:
    """The fault of a line that is meant as a marker, and its remedy."""
    item = _object(line)
    if item is not None and any(item.get(key) is not None for key in KEYS):
        return more_beside(_beside(line, item))
    key = _near_key(line, item) if item is not None else None if _MEANT.match(line) else _loose_key(line)
    if key is not None:
        meant = min(_EDITS, key=lambda word: _distance(_core(key), word))
        return (
            f"a line with the key `{key}` is nearly a marker, and none",
            f"`${meant}` if it is meant as one; an attribute of that name has to be declared",
        )
    if any(f'"{word}"' in line for word in KEYS):
        hint = 'quotes inside a marker are escaped: {"$accent": "[[place = \\"north\\", -(p)]]"}'
    else:
        hint = 'keys and texts in double quotes: {"$accent": "[[-(p)]]"}; `json.dumps` of Python writes them'
    return "a line that is meant as a marker is no JSON object", hint


def more_beside(names: Iterable[str]) -> tuple[str, str]:
    """The fault of a marker that has other keys or columns beside it, and its remedy."""
    return (
        f"the line of a marker has more on it: {', '.join(names)}",
        "each marker is a line of its own, and so is each tuple: the tuples that an accent changes come after it",
    )


def _object(line: str) -> Mapping[str, Any] | None:
    try:
        return parse_line(line)
    except ValueError:
        return None


def _beside(line: str, item: Mapping[str, Any]) -> Iterator[str]:
    """The keys on the line of a marker beside the marker and remarks."""
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
    found = _LOOSE.match(line)
    if found is None or found[1] in attributes or not _is_near(found[1]):
        return None
    return found[1]


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
