"""Counts the lines of a quarantine, and remembers them by file, because files of a quarantine never change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from cedilla.runtime.connectors.records.json_objects import object_of
from cedilla.runtime.connectors.storage.files import Files, name_of
from cedilla.runtime.epochs.checkpoint.inventory import quarantine_epoch, quarantine_files
from cedilla.runtime.epochs.checkpoint.journal import member_name
from cedilla.runtime.epochs.checkpoint.set_aside import UNREADABLE, set_aside_line

_CODE = re.compile(rb'^\{"code": ?"(RQ\d{3})"', re.MULTILINE)
NEWEST = 3
"""Examples of each code."""
_TAIL, _MAX_LINES = 1 << 20, 5_000
"""Bytes and lines at the end of a file that are looked at one by one."""
_MAX_RAW = 2_000


@define
class _File:
    counts: Counter[str]
    examples: dict[str, list[dict[str, Any]]]
    members: Counter[tuple[str, str]]


@define(eq=False)
class QuarantineCounts:
    """The quarantine of a checkpoint."""

    root: str
    _store: Files = field(factory=Files, init=False)
    _files: dict[str, dict[str, _File]] = field(factory=dict[str, dict[str, _File]], init=False)
    """Source -> the path of a file -> what it contains."""

    def read(
        self, attributes: Mapping[str, Iterable[str]] | None = None
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Returns source -> code -> the count and the newest examples. Reads only files that are new.

        `attributes`: by source, those whose values are counted in new lines (`members`).
        """
        counts: dict[str, dict[str, dict[str, Any]]] = {}
        for source, listed in quarantine_files(self._store, self.root).items():
            of_source, known_files = counts.setdefault(source, {}), self._files.setdefault(source, {})
            for path in (file.path for file in reversed(listed)):
                if path not in known_files:
                    with self._store.open(path) as opened:
                        known_files[path] = _contents(
                            opened.read(), tuple((attributes or {}).get(source, ()))
                        )
                file = known_files[path]
                for code, count in file.counts.items():
                    of_code = of_source.setdefault(code, {"count": 0, "newest": []})
                    of_code["count"] += count
                    room = NEWEST - len(of_code["newest"])
                    stamp = {"epoch": quarantine_epoch(path)}
                    of_code["newest"] += [example | stamp for example in file.examples.get(code, [])[:room]]
        return {source: codes for source, codes in counts.items() if codes}

    def members(self, source: str) -> Counter[tuple[str, str]]:
        """Returns the rejected lines of a source by attribute and value, as far as lines are objects of JSON."""
        total: Counter[tuple[str, str]] = Counter()
        for file in self._files.get(source, {}).values():
            total.update(file.members)
        return total


def counts_of(by_source: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
    """Returns the counts by source and code."""
    return {s: {code: entry["count"] for code, entry in codes.items()} for s, codes in by_source.items()}


def _contents(content: bytes, attributes: Sequence[str]) -> _File:
    counts = Counter(code.decode() for code in _CODE.findall(content))
    lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    if others := lines - counts.total():
        counts[UNREADABLE] = others
    examples: dict[str, list[dict[str, Any]]] = {}
    members: Counter[tuple[str, str]] = Counter()
    for line in reversed(content[-_TAIL:].splitlines()[-_MAX_LINES:]):
        item = set_aside_line(line)
        if item is None:  # also where the tail begins inside a line
            continue
        members.update(_values(item.raw, attributes))
        kept = examples.setdefault(item.code, [])
        if len(kept) < NEWEST:
            position = f"{name_of(item.file)}:{item.line}"
            kept.append({"raw": item.raw[:_MAX_RAW], "reason": item.reason, "place": position})
    return _File(counts, examples, members)


def _values(raw: str, attributes: Sequence[str]) -> Iterator[tuple[str, str]]:
    row = object_of(raw) if attributes else {}
    for name in attributes:
        value = row.get(name)
        if value is not None:
            yield name, member_name(value)
