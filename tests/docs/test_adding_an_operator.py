"""The guide to a new operator is true: every operator there is stands in all places that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cedilla.compiler.operators import OPERATORS, Operator, User
from cedilla.runtime.operators import DATAFLOWS
from cedilla.runtime.operators.epoch import Epoch
from cedilla.runtime.reference.nodes import NODES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.method)
def test_every_operator_stands_in_all_places(operator: type[Operator]) -> None:
    name = operator.method
    assert operator.__module__ == f"cedilla.compiler.operators.{name}"
    assert (getattr(Epoch, name) is Epoch.stateful) == (operator in DATAFLOWS)
    if operator in DATAFLOWS:
        assert type(DATAFLOWS[operator]).__module__ == f"cedilla.runtime.operators.{name}"
    assert (operator in NODES) == (operator is not User), "a user's function needs Spark"
    programs = (ROOT / "tests" / "compiler" / "golden" / "compile.txt").read_text(encoding="utf-8")
    assert f" = epoch.{name}(" in programs


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.method)
def test_every_operator_has_its_page(operator: type[Operator]) -> None:
    index = (ROOT / "docs" / "operators" / "README.md").read_text(encoding="utf-8")
    pages = set(re.findall(r"\(([a-z-]+)\.md\)", index))
    assert operator.method.replace("_", "-") in pages
    assert (ROOT / "docs" / "operators" / f"{operator.method.replace('_', '-')}.md").is_file()


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:grammar|compiler|runtime|tests|docs)/[^`*\s]+\.[a-z]+)`", PAGE)
    assert len(named) > 15
    assert [path for path in named if "NAME" not in path and not (ROOT / path).is_file()] == []


def test_names_that_the_page_gives_are_in_the_files() -> None:
    grammar = {
        name: (ROOT / "grammar" / name).read_text(encoding="utf-8") for name in ("complaints.py", "slips.py")
    }
    for name in ("_SECOND_SPELLINGS", "_BETWEEN"):
        assert f"`{name}`" in PAGE
        assert name in grammar["complaints.py"]
    assert "`_BRACKETED`" in PAGE
    assert "_BRACKETED" in grammar["slips.py"]
