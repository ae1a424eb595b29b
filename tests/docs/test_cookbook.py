"""Every recipe of `docs/cookbook.md` and `docs/adopting.md` gives what the page says.

A section with results is a recipe; in the cookbook, each. Its blocks are read from top to bottom: `rq` is the query
from there on, ``json pumps/1.jsonl`` writes a file of the source `pumps`, ``json flow`` is what the query has written
into the folder `flow` by then, and ``json quarantine`` what it has set aside. The first `rq` block of the cookbook is
the query of recipes that have none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import frozen

from cedilla.compiler.compile import compile_query
from cedilla.runtime.reference.inputs import Input
from cedilla.runtime.reference.simulation import simulate
from cedilla.runtime.terminal.options import Options
from tests.kit import ROOT
from tests.kit.stream import in_parts, read_output

DOCS = ROOT / "docs"
COOKBOOK = (DOCS / "cookbook.md").read_text("utf-8")
ADOPTING = (DOCS / "adopting.md").read_text("utf-8")
_SECTION = re.compile(r"^## (?P<title>.*)\n(?P<text>(?:(?!## ).*\n)*)", re.MULTILINE)
_BLOCK = re.compile(r"^```(?P<kind>rq|json)(?: (?P<name>\S+))?\n(?P<text>(?:.*\n)*?)```$", re.MULTILINE)


@frozen
class Recipe:
    title: str
    text: str

    def __str__(self) -> str:
        return self.title


def recipes() -> list[Recipe]:
    cookbook = [Recipe(m["title"], m["text"]) for m in _SECTION.finditer(COOKBOOK)]
    adopting = [
        Recipe(m["title"], m["text"]) for m in _SECTION.finditer(ADOPTING) if "```json pumps" in m["text"]
    ]
    return [*cookbook, *adopting]


COMMON = next(m["text"] for m in _BLOCK.finditer(COOKBOOK) if m["kind"] == "rq")


@pytest.mark.parametrize("recipe", recipes(), ids=str)
def test_every_recipe_gives_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: Recipe
) -> None:
    monkeypatch.chdir(tmp_path)
    kitchen = _Kitchen(tmp_path)
    expectations = 0
    for block in _BLOCK.finditer(recipe.text):
        kind, name, text = block["kind"], block["name"], block["text"]
        if kind == "rq":
            kitchen.query = text
        elif "/" in name:
            kitchen.write(name, text)
        else:
            expectations += 1
            expected = [json.loads(line) for line in text.splitlines()]
            if name == "quarantine":
                assert kitchen.run() == expected
            else:
                kitchen.run()
                assert in_parts(read_output(tmp_path / name)) == in_parts(expected)
    assert expectations


class _Kitchen:
    """The folder of a recipe; what is run there reads all files that have been written so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.query = COMMON
        self._runs = 0

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self) -> list[dict[str, str]]:
        """Run the query into its own folders, written anew; what it sets aside."""
        compiled = compile_query(self.query)
        for source in compiled.plan.sources:
            (self.folder / source.path).mkdir(exist_ok=True)
        for emit in compiled.plan.emits:
            folder = self.folder / emit.path
            if folder.exists():
                self._runs += 1
                folder.rename(self.folder / f"{emit.path}-before-{self._runs}")
        rejected: list[dict[str, str]] = []

        def note(line: Input, code: str) -> None:
            rejected.append({"code": code, "raw": line.line.text})

        simulate(compiled, Options(sinks={e.name: e.path for e in compiled.plan.emits}), note)
        return rejected
