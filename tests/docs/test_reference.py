"""Reference pages are what the code gives, and the registry of codes is right."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.expressions.scalars.scalar_functions import FUNCTIONS
from cedilla.compiler.expressions.scalars.usages import USAGES
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, Severity
from cedilla.grammar.diagnostics.codes import Code, codes
from cedilla.grammar.syntax.settings import SETTING_MEANINGS, SETTINGS
from cedilla.runtime import simulate
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.hosts.cli.query import STRICT
from cedilla.runtime.tools.inspect.check import all_diagnostics
from cedilla.runtime.tools.inspect.trace import trace
from cedilla.runtime.tools.stream_tools.schema import Schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.docs.code_examples import example_query, example_source, write_folders
from tests.docs.codes_by_command import ENGINE, by_command, tried_codes, with_engine, without_engine
from tests.docs.functions import EXAMPLES, result_of
from tests.docs.python_api import without_meaning
from tests.docs.reference import COMMAND, DOCS, pages
from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.tiers import rest, tiered

PAGES = pages()
UNUSED = "RQ165"
"""An example uses only some relations of the page."""


SHOWN = ("RQ102", "RQ209", "RQ307", "RQ320", "RQ485")
"""Codes of each kind: of the text, of accents, of lines, of lines that another code describes, of a place."""
TRIED = sorted(tried_codes(), key=lambda name: name not in SHOWN)
RECORDED_BY = "python -m tests.docs.codes_by_command"
OF_TOPICS = DOCS / "reference" / "formats.md"
"""Each command about a topic waits a second for its broker."""


@pytest.mark.parametrize(
    "page",
    [rest(page) if page == OF_TOPICS else page for page in PAGES],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_reference_page_is_what_the_code_gives(page: Path) -> None:
    assert page.read_text("utf-8") == PAGES[page](), f"run `{COMMAND}`, and look at the diff"


def test_reference_pages_are_all_generated() -> None:
    assert set((DOCS / "reference").glob("*")) <= set(PAGES)


@pytest.mark.parametrize(
    "name",  # the command of RQ439 starts Java; `make test` has that code on Sail
    [rest(name) if name == "RQ439" else name for name, code in codes().items() if code.shown],
)
def test_the_example_of_a_code_is_reported_with_it_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = codes()[name]
    assert [reported_name for reported_name, severity in reported(code) if severity == code.severity][:1] == [
        name
    ]


def reported(code: Code) -> list[tuple[str, Severity]]:
    """Returns the codes that are reported for a code's example, and their severities, in order."""
    query, source = example_query(code), example_source(code)
    if code.command:
        write_folders(source, code)
        Path("q.rq").write_text(query, encoding="utf-8")
        output = cedilla(*shlex.split(code.command)[1:]).output
        return [(name, severity) for severity, name in re.findall(r"^(\w+)\[(RQ\d{3})\]", output, re.M)]
    results: list[tuple[str, Severity]] = []

    def report(diagnostics: Iterable[Diagnostic]) -> None:
        results.extend((diagnostic.code, diagnostic.severity) for diagnostic in diagnostics)

    try:
        if code.markers:
            for traced in trace(compile_query(query).plan, [(source, marker) for marker in code.markers]):
                report(traced.warnings)
            return results
        if not code.lines:
            report(
                diagnostic
                for diagnostic in all_diagnostics(query, "q")
                if diagnostic.code != UNUSED or code.name == UNUSED
            )
        if not results:
            write_folders(source, code)
            simulate(
                query,
                on_rejected=lambda line, rejection: results.append((rejection, "error")),
                on_warning=lambda warning: report([warning]),
            )
    except DiagnosticError as error:
        report(error.diagnostics)
    return results


@pytest.mark.parametrize("name", tiered(TRIED, len(SHOWN)))
def test_the_record_has_what_commands_report_without_an_engine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = {command: report for command, report in by_command()[name].items() if command != ENGINE}
    assert without_engine(codes()[name]) == recorded, f"run `{RECORDED_BY}`, and look at the diff"


@pytest.mark.parametrize("name", tiered(TRIED, 3))
def test_the_record_has_what_a_run_reports(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert with_engine(codes()[name]) == by_command()[name][ENGINE], (
        f"run `{RECORDED_BY}`, and look at the diff"
    )


def test_the_record_has_every_code_with_an_example_in_their_order() -> None:
    assert tuple(by_command()) == tried_codes(), f"run `{RECORDED_BY}`, and look at the diff"


@pytest.mark.parametrize(
    "name",
    [name for name, c in codes().items() if c.lines and not (c.example or c.file or c.command)],
)
def test_validate_finds_the_lines_of_a_code(name: str) -> None:
    code, actual = codes()[name], list[str]()
    schema = Schema(compile_query(example_query(code)).plan.source_of["m"], declared=True)
    lines = [Line(text, f"m:{number}") for number, text in enumerate(code.lines, 1)]
    validate(lines, schema, lambda diagnostic: actual.append(diagnostic.code))
    assert actual == [name]


def test_every_scalar_function_has_a_call_with_its_arguments() -> None:
    assert list(USAGES) == list(dict.fromkeys(function.name for function in FUNCTIONS.values()))
    arguments = {name: re.findall(r"\w+", usage.partition("(")[2]) for name, (usage, _) in USAGES.items()}
    assert {name: len(words) for name, words in arguments.items()} == {
        name: len(FUNCTIONS[name].takes) for name in USAGES
    }


def test_every_scalar_function_has_an_example() -> None:
    assert list(EXAMPLES) == list(USAGES)
    undefined = [name for name, call in EXAMPLES.items() if not result_of(call)]
    assert undefined == ["nullif"]


def test_each_format_is_read_by_the_tools_that_the_page_asks() -> None:
    """A sample that is wrong would make the table so."""
    rows = {
        line.split(" | ")[0].strip("| "): {*line.strip("| ").split(" | ")[1:]}
        for line in OF_TOPICS.read_text("utf-8").splitlines()
    }
    for command in ("simulate", "validate", "suspect"):
        assert rows[f"`cedilla {command}`"] == {"yes"}


def test_docstrings_describe_the_parameters_of_public_functions() -> None:
    assert list(without_meaning()) == []


def test_the_page_of_check_names_the_warnings_that_fail_when_strict() -> None:
    page = (DOCS / "tools.md").read_text("utf-8")
    assert f"({', '.join(STRICT)})" in page


def test_every_setting_has_a_meaning() -> None:
    assert list(SETTING_MEANINGS) == list(SETTINGS)
