"""Cases as pages: sections of blocks that are read from top to bottom.

`rq` is the query from there on. ``json pumps/1.jsonl`` writes a file of the source `pumps`. ``json flow`` is what the
query has written for `flow` by then, and ``json quarantine`` the lines that it has set aside. `error` is the code that
ends the query there. Blocks before the first section are at the start of each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

_SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
_BLOCK = re.compile(r"^```(?P<kind>rq|json|error)(?: (?P<name>\S+))?\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)


@frozen
class Block:
    kind: str
    name: str
    text: str

    @property
    def is_input(self) -> bool:
        return "/" in self.name

    @property
    def is_expected(self) -> bool:
        return self.kind == "error" or (self.kind == "json" and bool(self.name) and not self.is_input)

    def items(self) -> list[dict[str, Any]]:
        """The lines of an expected output."""
        return [json.loads(line) for line in self.text.splitlines()]


@frozen
class Case:
    page: Path
    title: str
    text: str

    def __str__(self) -> str:
        return self.title

    def blocks(self) -> Iterator[Block]:
        return (Block(m["kind"], m["name"] or "", m["text"]) for m in _BLOCK.finditer(self.text))


def cases(page: Path) -> list[Case]:
    """Returns the sections of a page that expect something."""
    text = page.read_text("utf-8")
    before = text.partition("\n## ")[0] + "\n"
    found = [Case(page, each["title"], before + each["text"]) for each in _SECTION.finditer(text)]
    return [case for case in found if any(block.is_expected for block in case.blocks())]
