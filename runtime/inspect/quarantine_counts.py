"""Counts the lines of a quarantine, and remembers them by file, because files of a quarantine never change."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from cedilla.runtime.checkpoint.journal import member_name

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
    """The quarantine of a checkpoint in a local folder."""

    root: Path
    _files: dict[Path, _File] = field(factory=dict[Path, _File], init=False)

    def read(
        self, attributes: Mapping[str, Iterable[str]] | None = None
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """Returns source -> code -> the count and the newest examples. Reads only files that are new.

        `attributes`: by source, those whose values are counted in new lines (`members`).
        """
        counts: dict[str, dict[str, dict[str, Any]]] = {}
        for folder in sorted((self.root / "quarantine").glob("*")):
            of_source = counts.setdefault(folder.name, {})
            for path in sorted(folder.glob("*.jsonl"), reverse=True):
                if path not in self._files:
                    self._files[path] = _read(path, tuple((attributes or {}).get(folder.name, ())))
                file = self._files[path]
                for code, count in file.counts.items():
                    of_code = of_source.setdefault(code, {"count": 0, "newest": []})
                    of_code["count"] += count
                    room = NEWEST - len(of_code["newest"])
                    of_code["newest"] += file.examples.get(code, [])[:room]
        return {source: codes for source, codes in counts.items() if codes}

    def members(self, source: str) -> Counter[tuple[str, str]]:
        """Returns the rejected lines of a source by attribute and value, as far as lines are objects of JSON."""
        total: Counter[tuple[str, str]] = Counter()
        for path, file in self._files.items():
            if path.parent.name == source:
                total.update(file.members)
        return total


def counts_of(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, int]]:
    """Returns the counts by source and code."""
    return {s: {code: entry["count"] for code, entry in codes.items()} for s, codes in found.items()}


def _read(path: Path, attributes: Sequence[str]) -> _File:
    content = path.read_bytes()
    counts = Counter(code.decode() for code in _CODE.findall(content))
    examples: dict[str, list[dict[str, Any]]] = {}
    members: Counter[tuple[str, str]] = Counter()
    for line in reversed(content[-_TAIL:].splitlines()[-_MAX_LINES:]):
        try:
            item = json.loads(line)
        except ValueError:  # the tail begins inside a line
            continue
        raw = str(item.get("raw", ""))
        members.update(_values(raw, attributes))
        kept = examples.setdefault(item["code"], [])
        if len(kept) < NEWEST:
            at = item.get("position") or {}
            file = str(at.get("file", "")).rpartition("/")[2]
            position = f"{file}:{at.get('line', '')}"
            kept.append({"raw": raw[:_MAX_RAW], "reason": item.get("reason", ""), "place": position})
    return _File(counts, examples, members)


def _values(raw: str, attributes: Sequence[str]) -> Iterator[tuple[str, str]]:
    try:
        row = json.loads(raw) if attributes else None
    except ValueError:
        return
    if not isinstance(row, dict):
        return
    for name in attributes:
        value = row.get(name)
        if value is not None:
            yield name, member_name(value)
