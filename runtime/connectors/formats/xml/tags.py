"""Finds all elements of a text at once: each `<` with the next `>` is a tag, and the order of the kinds of tags gives
the tuples and their values.

If something is not in order, the elements before it are returned. `records.xml_records` continues from there, one by
one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from attrs import frozen

from cedilla.runtime.connectors.formats.lines.blocks import Places
from cedilla.runtime.connectors.records.xml_records import BLANK

pc: Any = pyarrow.compute

_NAME = rb"[A-Za-z_\x80-\xff][A-Za-z0-9_.:\-\x80-\xff]*+"
_TAG = re.compile(rb"<(?:(?P<open>%b)(?:\s[^<>]*?)?(?P<empty>/)?|/(?P<close>%b)\s*+)>" % (_NAME, _NAME))
_MAX_DISTINCT = 4096
"""Maximum number of distinct tags; texts with more are parsed one by one."""
_BLANKS = np.isin(np.arange(256), np.frombuffer(BLANK, np.uint8))
"""True for each character that is a blank."""
Depths = np.ndarray[Any, np.dtype[np.int32]]


@frozen(eq=False)
class Leaves:
    """The elements of one name in tuples: the numbers of the tuples, and the numbers of the texts in
    `Elements.texts`."""

    rows: Places
    texts: Places


@frozen(eq=False)
class Elements:
    """The first elements of a text, with their starts and ends. `all_in_order`: the rest may be the beginning of an
    element. `has_markers`: some of them are markers. `leaves`: values by element name. `texts`: tags and the texts
    between them; the last one is empty.
    """

    starts: Places
    ends: Places
    all_in_order: bool
    has_markers: bool
    leaves: dict[bytes, Leaves]
    texts: pa.Array


def elements_of(text: bytes) -> Elements | None:
    """Returns the elements at the beginning of a text, up to the first that is not in order; `None` without
    one."""
    signs = np.frombuffer(text, np.uint8)
    begins, ends = np.flatnonzero(signs == ord("<")), np.flatnonzero(signs == ord(">"))
    begins, ends, all_paired = _paired(begins, ends)
    if not len(begins):
        return None
    texts = _between(text, begins, ends)
    every = pc.dictionary_encode(texts)  # slicing out the tags first would copy them
    codes = every.indices.to_numpy()[0:-1:2]
    occurring = np.flatnonzero(np.bincount(codes))
    if len(occurring) > _MAX_DISTINCT:
        return None
    steps, named, names = _kinds(every.dictionary.take(pa.array(occurring)).to_pylist())
    of_code = np.zeros(len(every.dictionary), np.int32)
    of_code[occurring] = np.arange(len(occurring))
    codes = of_code[codes]
    tags = _Tags(begins, ends, steps[codes], named[codes])
    good, is_all = tags.in_order(signs, np.array([name.startswith(_PREFIXES) for name in names], bool))
    return tags.first(good).elements(names, texts, all_in_order=is_all and all_paired) if good else None


def _paired(begins: Places, ends: Places) -> tuple[Places, Places, bool]:
    """Returns the starts of the first tags and the next `>` after each. The last value is True if no other tag follows,
    except an incomplete one. A tag that contains a `<` ends the list."""
    count = min(len(begins), len(ends))
    if not ((begins[:count] < ends[:count]).all() and (begins[1:count] > ends[: count - 1]).all()):
        at = np.searchsorted(ends, begins)
        count = int(np.searchsorted(at, len(ends)))
        ends = ends[at[:count]]
    following = begins[1 : count + 1]
    unpaired = np.flatnonzero(following < ends[: len(following)])
    first = int(unpaired[0]) if len(unpaired) else count
    return begins[:first], ends[:first], first == count


def _between(text: bytes, begins: Places, ends: Places) -> pa.Array:
    """Returns tags and the texts between them, in turns, followed by an empty text."""
    bounds = np.empty(2 * len(begins) + 1, np.int32)
    bounds[0:-1:2], bounds[1::2], bounds[-1] = begins, ends + 1, ends[-1] + 1
    return pa.Array.from_buffers(
        pa.binary(), 2 * len(begins), [None, pa.py_buffer(bounds), pa.py_buffer(text)]
    )


_BAD = 9
_PREFIXES = (b"accent:", b"punct:")


def _kinds(tags: Sequence[bytes]) -> tuple[Depths, Depths, list[bytes]]:
    """Returns for each tag its change of depth and the number of its name, and all names. An accent changes the depth
    by two, like an element in a tuple."""
    numbers: dict[bytes, int] = {}
    steps, named = np.full(len(tags), _BAD, np.int32), np.zeros(len(tags), np.int32)
    for n, tag in enumerate(tags):
        if (match := _TAG.fullmatch(tag)) is None:
            continue
        name = match["open"] or match["close"]
        step = 0 if match["empty"] else 1 if match["open"] else -1
        if name.startswith(_PREFIXES[0]):
            step = 2 * step or _BAD
        steps[n], named[n] = step, numbers.setdefault(name, len(numbers))
    return steps, named, list(numbers)


@frozen(eq=False)
class _Tags:
    """Tags: their starts, the ends at `>`, the changes of depth, and the numbers of their names."""

    begins: Places
    ends: Places
    steps: Depths
    named: Depths

    def first(self, count: int) -> _Tags:
        return _Tags(self.begins[:count], self.ends[:count], self.steps[:count], self.named[:count])

    def in_order(self, signs: Any, is_prefixed: Any) -> tuple[int, bool]:
        """Returns the number of tags up to the end of the last element that is in order, like everything before it. The
        second value is True if all tags are in order."""
        steps, named = self.steps, self.named
        depth = np.cumsum(steps, dtype=np.int32)
        bad = (steps == _BAD) | (depth < 0) | (depth > 2)
        is_open = (depth == 2) & (steps > 0)  # an element of text, or an accent
        before = is_open[:-1]
        bad[1:] |= before & ((steps[1:] >= 0) | (named[1:] != named[:-1]))
        if is_prefixed.any():
            bad |= is_prefixed[named] & (((depth == 2) & (steps == 1)) | ((depth == 1) & (steps == 0)))
        # The next tag closes an element in a tuple, so other closing tags have another depth.
        opens, closes = (
            np.flatnonzero((depth == 1) & (steps == 1)),
            np.flatnonzero((depth == 0) & (steps == -1)),
        )
        pairs = min(len(opens), len(closes))
        bad[closes[:pairs][named[opens[:pairs]] != named[closes[:pairs]]]] = True
        blanks = np.flatnonzero(~before & (self.begins[1:] - self.ends[:-1] > 1))
        bad[blanks + 1] |= ~_are_blank(signs, self.ends[blanks] + 1, self.begins[blanks + 1])
        bad[0] |= not _are_blank(signs, np.array([0]), self.begins[:1]).all()
        good = int(bad.argmax()) if bad.any() else len(bad)
        over = np.flatnonzero(depth[:good] == 0)
        return int(over[-1]) + 1 if len(over) else 0, good == len(bad)

    def elements(self, names: Sequence[bytes], texts: pa.Array, *, all_in_order: bool) -> Elements:
        """Returns the elements of tags that are all in order."""
        depth = np.cumsum(self.steps, dtype=np.int32)
        is_over = depth == 0
        begun = np.append(np.array([True]), is_over[:-1])
        numbers = np.cumsum(begun) - 1
        leaves: dict[bytes, Leaves] = {}
        at = np.flatnonzero(((depth == 2) & (self.steps == 1)) | ((depth == 1) & (self.steps == 0)))
        of = self.named[at]
        for n in np.flatnonzero(np.bincount(of)).tolist():
            mine = at[of == n]
            is_empty = self.steps[mine] == 0
            leaves[names[n]] = Leaves(numbers[mine], np.where(is_empty, len(texts) - 1, 2 * mine + 1))
        kinds = np.array([name.startswith(_PREFIXES) for name in names])
        has_markers = bool(kinds[self.named[begun]].any())
        return Elements(self.begins[begun], self.ends[is_over] + 1, all_in_order, has_markers, leaves, texts)


_MAX_STEPS = 64
"""Maximum number of characters between tags that are checked in one pass each."""


def _are_blank(signs: Any, begins: Places, ends: Places) -> Any:
    """Returns for each pair of positions True if all characters between them are blank."""
    longest = int((ends - begins).max()) if len(begins) else 0
    if longest > _MAX_STEPS:
        counts = np.append(np.zeros(1, np.int32), np.cumsum(~_BLANKS[signs], dtype=np.int32))
        return counts[begins] == counts[ends]
    blank = np.ones(len(begins), bool)
    for n in range(longest):
        blank &= (begins + n >= ends) | _BLANKS[signs[np.minimum(begins + n, len(signs) - 1)]]
    return blank
