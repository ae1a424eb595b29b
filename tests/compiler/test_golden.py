"""The results of the compiler: plans in the form of `explain`, programs, complaints (`golden/*.txt`)."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cedilla.compiler.compile import CompiledQuery, compile_query
from cedilla.compiler.explain.views import show
from cedilla.compiler.operators import OPERATORS, Operator
from tests.compiler.golden_views import golden_output
from tests.kit import ROOT
from tests.kit.golden import check
from tests.kit.tiers import rest, tiered

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.txt"))


SLOW = ("slips_first_look", "slips_of_others")
"""Hundreds of wrong queries; `slips` has one of each rule."""


@pytest.mark.parametrize(
    "path", [rest(path) if path.stem in SLOW else path for path in FILES], ids=lambda path: path.stem
)
def test_golden(path: Path) -> None:
    check(path, golden_output)


# --- what fits the width ---


TREE = re.compile(r"[ │├└─]*")
QUOTED = re.compile(r" *\d* \|")


@pytest.mark.long
@pytest.mark.parametrize("width", tiered([80, 60, 100]))
@pytest.mark.parametrize("path", sorted((ROOT / "queries").rglob("*.rq")), ids=lambda path: path.stem)
def test_no_line_is_longer_than_the_width(path: Path, width: int) -> None:
    """But for one word that is longer, and for the lines of the query that a warning quotes."""
    text = path.read_text(encoding="utf-8")
    compiled = compile_query(text, str(path))
    for view in ("plan", "full", "evolution"):
        for line in show(compiled, view, texts={str(path): text}, width=width).splitlines():
            one_word = " " not in TREE.sub("", line, count=1)
            assert len(line) <= width or one_word or QUOTED.match(line), line


@pytest.mark.parametrize("view", ["plan", "full", "evolution"])
def test_a_narrow_view_says_what_a_wide_one_says(view: str) -> None:
    compiled = compile_query((ROOT / "queries/weather.rq").read_text(encoding="utf-8"))
    views = {
        width: [word.strip("│├└─") for word in show(compiled, view, width=width).split()]
        for width in (60, 80, 100, 10_000)
    }
    assert len({" ".join(sorted(filter(None, words))) for words in views.values()}) == 1


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
    codes = {
        code
        for file in (ROOT / "compiler").rglob("*.py")
        for code in re.findall(r"RQ1\d\d", file.read_text(encoding="utf-8"))
    } - {"RQ176"}  # of a mistake in the compiler (`test_passes`)
    assert codes == set(re.findall(r"RQ1\d\d", (GOLDEN / "complain.txt").read_text(encoding="utf-8")))


def test_programs_are_python() -> None:
    for compiled in queries():
        tree = ast.parse(compiled.program)
        assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["flow"]


def test_programs_are_written_as_ruff_would(tmp_path: Path) -> None:
    for number, compiled in enumerate(queries()):
        (tmp_path / f"program_{number}.py").write_text(compiled.program, encoding="utf-8")
    # A string of the query stays in one piece, also a long one. No program is imported for its functions.
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
