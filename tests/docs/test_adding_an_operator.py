"""The guide to a new operator is true: every operator there is stands in all places that it names."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from cedilla.compiler.expressions.types import DOUBLE, LONG
from cedilla.compiler.facts.facts import (
    ABSENT,
    ORIGINAL,
    PRESENT,
    Facts,
    fold_closed,
    fold_presence,
    fold_units,
)
from cedilla.compiler.operators import OPERATORS, Operator, Project, User
from cedilla.compiler.regions import Domain, choose, values
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.parser import parse_query
from cedilla.runtime.engines.plain.nodes import NODES
from cedilla.runtime.epochs.operators import DATAFLOWS
from cedilla.runtime.epochs.operators.epoch import Epoch
from tests.kit import ROOT
from tests.kit.errors import error_of, errors_of
from tests.laws.relational import MEANINGS

PAGE = (ROOT / "docs" / "adding-an-operator.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.method)
def test_every_operator_stands_in_all_places(operator: type[Operator]) -> None:
    name = operator.method
    assert operator.__module__ == f"cedilla.compiler.operators.{name}"
    assert (getattr(Epoch, operator.call) is Epoch.stateful) == (operator in DATAFLOWS)
    if operator in DATAFLOWS:
        assert type(DATAFLOWS[operator]).__module__ == f"cedilla.runtime.epochs.operators.{name}"
    assert (operator in NODES) == (operator is not User), "a user's function needs Spark"
    golden = ROOT / "tests" / "compiler" / "golden"
    programs = "".join(file.read_text(encoding="utf-8") for file in golden.glob("*.txt"))
    assert f" = epoch.{operator.call}(" in programs


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.method)
def test_every_operator_has_its_page(operator: type[Operator]) -> None:
    index = (ROOT / "docs" / "operators" / "README.md").read_text(encoding="utf-8")
    pages = set(re.findall(r"\(([a-z-]+)\.md\)", index))
    assert operator.method.replace("_", "-") in pages
    assert (ROOT / "docs" / "operators" / f"{operator.method.replace('_', '-')}.md").is_file()


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:grammar|compiler|runtime|tests|docs)/[^`*\s]+\.[a-z]+)`", PAGE)
    assert len(named) > 10
    assert [path for path in named if "NAME" not in path and not (ROOT / path).is_file()] == []


NAMES = {
    "grammar/syntax/relation_nodes.py": ("OPERATORS", "TwoInputs"),
    "grammar/syntax/operator_forms.py": ("_RULES",),
    "runtime/epochs/operators/running.py": ("RunningDataflow",),
    "runtime/engines/plain/ordering.py": ("Running",),
}
"""The names that the page gives, by their files."""


@pytest.mark.parametrize("file", NAMES)
def test_names_that_the_page_gives_are_in_the_files(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"`{file}`" in PAGE
    for name in NAMES[file]:
        assert f"`{name}`" in PAGE
        assert re.search(rf"(?<!\w){name}(?!\w)", text)


STREAM = 'stream r(a: int) from json "r";\n'
RESERVED = ("select", "project", "window", "aggregate")
"""Words that have always been of the language alone; later ones leave the names of relations as they are."""
WORDS = sorted({word for o in OPERATORS if o is not User for word in o.method.split("_")} - {"count"})


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_language_names_relations_as_before(word: str) -> None:
    query = f'{STREAM}{word} := select[a > 1](r);\nemit {word} to json "out";'
    assert bool(errors_of(lambda: parse_query(query))) == (word in RESERVED), (
        f"`{word}` takes the name of a relation from queries that have it: operator_forms.RESERVED is as it was"
    )


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_language_is_known_to_the_hints(word: str) -> None:
    capitals = error_of(lambda: parse_query(f'{STREAM}emit {word.upper()}[a](r) to json "out";'))
    assert capitals.help == f"keywords are written in lower case: `{word}`", (
        f"`{word}` is in WORDS of grammar/hints/word_synonyms.py"
    )
    unknown = error_of(lambda: parse_query(f'{STREAM}emit {word}x[a](r) to json "out";'))
    assert re.search(rf"\b{word}\b", str(unknown.help)) or word in ("left", "semi", "anti"), (
        f"`{word}` is a form of its operator, or in OPERATORS of grammar/hints/synonyms.py"
    )


def test_operators_have_a_meaning_for_the_laws() -> None:
    assert [o.__name__ for o in OPERATORS if o not in MEANINGS] == ["Aggregate", "User"]


def test_the_small_operator_of_the_guide_has_the_facts_of_a_projection() -> None:
    """Of random states of a source: some sensors altered, some with an attribute, some closed."""
    (text,) = re.findall(r"```python facts\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {
        "Facts": Facts,
        "fold_presence": fold_presence,
        "fold_units": fold_units,
        "fold_closed": fold_closed,
    }
    exec(text, names)
    project = Project(name="p", inputs=("r",), items={"ts": "ts", "t": "t"}, rest=False)
    types, sensors = {"ts": LONG, "s": LONG, "t": DOUBLE}, {"s": Domain(values("s", [1, 2, 3]))}
    for altered, present, closed in product(product([False, True], repeat=3), repeat=3):
        where = [values("s", [n + 1 for n in range(3) if chosen[n]]) for chosen in (altered, present, closed)]
        twice = choose(where[0], (IDENTITY, Affine(2, 0)), ORIGINAL)
        present_in = {"ts": PRESENT, "s": PRESENT, "t": choose(where[1], PRESENT, ABSENT)}
        source = Facts(types, sensors, present_in, {"t": twice}, where[2])
        small, project_facts = names["facts"](source), project.facts((source,))
        assert (small.present, small.units, small.closed) == (
            project_facts.present,
            project_facts.units,
            project_facts.closed,
        )
