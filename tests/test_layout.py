"""The shape of the tests: they mirror the packages, and share by `tests/kit`, never by a test module."""

import ast
from collections.abc import Iterator

import pytest

from tests.kit import ROOT
from tests.kit.imports import imports

TESTS = ROOT / "tests"
VAGUE = {"each", "found", "given", "known", "place", "said", "seen", "there", "told", "written"}
"""Names that do not say what a variable holds."""
MODULES = sorted(file for file in TESTS.rglob("*.py") if "benchmarks" not in file.parts)


def test_no_module_imports_a_test_module() -> None:
    tests = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in MODULES
        if file.name.startswith("test_")
    }
    assert {
        str(file.relative_to(ROOT)): imported
        for file in MODULES
        if (imported := tests.intersection(imports(file)))
    } == {}


@pytest.mark.parametrize("package", ["grammar", "compiler", "runtime"])
def test_folders_of_tests_are_those_of_the_packages(package: str) -> None:
    folders = {file.parent.relative_to(TESTS) for file in (TESTS / package).rglob("test_*.py")}
    assert {folder for folder in folders if not (ROOT / folder).is_dir()} == set()


@pytest.mark.parametrize("package", ["grammar", "compiler", "runtime", "tests"])
def test_locals_and_parameters_say_what_they_hold(package: str) -> None:
    vague = {
        f"{file.relative_to(ROOT)}: {function.name}: {name}"
        for file in (ROOT / package).rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef)
        for name in VAGUE.intersection(bound(function))
    }
    assert vague == set()


def bound(function: ast.FunctionDef) -> Iterator[str]:
    """Yields the names of the parameters and local variables of a function, and of those in it."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
