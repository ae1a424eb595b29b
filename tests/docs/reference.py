"""Writes the reference pages from code: `python -m tests.docs.reference` (or `make reference`).

`docs/reference/`, and the tables between `<!-- generated -->` and `<!-- end -->` on other pages, are never edited by
hand. `tests/docs/test_reference.py` fails if a page differs from what the code gives.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

import click

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.analysis.behaviour import accents
from cedilla.compiler.explain.analysis.safety import safety
from cedilla.compiler.explain.summary import keeps
from cedilla.compiler.expressions.engines import REFUSALS
from cedilla.compiler.expressions.units.names import TRAPS
from cedilla.compiler.operators import OPERATORS, Operator
from cedilla.compiler.operators.shared.reactions import signature
from cedilla.compiler.plan import Plan
from cedilla.grammar.diagnostics.codes import FAMILIES, Code, codes
from cedilla.grammar.syntax.settings import SETTING_MEANINGS, SETTINGS
from cedilla.runtime.hosts.cli.main import main
from tests.docs.code_examples import PRELUDE
from tests.docs.codes_by_command import by_command
from tests.docs.formats import formats
from tests.docs.functions import functions
from tests.docs.markdown import table
from tests.docs.python_api import python
from tests.docs.textmate import textmate
from tests.docs.type_tables import types
from tests.kit import ROOT
from tests.kit.complaints import complaints as all_complaints
from tests.kit.imports import FOLDERS, init_of, rooms
from tests.laws.mutations import MUTATIONS

DOCS = ROOT / "docs"
INDEX = DOCS / "operators" / "README.md"
COMMAND = "python -m tests.docs.reference"
NOTE = f"<!-- Written from code by `{COMMAND}`. -->"
BEGIN, END = "<!-- generated -->", "<!-- end -->"


def pages() -> dict[Path, Callable[[], str]]:
    """Returns every generated page, and every page with a generated table, each with the function that writes it."""
    whole = (
        errors,
        commands,
        settings,
        functions,
        types,
        formats,
        python,
        units,
        complaints,
        rules,
        laws,
        packages,
    )
    return {
        **{DOCS / "reference" / f"{write.__name__}.md": partial(with_note, write) for write in whole},
        DOCS / "engines.md": with_refusals,
        DOCS / "editors" / "vscode" / "syntaxes" / "cedilla.tmLanguage.json": textmate,
        INDEX: with_operators,
        **{operator_page(operator): partial(with_table, operator) for operator in OPERATORS},
    }


def with_note(write: Callable[[], str]) -> str:
    return f"{NOTE}\n\n{write()}\n"


def with_operators() -> str:
    return replaced(INDEX.read_text("utf-8"), operators())


def with_refusals() -> str:
    return replaced((DOCS / "engines.md").read_text("utf-8"), refusals())


def replaced(page: str, text: str) -> str:
    """Returns a page with another generated block."""
    return _TABLE.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page)


def refusals() -> str:
    """Returns a list of the calls that engines refuse; calls with one reason share an item."""
    calls: dict[tuple[str, str], list[str]] = {}
    for r in REFUSALS:
        calls.setdefault((f"{', '.join(r.engines)}: {r.because}", r.instead), []).append(r.what)
    return "\n".join(
        f"- {', '.join(names)} on {because}. Write {instead}." for (because, instead), names in calls.items()
    )


# --- codes, commands, settings ---


def errors() -> str:
    parts = [
        "# Codes of errors and warnings\n\nA code never gets a second meaning. `cedilla check Q.rq --format json` "
        "gives a message as data: `code`, `severity`, `message`, `span`, `notes`, `help`. An error ends the command "
        "with exit status 1. `check --strict` does the same for warnings that are likely mistakes.\n\n"
        "Examples use these relations. Accents and lines are those of `m`, or of `n` if the example declares "
        "it. A path is the file of the lines after it. Commands find the query in `q.rq`. Each example was tried with "
        "`check`, `simulate` and `run`; if it has lines or accents, also with `validate` and `trace`:\n\n"
        "```rq declarations\n" + PRELUDE + 'emit r to json "out";\n```'
    ]
    entries = sorted(codes().values(), key=lambda code: code.family)
    for family, members in groupby(entries, key=lambda code: code.family):
        parts.append(f"## {FAMILIES[family]}")
        for code in members:
            severity = "" if code.severity == "error" else f"*{code.severity.capitalize()}.* "
            target = os.path.relpath(DOCS / code.page, DOCS / "reference")
            lines = [f"**{code.name}** {severity}{code.meaning}", f"Fix: {code.fix} ([more]({target}))"]
            if code.shown:
                lines.append(f"Example: {', then '.join(f'`{text}`' for text in code.shown)}")
                lines += _reporters(code)
            parts.append("\\\n".join(lines))
    return "\n\n".join(parts)


def _reporters(code: Code) -> list[str]:
    """Returns a line about the commands that report the example of a code."""
    if code.command:
        return [f"Reported by `{code.command.split()[1]}`"]
    if (reports := by_command().get(code.name)) is None:
        return []
    own = [f"`{command}`" for command, report in reports.items() if report == code.name]
    others = [
        f"`{command}` reports {report}"
        for command, report in reports.items()
        if report not in ("", code.name)
    ]
    silent = [f"`{command}`" for command in ("validate",) if reports.get(command) == ""]
    parts = [f"Reported by {', '.join(own)}", *others, *(f"{command} reports nothing" for command in silent)]
    return ["; ".join(parts)]


def commands() -> str:
    parts = ["# Commands and their options"]
    for name, command in _every("", main):
        names = (p.metavar or p.name or "" for p in command.params if isinstance(p, click.Argument))
        arguments = " ".join(name.upper() for name in names)
        parts.append(
            f"## {name}\n\n    cedilla {name} [OPTIONS] {arguments}\n\n{paragraph(command.help or '')}"
        )
        rows = [
            (f"`{', '.join(p.opts)}{_value(p)}`", _plain(p.help or ""))
            for p in command.params
            if isinstance(p, click.Option)
        ]
        if rows:
            parts.append(table(("option", "effect"), rows))
    return "\n\n".join(parts)


def _every(before: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """Yields the commands of a group, and those below them."""
    for name, command in group.commands.items():
        yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from _every(f"{before}{name} ", command)


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return f" {'/'.join(map(str, option.type.choices))}"
    return f" {option.metavar or option.type.name.upper()}"


def _plain(text: str) -> str:
    return " ".join(text.split())


def paragraph(text: str) -> str:
    """Returns the first paragraph of a help text or docstring on one line."""
    return _plain(text.replace("\b", "").strip().split("\n\n")[0])


def settings() -> str:
    rows = [
        (f"`{name}`", ", ".join(f"`{value}`" for value in values), SETTING_MEANINGS[name])
        for name, values in SETTINGS.items()
    ]
    return (
        "# Settings\n\n`set NAME = VALUE;` holds for the whole query. `--set NAME=VALUE` overrides it. The first "
        "value is the default.\n\n" + table(("setting", "values", "effect"), rows)
    )


# --- units ---


def units() -> str:
    text = (ROOT / "compiler/expressions/units/kinds.txt").read_text("utf-8")
    kinds: list[tuple[str, str]] = []
    for block in re.split(r"\n\n+", text.split("\n\n", 1)[1]):
        comments = " ".join(line.lstrip("# ") for line in block.splitlines() if line.startswith("#"))
        definitions = [line for line in block.splitlines() if line and not line.startswith("#")]
        kinds.append((comments, ", ".join(f"`{definition}`" for definition in definitions)))
    return (
        "# Units\n\n[Units](../units.md) has the rules. All names of pint and codes of UCUM are units.\n\n"
        "## Kinds that pint does not have\n\n" + table(("kind", "definitions"), kinds) + "\n\n"
        "## Names that are refused\n\n"
        + table(("name", "write instead"), ((f"`{n}`", t) for n, t in TRAPS.items()))
    )


# --- complaints ---


def complaints() -> str:
    """Returns the collected complaints, each with what to write."""
    collected = all_complaints()
    rows = ((complaint.seen, complaint.changed, complaint.write) for complaint in collected)
    refused = sum(complaint.is_refused for complaint in collected)
    return (
        "# Changes that people reported\n\nPublic complaints about producers that changed the meaning of their data, "
        "and how a query undoes each change. An accent `[[...]]` is a statement of the query, `accent r [[...]];`, or "
        "[a line of the stream](../markers.md#accents). "
        "[`complaints.md`](../../tests/complaints/complaints.md) has each as a query with lines, which a test "
        f"runs: of {len(collected)}, {len(collected) - refused} give the right result, and {refused} are refused with "
        "a code.\n\n" + table(("seen", "what changed", "write"), rows)
    )


# --- operators ---


def operator_page(operator: type[Operator]) -> Path:
    return DOCS / "operators" / f"{operator.method.replace('_', '-')}.md"


_TABLE = re.compile(f"{BEGIN}\n.*?{END}", re.DOTALL)
_QUERY = re.compile(r"^```rq\n((?:.*\n)*?)```$", re.MULTILINE)


def with_table(operator: type[Operator]) -> str:
    """Returns the page of an operator with the table of its example."""
    text = operator_page(operator).read_text("utf-8")
    return replaced(text, operator_table(*example(operator)))


def operators() -> str:
    """Returns a table of all operators: the first form, the first sentence and the state of their pages."""
    return table(("operator", "write", "what it does", "what it keeps"), map(_operator_row, OPERATORS))


def _operator_row(operator: type[Operator]) -> tuple[str, str, str, str]:
    page = operator_page(operator)
    text = page.read_text("utf-8")
    heading, does = re.findall(r"\A# (.*)\n\n(.*?[.])(?=\s)", text)[0]
    form = re.findall(r"^ {4}(\S.*?)(?: {2,}.*)?$", text, re.MULTILINE)[0]
    state = re.findall(r"^\*\*State\*\*: (.*?)[.](?=\s)", text, re.MULTILINE)[0]
    return f"[{heading[0].lower()}{heading[1:]}]({page.name})", f"`{form}`", does, state


def example(operator: type[Operator]) -> tuple[Plan, Operator]:
    """Returns the plan of the last example on an operator's page, the one with a change, and the operator in it."""
    plan = compile_query(_QUERY.findall(operator_page(operator).read_text("utf-8"))[-1]).plan
    return plan, next(
        operator_of_plan for operator_of_plan in plan.operators if type(operator_of_plan) is operator
    )


def operator_table(plan: Plan, operator: Operator) -> str:
    """Returns a table of what an operator does with tuples, punctuations and accents, and what it keeps."""
    inputs = tuple(plan.start[name] for name in operator.inputs)
    profile, invariants = signature(operator, inputs), operator.invariants(inputs)
    sets = (("F", profile.foundation), ("M", profile.merge), ("A", profile.accumulate))
    terms = "; ".join(f"{name} = {{{', '.join(names)}}}" for name, names in sets if names)
    forgets = f"; it forgets {invariants.purges}" if operator.stateful else ""
    rows = [
        ("tuples", f"it writes {invariants.passes}"),
        ("punctuations", f"it closes {invariants.propagates}"),
        *((sentence.subject, sentence.predicate) for sentence in accents(plan, operator)),
        ("state", f"it {keeps(safety(plan).of(operator.name))}{forgets}"),
        ("[signature](README.md#the-signature)", terms or "∅"),
    ]
    return table(("what comes", "what happens"), rows)


# --- rules and laws ---

RULES = ROOT / "tests" / "laws" / "rules.toml"
PAPERS = "Examples of the papers"
"""The section of the rules that has no rules."""


def rule_rows() -> Iterator[tuple[str, dict[str, str]]]:
    """Yields every rule of the theory with its section."""
    for section, entries in tomllib.loads(RULES.read_text("utf-8")).items():
        yield from ((section, entry) for entry in entries)


def rule_place(rule: str) -> str:
    """Returns the place of a rule in its page, to which other pages link: `n10`, `1-3-select`."""
    return re.sub(r"\W+", "-", rule.lower()).strip("-")


def _with_place(rule: str) -> str:
    return f'<a id="{rule_place(rule)}"></a>{rule}' if rule else rule


def rules() -> str:
    parts = [
        "# Rules\n\nEach rule of the theory, the files that implement it, the tests that show it and, if it is proved, "
        "the theorems of [`tests/proof/`](../../tests/proof/README.md), on which there is [a page](../proof.md). S, P, "
        "U, J, W "
        "and A are the operator rules of the paper (section 4) as corrected by the decisions G. α is the function of "
        "an Alter, β its inverse, d a description, C a closed region. E are errors of the papers, R and the cases its "
        "sections 5.1 and 5.2, O the oracles. [The theory](../theory.md) explains them in order. "
        "[`tests/laws/rules.toml`](../../tests/laws/rules.toml) is the source."
    ]
    for section, members in groupby(rule_rows(), key=lambda row: row[0]):
        cells = [
            (_with_place(e["rule"]), e["says"], e["files"], e["tests"], e.get("proof", ""))
            for _, e in members
        ]
        if section == PAPERS:
            parts.append(
                f"## {section}\n\n" + table(("example", "tests"), ((says, t) for _, says, _, t, _ in cells))
            )
        else:
            parts.append(f"## {section}\n\n" + table(("rule", "says", "files", "tests", "proved"), cells))
    return "\n\n".join(parts)


LAWS = ("test_evolution.py", "test_regions.py", "test_punctuation.py", "test_roundtrip.py")
"""Modules outside of `tests/laws` whose tests are laws."""


def laws() -> str:
    parts = [
        "# Laws\n\nStatements that hold for every query and stream, tried on random ones. "
        "[tests/README.md](../../tests/README.md) has the commands; `make test` runs a few cases of each law, "
        "`make soak` many with new seeds. A failure prints the query and the stream."
    ]
    tests = ROOT / "tests"
    modules = [*(tests / "laws").glob("test_*.py"), *(path for name in LAWS for path in tests.rglob(name))]
    lines = ((f"`{path.relative_to(ROOT).as_posix()}`", _docstring(path)) for path in sorted(modules))
    parts.append(table(("tests", "law"), lines))
    rows = ((str(n), m.rule, f"`{m.file}`") for n, m in enumerate(MUTATIONS))
    parts.append(
        "## Mutations\n\n`make mutants` makes each of these wrong changes; some law must fail for each.\n\n"
        + table(("", "broken rule", "file"), rows)
    )
    return "\n\n".join(parts)


def packages() -> str:
    """Returns the packages in their order, each with its docstring and the packages that it may import."""
    parts = [
        "# Packages\n\nA package imports earlier packages of its folder only; the runtime has them in rooms. "
        "`plain` alone also imports later ones."
    ]
    for folder in FOLDERS:
        parts.append(f"## {folder}")
        for room, members in rooms(folder).items():
            rows = (
                (
                    f"`{name}`",
                    _docstring(init_of(folder, name)),
                    ", ".join(f"`{i}`" for i in imported),
                )
                for name, imported in members.items()
            )
            parts += [f"### {room}"] if room else []
            parts.append(table(("package", "content", "imports"), rows))
    return "\n\n".join(parts)


def _docstring(path: Path) -> str:
    return paragraph(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "")


def write() -> None:
    for path, page in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(page(), "utf-8")


if __name__ == "__main__":
    write()
