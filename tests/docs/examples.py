"""Blocks, commands and rules that pages name, and the sources of operators."""

from __future__ import annotations

import ast
import inspect
import json
import re
from abc import ABC
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

from cedilla.compiler.operators import Operator
from tests.kit import ROOT
from tests.kit.stream import Item

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "queries").rglob("README.md")])

PRELUDE = """\
stream r(ts: long, s: int in {1, 2, 3}, t: double) from json "r" punctuated on ts;
table names(s: int, name: string) from json "names";
"""

FENCE = re.compile(r"^```(?P<info>.*)\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)

_COMMAND = re.compile(r"^(?: {4}|\t)(cedilla .*)$|`(cedilla [a-z]+ [^`]*)`", re.MULTILINE)


@frozen
class Block:
    """A fenced block: what stands behind its fence, and its text."""

    page: Path
    info: str
    text: str

    def __str__(self) -> str:
        return f"{page_name(self.page)}:{self.info}"


def page_name(page: Path) -> str:
    """Returns the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, kind: str) -> list[Block]:
    """The blocks of a page whose fence begins with a word."""
    blocks = (Block(page, m["info"].strip(), m["text"]) for m in FENCE.finditer(page.read_text("utf-8")))
    return [block for block in blocks if block.info.split(" ")[0] == kind]


@frozen
class Example:
    """A query of a page with its files, and the output that the page says it has.

    `files`: source, name and items of each.
    """

    page: Path
    number: int
    query: str
    files: list[tuple[str, str, list[Item]]] = field(factory=list[tuple[str, str, list[Item]]])
    output: list[Item] = field(factory=list[Item])

    def __str__(self) -> str:
        return f"{self.page.stem}-{self.number}"


def examples(page: Path) -> list[Example]:
    """The examples of a page: each begins with a block `rq`, and has the blocks `json` after it."""
    result: list[Example] = []
    for match in FENCE.finditer(page.read_text("utf-8")):
        kind, _, target = match["info"].strip().partition(" ")
        if (kind, target) == ("rq", ""):
            result.append(Example(page, len(result) + 1, match["text"]))
        elif kind == "json":
            items = [json.loads(line) for line in match["text"].splitlines()]
            source, _, file = target.partition("/")
            if target == "output":
                result[-1].output.extend(items)
            else:
                result[-1].files.append((source, file, items))
    return result


def operator_source(operator: type) -> str:
    """The text of an operator's classes, and of what stands beside them in its file."""
    module = inspect.getmodule(operator)
    assert module is not None
    text = inspect.getsource(module)
    beside = [node for node in ast.parse(text).body if not isinstance(node, ast.ClassDef)]
    classes = [class_ for class_ in operator.__mro__ if class_ not in (Operator, ABC, object)]
    return "\n".join(
        [*(ast.get_source_segment(text, node) or "" for node in beside), *map(inspect.getsource, classes)]
    )


def declarations(page: Path) -> str:
    """What the fragments of a page are about: its block `rq declarations` without the emit, or `PRELUDE`."""
    own = [block.text for block in blocks(page, "rq") if block.info == "rq declarations"]
    return own[0].partition("emit ")[0] if own else PRELUDE


def commands() -> Iterator[Any]:
    """Every command line of `cedilla`; what stands in brackets is optional, what is in capitals a value."""
    for page in PAGES:
        for match in _COMMAND.finditer(page.read_text("utf-8")):
            line = (match[1] or match[2]).split("#")[0].replace("[", "").replace("]", "").replace("...", "")
            yield pytest.param(line.replace("text|json", "json"), id=f"{page_name(page)}:{line}")


def rules_named(text: str) -> Iterator[str]:
    """The rules of a list such as `S1 to S6, J1 (left join)`."""
    for part in re.sub(r" \([^)]*\)", "", " ".join(text.split())).split(", "):
        if " to " not in part:
            yield part
            continue
        first, last = (re.fullmatch(r"(\D*)(\d+)", end) for end in part.split(" to "))
        assert first is not None
        assert last is not None
        assert first[1] == last[1], part
        yield from (f"{first[1]}{number}" for number in range(int(first[2]), int(last[2]) + 1))


def check_tests(text: str) -> None:
    """Every test of a cell such as `` `tests/a.py`: `test_b`; `tests/c.md`: `A case` `` exists, and there is one."""
    where: Path | None = None
    tests = 0
    for word in re.findall(r"`([^`]+)`", text):
        if word.endswith((".py", ".md")):
            where = ROOT / word
        else:
            assert where is not None
            line = rf"def {word}\(" if where.suffix == ".py" else f"## {re.escape(word)}$"
            assert re.search(f"^{line}", where.read_text("utf-8"), re.MULTILINE), word
            tests += 1
    assert tests > 0
