"""What the compiler makes of queries: plans as `explain` shows them, programs, complaints (`golden/*.txt`)."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cedilla.compiler.analysis.findings import all_findings
from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.explain.explanation import explain_text
from cedilla.compiler.explain.summary import summary_text
from cedilla.compiler.explain.views import show
from cedilla.compiler.explain.wrapping import WIDTH
from cedilla.compiler.operators import OPERATORS, Operator
from cedilla.compiler.plan import Plan
from cedilla.grammar import DiagnosticError, render
from cedilla.runtime.inspect.trace import trace, trace_text
from tests.kit import ROOT
from tests.kit.golden import check

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    check(path, golden_output)


def golden_output(directive: str, text: str) -> str:
    """`explain` or one of its views and forms, `compile`, `complain`, `check` (state too), or `markers`.

    With the path of a query where that is not the input, and with `NAME=VALUE` for its constants; `explain` with
    `--full`, and it and its views with `--width=N`. The input of `markers` is `SOURCE MARKER` per line.
    """
    command, *words = directive.split(" ")
    parted = [word.partition("=") for word in words if word.startswith("--")]
    options = {name: value for name, _, value in parted}
    rest = [word for word in words if not word.startswith("--")]
    width = int(options.get("--width", WIDTH))
    params = dict(word.split("=", 1) for word in rest if "=" in word)
    path = " ".join(word for word in rest if "=" not in word)
    if command == "slips":
        return "\n".join(slip(line, path or "r") for line in text.splitlines())
    source = path or "q.rq"
    lines = text.splitlines() if command == "markers" else []
    markers = [(name, marker) for name, _, marker in (line.partition(" ") for line in lines)]
    text = (ROOT / path).read_text(encoding="utf-8") if path else text
    try:
        compiled = compile_query(text, source, params)
    except DiagnosticError as error:
        return render(error.diagnostics, {source: text})
    match command:
        case "evolution" | "trace" | "spark":
            return show(compiled, command, width=width)
        case "dot" | "mermaid":
            return show(compiled, form=command)
        case "check":
            said = (*compiled.warnings, *all_findings(compiled.plan))
            return render(said, {source: text})
        case "markers":
            return "\n\n".join(map(trace_text, trace(compiled.plan, markers)))
        case "explain":
            shown = explain_text if "--full" in options else summary_text
            return shown(compiled.plan, False, compiled.warnings, {source: text}, width)
        case "compile":
            return compiled.program
        case _:
            return render(compiled.warnings, {source: text})


SOURCES = {
    "r": """stream r(ts: long, a: int, b: double, name: string, at: timestamp) from json "r" punctuated on ts;
stream q(a: int, c: double) from json "q" punctuated on a;
""",
    "orders": """stream orders(at: timestamp, id: long, customer: int in {1, 2, 3}, amount: double,
  weight?: double unit kg, state: string in {"new", "paid", "sent"}) from json "orders" punctuated on at;
stream clicks(at: timestamp, customer: int, page: string) from json "clicks" punctuated on at;
table customers(customer: int, name: string, city: string) from json "customers";
slots := window[5 minutes on at as slot](orders);
""",
}
"""The name of a stream -> the statements before a slip."""


@cache
def plan_of(stream: str) -> Plan:
    """The plan that emits a stream of `SOURCES`."""
    return compile_query(f'{SOURCES[stream]}emit {stream} to json "o";').plan


def slip(line: str, stream: str) -> str:
    """A statement after some of `SOURCES`, and per complaint its code, the words that it is about, message and hint.

    A line that begins with a bracket is a marker of the stream.
    """
    sources = SOURCES[stream]
    is_marker = line.startswith(("[", "(", "{"))
    try:
        if is_marker:
            found = next(trace(plan_of(stream), [(stream, line)])).warnings
        else:
            compiled = compile_query(f'{sources}{line}\nemit {stream} to json "z";')
            found = compiled.warnings
    except DiagnosticError as error:
        found = error.diagnostics
    said = [line]
    for each in found:
        assert each.span is not None
        assert is_marker or each.span.line == sources.count("\n") + 1, each
        words = line[each.span.column - 1 :][: each.span.end - each.span.start]
        said += [f"  {each.code} `{words}`: {each.message}", *(f"    {note}" for note in each.notes)]
        said.append(f"    -> {each.help}")
    return "\n".join(said)


# --- what fits the width ---


TREE = re.compile(r"[ │├└─]*")
QUOTED = re.compile(r" *\d* \|")


@pytest.mark.parametrize("view", ["plan", "full", "evolution"])
@pytest.mark.parametrize("path", sorted((ROOT / "queries").rglob("*.rq")), ids=lambda path: path.stem)
def test_no_line_is_longer_than_the_width(path: Path, view: str) -> None:
    """But for one word that is longer, and for the lines of the query that a warning quotes."""
    text = path.read_text(encoding="utf-8")
    compiled = compile_query(text, str(path))
    for width in (60, 80, 100):
        for line in show(compiled, view, texts={str(path): text}, width=width).splitlines():
            one_word = " " not in TREE.sub("", line, count=1)
            assert len(line) <= width or one_word or QUOTED.match(line), line


@pytest.mark.parametrize("view", ["plan", "full", "evolution"])
def test_a_narrow_view_says_what_a_wide_one_says(view: str) -> None:
    compiled = compile_query((ROOT / "queries/weather.rq").read_text(encoding="utf-8"))
    said = {
        width: [word.strip("│├└─") for word in show(compiled, view, width=width).split()]
        for width in (60, 80, 100, 10_000)
    }
    assert len({" ".join(sorted(filter(None, words))) for words in said.values()}) == 1


# --- what the files have to cover ---


def test_every_slip_gets_a_hint_at_its_word() -> None:
    text = (GOLDEN / "slips.txt").read_text(encoding="utf-8")
    slips = [
        line for line in text.splitlines() if line and not line.startswith((" ", "#", "=", "-", "slips"))
    ]
    answers = text.partition("----\n")[2]
    assert len(slips) / 2 >= 60
    assert "-> None" not in answers
    for line in slips:
        assert f"{line}\n  RQ" in answers, line


def test_slips_of_other_languages_get_hints() -> None:
    text = (GOLDEN / "slips_of_others.txt").read_text(encoding="utf-8")
    slips = re.findall(r"^slips orders\n(.*?)^----$", text, re.MULTILINE | re.DOTALL)
    assert sum(len(block.splitlines()) for block in slips) >= 600
    unhinted = re.findall(r"  (RQ\d+) (.*)\n {4}-> None", text)
    assert all(code == "RQ108" or "missing `;`" in message for code, message in unhinted)


def queries() -> list[CompiledQuery]:
    """Every query of `compile.txt`."""
    blocks = (GOLDEN / "compile.txt").read_text(encoding="utf-8").split("====\n")
    compiled: list[CompiledQuery] = []
    for block in blocks:
        directive, _, text = block.partition("----\n")[0].partition("compile")[2].partition("\n")
        source = directive.strip() or "q.rq"
        text = (ROOT / source).read_text(encoding="utf-8") if directive.strip() else text
        compiled.append(compile_query(text, source))
    return compiled


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.title)
@pytest.mark.parametrize("name", ["explain", "compile"])
def test_every_operator_has_a_golden_plan_and_program(name: str, operator: type[Operator]) -> None:
    word = operator.__name__ if name == "explain" else operator.method
    own = GOLDEN / f"{operator.method}.txt"  # those of later operators have all in one file
    texts = (
        (GOLDEN / f"{name}.txt").read_text(encoding="utf-8"),
        own.read_text(encoding="utf-8") if own.exists() else "",
    )
    assert any(re.search(rf"\b{word}\b", text) for text in texts)


def test_every_code_of_the_compiler_has_a_golden_complaint() -> None:
    known = {
        code
        for file in (ROOT / "compiler").rglob("*.py")
        for code in re.findall(r"RQ1\d\d", file.read_text(encoding="utf-8"))
    } - {"RQ176"}  # of a mistake in the compiler (`test_passes`)
    assert known == set(re.findall(r"RQ1\d\d", (GOLDEN / "complain.txt").read_text(encoding="utf-8")))


def test_programs_are_python() -> None:
    for compiled in queries():
        tree = ast.parse(compiled.program)
        assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["flow"]


def test_programs_are_written_as_ruff_would(tmp_path: Path) -> None:
    for number, compiled in enumerate(queries()):
        (tmp_path / f"program_{number}.py").write_text(compiled.program, encoding="utf-8")
    # What the query says in one string stays in one piece, however long; nobody imports a program for its functions.
    for command in (["check", "--ignore", "E501,D"], ["format", "--diff"]):
        config = ["--no-cache", "--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *config], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_program_holds_the_query() -> None:
    for compiled in queries():
        module: dict[str, object] = {"__name__": "program"}
        exec(compile(compiled.program, "<program>", "exec"), module)
        assert module["QUERY"] == compiled.plan.text
