"""Reference pages are what the code gives, and the registry of codes is right."""

import re
from pathlib import Path

import pytest

from cedilla.compiler.analysis.findings import all_findings
from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.usages import USAGES
from cedilla.grammar.codes import codes
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError
from cedilla.grammar.settings import SETTING_MEANINGS, SETTINGS
from cedilla.runtime.cli.query import STRICT
from cedilla.runtime.inspect.trace import trace
from cedilla.runtime.records.lines import Line
from cedilla.runtime.stream_tools.schema import declared_schema
from cedilla.runtime.stream_tools.validate import validate
from tests.docs.reference import ATTRIBUTES, COMMAND, DOCS, example_query, pages
from tests.kit import ROOT

PAGES = pages()
EXAMPLES = [code.name for code in codes().values() if code.example]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_reference_page_is_what_the_code_gives(page: Path) -> None:
    assert page.read_text("utf-8") == PAGES[page](), f"run `{COMMAND}`, and look at the diff"


def test_reference_pages_are_all_generated() -> None:
    assert set((DOCS / "reference").glob("*")) <= set(PAGES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_code_is_reported_with_it(name: str) -> None:
    code = codes()[name]
    assert code.example is not None
    try:
        compiled = compile_query(example_query(code.example))
        reported = [*compiled.warnings, *all_findings(compiled.plan)]
    except DiagnosticError as error:
        reported = [*error.diagnostics]
    assert (name, code.severity) in {(d.code, d.severity) for d in reported}


@pytest.mark.parametrize("name", [code.name for code in codes().values() if code.markers])
def test_the_markers_of_a_code_are_reported_with_it(name: str) -> None:
    code = codes()[name]
    plan = compile_query(example_query("m")).plan
    reported: list[Diagnostic] = []
    try:
        for traced in trace(plan, [("m", marker) for marker in code.markers]):
            reported += traced.warnings
    except DiagnosticError as error:
        reported += error.diagnostics
    assert (name, code.severity) in {(d.code, d.severity) for d in reported}


@pytest.mark.parametrize("name", [code.name for code in codes().values() if code.lines])
def test_the_lines_of_a_code_are_reported_with_it(name: str) -> None:
    reported: list[Diagnostic] = []
    lines = [Line(text, f"m:{number}") for number, text in enumerate(codes()[name].lines, 1)]
    validate(lines, declared_schema(ATTRIBUTES), reported.append)
    assert [diagnostic.code for diagnostic in reported] == [name]


def test_every_scalar_function_has_a_call_with_its_arguments() -> None:
    assert list(USAGES) == list(dict.fromkeys(function.name for function in FUNCTIONS.values()))
    arguments = {name: re.findall(r"\w+", usage.partition("(")[2]) for name, (usage, _) in USAGES.items()}
    assert {name: len(words) for name, words in arguments.items()} == {
        name: len(FUNCTIONS[name].takes) for name in USAGES
    }


def test_the_page_of_check_names_the_warnings_that_fail_when_strict() -> None:
    page = (DOCS / "tools.md").read_text("utf-8")
    assert f"({', '.join(STRICT)})" in page


def test_every_setting_has_a_meaning() -> None:
    assert list(SETTING_MEANINGS) == list(SETTINGS)
