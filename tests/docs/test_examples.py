"""What the documentation says is so: examples compile and run, links lead somewhere, rules are named."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.findings import findings
from cedilla.compiler.operators import OPERATORS, Operator, User
from cedilla.compiler.plan import Plan
from cedilla.grammar import DiagnosticError
from cedilla.runtime.connectors.records.marker_files import MARK
from cedilla.runtime.hosts.cli.main import main
from tests.docs.examples import (
    FENCE,
    PAGES,
    Block,
    Example,
    blocks,
    check_tests,
    commands,
    declarations,
    examples,
    operator_source,
    page_name,
    rules_named,
)
from tests.docs.reference import PAPERS, operator_page, rule_rows
from tests.kit import ROOT
from tests.kit.compare import texts
from tests.kit.stream import decode, in_parts
from tests.laws.mutations import MUTATIONS
from tests.proof.check import statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINKED = sorted([*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "tests").rglob("*.md")])

_CODE = re.compile(r"^ {4}.*$|`[^`\n]+`", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_PLACE = re.compile(r'<a id="([^"]+)"></a>')
_HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
_GENERATED = re.compile("<!-- generated -->.*?<!-- end -->", re.DOTALL)
_RULE = re.compile(r'"([SPUJWAG]\d+|\d\.\d)"')


# --- queries and commands ---


@pytest.mark.parametrize("block", [b for page in PAGES for b in blocks(page, "rq")], ids=str)
def test_every_query_compiles_or_is_meant_not_to(block: Block) -> None:
    tag = block.info.removeprefix("rq").strip()
    assert tag in ("", "fragment", "error", "declarations")
    if tag == "error":
        with pytest.raises(DiagnosticError):
            compile_query(block.text)
        return
    compiled = compile_query(declarations(block.page) + block.text if tag == "fragment" else block.text)
    assert all(finding.help or finding.notes for finding in findings(compiled.plan))


@pytest.mark.parametrize("line", list(commands()))
def test_every_command_line_has_options_that_exist(line: str) -> None:
    _, command, *arguments = shlex.split(line)
    definition = main.commands[command]
    while isinstance(definition, click.Group) and arguments[0] in definition.commands:
        definition = definition.commands[arguments.pop(0)]
    options = {
        option for parameter in definition.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    used = [argument.split("=")[0] for argument in arguments if argument.startswith("-") and argument != "-"]
    assert set(used) <= options


# --- operators ---


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_operator_has_a_page_that_names_its_rules(operator: type[Operator]) -> None:
    page = operator_page(operator)
    assert page.is_file()
    rules = set(_RULE.findall(operator_source(operator)))
    assert rules
    text = page.read_text("utf-8")
    missing = {rule for rule in rules if not re.search(rf"(?<![\w.]){re.escape(rule)}(?!\w)", text)}
    assert missing == set()
    assert f"({page.name})" in (page.parent / "README.md").read_text("utf-8")


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_page_of_an_operator_has_an_example_of_it(operator: type[Operator]) -> None:
    plain, *others = examples(operator_page(operator))
    assert others, "a plain example comes first, then one with a change"
    assert not any("$accent" in item for _, _, items in plain.files for item in items)
    for example in (plain, *others):
        plan: Plan = compile_query(example.query).plan
        assert operator in {type(operator_) for operator_ in plan.operators}


PARTS = ("## Example", "## Example with a change", "## What happens", "**State**: ", "## Limits")
"""The parts of a page of an operator, in their order."""


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_page_of_an_operator_has_its_parts_in_order(operator: type[Operator]) -> None:
    text = operator_page(operator).read_text("utf-8")
    places = [text.find(f"\n{part}") for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)
    assert len(text[places[-1] :].split()) > 12


ALL_EXAMPLES = {operator: examples(operator_page(operator)) for operator in OPERATORS}
RUN = [
    *(pytest.param(changed, id=operator.__name__) for operator, (*_, changed) in ALL_EXAMPLES.items()),
    *(
        pytest.param(plain, id=str(plain), marks=pytest.mark.rest)
        for all_examples in ALL_EXAMPLES.values()
        for plain in all_examples[:-1]
    ),
]
"""The examples with a change, and for `make test-rest` all others."""


@pytest.mark.quick
@pytest.mark.either_engine
@pytest.mark.parametrize("example", RUN)
def test_every_example_of_an_operator_does_what_its_page_says(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    example: Example,
) -> None:
    from tests.kit.query import Query

    for block in blocks(example.page, "python"):
        (tmp_path / block.info.removeprefix("python").strip()).write_text(block.text)
        monkeypatch.syspath_prepend(tmp_path)
    run = Query(spark, tmp_path, example.query)
    for source, file, items in example.files:
        run.write(source, items, file)
    executor = run.process(files_per_epoch=1)
    (emit,) = executor.plan.emits
    assert in_parts(run.output(emit.name)) == in_parts(example.output)
    assert [run.quarantine(source.name) for source in executor.plan.sources] == [
        [] for _ in executor.plan.sources
    ]
    if User not in map(type, executor.plan.operators):  # the reference has no frames for its function
        assert run.simulate().rows(emit.name) == run.rows(emit.name)


@pytest.mark.parametrize(
    "example",
    [example for operator in OPERATORS if operator is not User for example in ALL_EXAMPLES[operator][:-1]],
    ids=str,
)
def test_every_plain_example_of_an_operator_does_what_its_page_says(tmp_path: Path, example: Example) -> None:
    """By the reference, which starts no engine; an engine runs it in `make test-rest`."""
    from tests.kit.query import Query

    run = Query.without_engine(tmp_path, example.query)
    for source, file, items in example.files:
        run.write(source, items, file)
    (emit,) = compile_query(example.query).plan.emits
    # Which provisional rows there are depends on the cut into epochs.
    actual, expected = (
        [item for item in items if MARK not in item]
        for items in (run.simulate().output(emit.name), example.output)
    )
    assert texts(decode(actual)) == texts(decode(expected))
    assert run.simulated.rejections == []


# --- links and names ---


@pytest.mark.parametrize("page", LINKED, ids=page_name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    # What stands in code is no link, but a link may be put around code.
    prose = _CODE.sub("code", FENCE.sub("", page.read_text("utf-8")))
    for match in _LINK.finditer(prose):
        target, _, anchor = match["target"].partition("#")
        if ":" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), match[0]
        if anchor:
            # The places in a page that a link can name, as GitHub makes them, and those that it names itself.
            text = FENCE.sub("", file.read_text("utf-8"))
            headings = {
                re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
                for heading in _HEADING.findall(text)
            }
            assert anchor in headings | set(_PLACE.findall(text)), match[0]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    pages = {page for page in pages if not page.startswith("operators/") or page.endswith("README.md")}
    assert {page for page in pages if f"({page})" not in index} == set()


# --- rules and laws ---

RULES = """
S1 to S6, P1 to P4, U1 to U4, J1 to J4, W1 to W5, A1 to A4, 2.2, D0, D0a, D0b, D0c, D0d, D1, D2, G1 to G42, N8, N9,
R1 to R11, case 1 to case 6, validity, E1 to E11, P-alter, P-add, P-drop, P-dead, ⊥ lemma, vacuity,
1.1, CombinePunct, 1.4, 1.5, 3.2 Union and Join, 3.2 memory, 3.2 Accumulator, 3.2 Window, 3.2 Join tuples,
3.2 Aggregate, 3.2 Sort, 3.2 Select and Project, 3.2 CombinePunct, 3.3, 3.4, O1 to O6,
1.3 Select, 1.3 Project, 1.3 computed, 1.3 Dup-elim, 1.3 Union, 1.3 Union of sets, 1.3 Intersect, 1.3 Difference,
1.3 ALL, 1.3 Join, 1.3 Outer join, 1.3 Group-by, 1.3 Early close, 1.3 Sort, 1.3 Top-k, 1.3 Limit, 1.3 Window,
1.3 Session, 1.3 Count window, 1.3 Static relation, 1.3 End of stream,
2.8, 2.9, 2.8 avg, 2.8 sum, 2.8 var, 2.8 count, 2.8 collect, 2.8 corr, 2.8 mixed groups,
N1, N2, N3, N4, N5, N6, N7, N10, N11, N12, N13, N14, N15, N16
"""
"""All rules of the theory: `tests/laws/rules.toml` has each with its files and tests."""


RULE_ROWS = [row for section, row in rule_rows() if section != PAPERS]


@pytest.mark.parametrize("row", RULE_ROWS, ids=lambda row: row["rule"])
def test_every_rule_names_files_and_tests_that_exist(row: dict[str, str]) -> None:
    actual = re.findall(r"`([^`]+)`", row["files"])
    assert actual
    for file in actual:
        assert (ROOT / file).is_file(), file
    check_tests(row["tests"])


@pytest.mark.parametrize("row", [row for row in RULE_ROWS if "proof" in row], ids=lambda row: row["rule"])
def test_every_theorem_of_a_rule_exists(row: dict[str, str]) -> None:
    theorems = re.findall(r"`(\w+)\.(\w+)`", row["proof"])
    assert theorems
    assert len(theorems) == row["proof"].count("`") // 2
    for file, theorem in theorems:
        assert theorem in statements(file, "Theorem|Corollary"), f"{file}.{theorem}"


def test_the_rules_are_those_of_the_theory() -> None:
    assert sorted({rule for row in RULE_ROWS for rule in rules_named(row["rule"])}) == sorted(
        rules_named(RULES)
    )


def test_every_rule_that_a_page_names_leads_to_its_row() -> None:
    """A number of the theory in parentheses is a link, as without its row it says nothing."""
    rule = "|".join(sorted((re.escape(row["rule"]) for row in RULE_ROWS), key=len, reverse=True))
    named = re.compile(rf"theory (?:{rule})(?![\w.])|\((?:{rule})(?:, (?:{rule}))*\)(?!\()")
    pages = [page for page in PAGES if "reference" not in page.parts]
    without = {
        page: _CODE.sub("", _GENERATED.sub("", FENCE.sub("", page.read_text("utf-8")))) for page in pages
    }
    assert [(page_name(page), match) for page in pages for match in named.findall(without[page])] == []


def test_examples_of_the_papers_name_tests_that_exist() -> None:
    cells = [row["tests"] for section, row in rule_rows() if section == PAPERS]
    assert cells
    for cell in cells:
        check_tests(cell)


def test_every_mutation_still_changes_its_file() -> None:
    """The text that it replaces stands in the file once."""
    assert [m.rule for m in MUTATIONS if (ROOT / m.file).read_text().count(m.old) != 1] == []
