"""Every recipe of the pages gives what it says (`tests/kit/cases.py`).

A section with results is a recipe; in the cookbook, each. The query's text names the folders of outputs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.tools.simulation.inputs import Input
from cedilla.runtime.tools.simulation.simulation import simulate
from tests.kit import ROOT
from tests.kit.cases import Case, cases
from tests.kit.stream import in_parts, read_output

PAGES = ("cookbook", "adopting", "time", "architecture")
RECIPES = [case for page in PAGES for case in cases(ROOT / "docs" / f"{page}.md")]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_every_recipe_gives_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: Case
) -> None:
    monkeypatch.chdir(tmp_path)
    kitchen = _Kitchen(tmp_path)
    for block in recipe.blocks():
        if block.kind == "rq":
            kitchen.query = block.text
        elif block.is_input:
            kitchen.write(block.name, block.text)
        elif block.name == "quarantine":
            assert kitchen.run() == block.items()
        elif block.is_expected:
            kitchen.run()
            assert in_parts(read_output(tmp_path / block.name)) == in_parts(block.items())


class _Kitchen:
    """The folder of a recipe; what is run there reads all files that have been written so far."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.query = folder, ""
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
