"""Examples in docstrings give what they show."""

from __future__ import annotations

from doctest import DocTest, DocTestParser, DocTestRunner
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.prose import docstrings
from tests.kit import ROOT

pytestmark = pytest.mark.quick

FOLDERS = ("grammar", "compiler", "runtime")
MODULES = [
    path.relative_to(ROOT)
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


def examples(path: Path) -> list[DocTest]:
    """Returns the examples of each docstring, also of functions that a decorator wraps."""
    module = import_module(f"cedilla.{'.'.join(path.with_suffix('').parts)}")
    tests = (
        DocTestParser().get_doctest(text, {**vars(module)}, path.name, path.as_posix(), line - 1)
        for line, text in docstrings((ROOT / path).read_text("utf-8"))
    )
    return [test for test in tests if test.examples]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_an_example_gives_what_it_shows(path: Path) -> None:
    runner = DocTestRunner(verbose=False)
    report: list[str] = []
    for test in examples(path):
        runner.run(test, out=report.append)
    assert not report, "".join(report)
