"""The guide to a new accent is true: every change and every function stands in all places that it names."""

from __future__ import annotations

import re
from inspect import isabstract

import pytest

from cedilla.compiler.changes import ALL, OF_NODE, AtSource, Change, SourceFunction
from cedilla.compiler.regions.composition import FUNCTIONS
from cedilla.compiler.regions.function import Function
from cedilla.grammar.syntax import CHANGES, accent_forms
from tests.kit import ROOT
from tests.kit.accents import EXAMPLES, KINDS

PAGE = (ROOT / "docs" / "adding-an-accent.md").read_text(encoding="utf-8")
MARKERS = (ROOT / "docs" / "markers.md").read_text(encoding="utf-8")


def concrete(base: type) -> set[str]:
    """The names of a class and of those below it that can have instances."""
    below = set[str]().union(*map(concrete, base.__subclasses__()))
    return below if isabstract(base) else {*below, base.__name__}


def test_every_change_and_every_function_is_listed() -> None:
    assert concrete(Change) == {change.__name__ for change in ALL}
    assert concrete(Function) == {function.__name__ for function in FUNCTIONS}
    assert [kind for kind in KINDS if kind not in EXAMPLES] == []


def test_every_form_has_a_specification() -> None:
    assert [node.__name__ for node in CHANGES if node not in OF_NODE] == []


@pytest.mark.parametrize("change", ALL, ids=lambda change: change.__name__)
def test_every_change_has_its_words(change: type[Change]) -> None:
    assert change.verb
    assert change.keeps.format(what="", name="", other="", unit="")
    assert change.layer is not None or not issubclass(change, AtSource)
    assert issubclass(change, SourceFunction) <= issubclass(change, AtSource)


@pytest.mark.parametrize("word", accent_forms.WORDS)
def test_every_change_is_on_the_page_of_markers(word: str) -> None:
    assert re.search(rf"^- .*`{word}\(", MARKERS, re.MULTILINE)


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:grammar|compiler|runtime|tests|docs)/[^`*\s]+\.[a-z]+)`", PAGE)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).is_file()] == []


NAMES = {
    "grammar/syntax/marker_nodes.py": ("WrapValues", "CHANGES"),
    "compiler/changes/change.py": ("Change", "Layer", "SourceFunction", "verb", "keeps"),
    "compiler/changes/__init__.py": ("ALL",),
    "compiler/regions/function.py": ("Function",),
    "compiler/regions/composition.py": ("Link",),
    "tests/kit/accents.py": ("EXAMPLES", "FUNCTIONS"),
    "tests/laws/senders.py": ("CHANGES",),
}
"""The names that the page gives, by the files that have them."""


@pytest.mark.parametrize("file", NAMES)
def test_names_that_the_page_gives_are_in_the_files(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    for name in NAMES[file]:
        assert f"`{name}`" in PAGE
        assert re.search(rf"(?<!\w){name}(?!\w)", text)
