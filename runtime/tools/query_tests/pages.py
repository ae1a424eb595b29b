"""Pages of tests: sections of blocks that are read from top to bottom.

`rq` is the query from there on, ``rq pumps.rq`` that of a file. ``json pumps/1.jsonl`` writes a file of the folder
`pumps`, ``json pumps/1.parquet`` one of Parquet with the same rows; ``csv`` and ``xml`` do too. ``json flow`` is what
the query has written for `flow` by then, ``json quarantine`` the lines that it has set aside, `error` the code that
ends it. Blocks before the first section are at the start of each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from cedilla.grammar.diagnostics import failure
from cedilla.runtime.connectors.records.json_objects import json_text, number_of

_SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
_BLOCK = re.compile(
    r"^```(?P<kind>rq|json|csv|xml|error)(?: (?P<name>\S+))?\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE
)
QUARANTINE = "quarantine"


@frozen
class Block:
    """A block of a page: its kind, the name after it, and its text."""

    kind: str
    name: str
    text: str

    @property
    def is_input(self) -> bool:
        """True if it is a file of a source."""
        return self.kind != "rq" and "/" in self.name

    @property
    def is_expected(self) -> bool:
        """True if it is a result of the query."""
        return self.kind == "error" or (self.kind == "json" and bool(self.name) and not self.is_input)

    def items(self) -> list[dict[str, Any]]:
        """Returns the lines of an expected output."""
        return [json.loads(line, parse_float=number_of) for line in self.text.split("\n") if line.strip()]

    def written(self) -> str:
        """Returns the block as the page has it."""
        return f"```{' '.join(filter(None, (self.kind, self.name)))}\n{self.text}```"


@frozen
class Case:
    """A section of a page with what it expects."""

    page: Path
    title: str
    text: str

    def __str__(self) -> str:
        return self.title

    def blocks(self) -> Iterator[Block]:
        """Yields the blocks of the section, after those of the page."""
        return (Block(m["kind"], m["name"] or "", m["text"]) for m in _BLOCK.finditer(self.text))


def cases(page: Path) -> list[Case]:
    """Returns the sections of a page that expect something."""
    text = page.read_text("utf-8")
    before = text.partition("\n## ")[0] + "\n"
    sections = [Case(page, match["title"], before + match["text"]) for match in _SECTION.finditer(text)]
    return [case for case in sections if any(block.is_expected for block in case.blocks())]


def checked_cases(page: Path) -> list[Case]:
    """Returns the sections of a page. Raises `DiagnosticError` RQ456 for a page that tests nothing, or cannot be read.

    Every line of an expected output, and of a file of Parquet, must be a JSON object.
    """
    try:
        sections = cases(page)
        for case in sections:
            for block in case.blocks():
                if block.kind == "json" and (block.is_expected or block.name.endswith(".parquet")):
                    block.items()
    except (OSError, ValueError) as reason:
        hint = "a page in UTF-8; each line of an expected output is a JSON object"
        raise failure("RQ456", f"{page} cannot be read: {reason}", hint=hint) from None
    if not sections:
        hint = "a section `## Title` with a block ```json NAME, the expected lines of an output"
        raise failure("RQ456", f"{page} expects nothing", hint=hint)
    return sections


def accept(case: Case, block: Block, items: Sequence[dict[str, Any]]) -> None:
    """Writes other lines into an expected block of a page."""
    text = case.page.read_text("utf-8")
    start = text.index(block.written(), text.index(f"## {case.title}\n"))
    new = Block(block.kind, block.name, "".join(f"{json_text(item)}\n" for item in items)).written()
    case.page.write_text(text[:start] + new + text[start + len(block.written()) :], "utf-8")
