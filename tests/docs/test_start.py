"""A first reader types what `docs/start.md` says, from its first line: files, commands, Python; in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from tests.kit import ROOT

START = ROOT / "docs" / "start.md"
INSTALL = "pip install '.[sail]'\n"
"""The one block that is not typed: the tests have an installation."""
_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<fenced>(?:.*\n)*?)```$|(?P<typed>(?:^ {4}.*\n)+)", re.MULTILINE)
_FILE = re.compile(r"`([\w/]+\.(?:rq|jsonl))`")
_ITEM = re.compile(r"`(\{.*?\})`")


@frozen
class Block:
    """A block of the page. `kind`: `shell` for commands; `file`: the file that the paragraph before it names last;
    `promised`: lines that the paragraph after it says are printed."""

    kind: str
    text: str
    file: str | None
    promised: tuple[str, ...]


def blocks(text: str) -> Iterator[Block]:
    """Yields the blocks of a page."""
    matches = list(_BLOCK.finditer(text))
    starts = [0, *(match.end() for match in matches)]
    ends = [*(match.start() for match in matches), len(text)]
    prose = [text[start:end].strip().split("\n\n") for start, end in zip(starts, ends, strict=True)]
    for number, match in enumerate(matches):
        typed = match["typed"]
        kind, content = (
            ("shell", re.sub("^ {4}", "", typed, flags=re.MULTILINE)) if typed else match.groups()[:2]
        )
        files = _FILE.findall(prose[number][-1])
        yield Block(kind, content, files[-1] if files else None, tuple(_ITEM.findall(prose[number + 1][0])))


class Reader:
    """Does what the page says; knows what the last command has printed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.printed = folder, ""

    def do(self, block: Block) -> None:
        """Types a block. JSON without a file is what the last command prints."""
        if block.kind == "shell":
            self.printed = self.run("bash", "-e", "-c", block.text)
        elif block.kind == "python":
            self.run(sys.executable, "-c", block.text)
        elif block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text, "utf-8")
        else:
            assert block.kind == "json"
            assert block.text in self.printed
        assert all(line in self.printed.splitlines() for line in block.promised)

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.mark.rest
def test_a_first_reader_has_an_own_query_with_a_changed_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    first, *rest = blocks(START.read_text("utf-8"))
    assert first.text == INSTALL
    reader = Reader(tmp_path)
    seconds = dict[str, float]()
    for block in rest:
        begin = time.monotonic()
        reader.do(block)
        if block.kind in ("shell", "python"):
            seconds[block.text] = time.monotonic() - begin
    print(*(f"{duration:5.1f} s  {text.strip()}" for text, duration in seconds.items()), sep="\n")
    assert {"pumps.rq", "flow", "checkpoint", "mine"} <= {path.name for path in tmp_path.iterdir()}


def test_the_first_page_of_the_site_and_the_readme_lead_to_it() -> None:
    assert "(start.md)" in (ROOT / "docs" / "README.md").read_text("utf-8").split("\n| 2 ")[0]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "(docs/start.md#five-minutes)" in readme
    assert INSTALL.strip() in readme
