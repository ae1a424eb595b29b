"""Files that a query names: shared declarations (`use`) and files of accents."""

from __future__ import annotations

from pathlib import Path

import pytest

from cedilla import compile_query
from cedilla.grammar.diagnostics import render
from tests.kit.errors import error_of

STREAMS = """
let limit = 90;
stream pumps(ts: long, fw: int, p: double unit W) from json "in" punctuated on ts;
hot := select[p > limit](pumps);
"""
QUERY = 'use "shared/streams.rq";\nemit hot to json "out";\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a folder of queries, in which declarations are shared."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries/shared").mkdir(parents=True)
    (tmp_path / "queries/shared/streams.rq").write_text(STREAMS)
    return tmp_path


def write_query(name: str, text: str) -> Path:
    path = Path("queries") / name
    path.write_text(text)
    return path


def test_a_query_may_use_the_statements_of_a_file(here: Path) -> None:
    compiled = compile_query(write_query("q.rq", QUERY))
    inline = compile_query(write_query("inline.rq", STREAMS + 'emit hot to json "out";\n'))
    assert compiled.plan.operators == inline.plan.operators
    assert compiled.plan.sources == inline.plan.sources
    assert "# shared/streams.rq:3" in compiled.program


@pytest.mark.parametrize("params", [{}, {"low": "3"}])
def test_the_text_of_a_plan_names_no_file(here: Path, params: dict[str, str]) -> None:
    """A program and a checkpoint contain it: they are of the files as they were."""
    write_query("changes.rqm", ACCENTS)
    stated = 'accent pumps from file "changes.rqm";'
    text = f'let low = 2;\n{QUERY}{stated}\nemit select[p > low * 2](hot) to json "low";\n'
    plan = compile_query(write_query("q.rq", text), params=params).plan
    for path in Path("queries").rglob("*.rq*"):
        path.unlink()
    again = compile_query(plan.text, "q.rq", plan.params).plan
    for part in ("sources", "operators", "emits", "settings"):
        assert getattr(again, part) == getattr(plan, part)


def test_a_used_file_may_use_another(here: Path) -> None:
    write_query("shared/more.rq", 'use "shared/streams.rq";\nset late = abort;\n')
    plan = compile_query(write_query("q.rq", 'use "shared/more.rq";\nemit hot to json "out";\n')).plan
    assert plan.settings["late"] == "abort"


def test_an_error_in_a_used_file_shows_its_line(here: Path) -> None:
    write_query("shared/streams.rq", STREAMS.replace("p > limit", "q > limit"))
    first = error_of(lambda: compile_query(write_query("q.rq", QUERY)))
    shown = render([first], {})
    assert first.code == "RQ102"
    assert "shared/streams.rq:4:15" in shown
    assert "hot := select[q > limit](pumps);" in shown


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('use "absent.rq";', "cannot be read"),
        ('use "/etc/hostname";', "outside"),
        ('use "../../../etc/hostname";', "outside"),
        ('use "circle.rq";', "uses itself"),
        ('use "emits.rq";', "has an `emit`"),
        ('use "bytes.rq";', "is not UTF-8"),
        ('accent pumps from file "absent.rqm";', "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error(here: Path, statement: str, message: str) -> None:
    write_query("circle.rq", 'use "circle.rq";\n')
    write_query("emits.rq", 'emit pumps to json "copy";\n')
    Path("queries/bytes.rq").write_bytes(b"\xff")
    first = error_of(
        lambda: compile_query(write_query("q.rq", f'{QUERY}{statement}\nemit pumps to json "other";\n'))
    )
    assert first.code == "RQ237"
    assert message in first.message
    assert first.span is not None


ACCENTS = """# The fleet of March.

[[fw >= 1098, unit(p, kW)]]
   [[fw = 1100, alter(p, y -> y * 2)]]
"""


def test_a_file_of_accents_is_one_statement_for_each_line(here: Path) -> None:
    write_query("changes.rqm", ACCENTS)
    compiled = compile_query(write_query("q.rq", f'{QUERY}accent pumps from file "changes.rqm";\n'))
    accents = compiled.plan.source_of["pumps"].accents
    assert [accent.text for accent in accents] == [
        "[[fw >= 1098, unit(p, kW)]]",
        "[[fw = 1100, alter(p, y -> y * 2)]]",
    ]
    assert [accent.line for accent in accents] == [3, 4]


@pytest.mark.parametrize(
    ("line", "code"),
    [("[[fw > 2, unit(q, kW)]]", "RQ207"), ("[[fw > 2, unit(p kW)]]", "RQ001"), ("fw > 2", "RQ001")],
)
def test_a_wrong_line_of_a_file_of_accents_is_shown(here: Path, line: str, code: str) -> None:
    write_query("changes.rqm", ACCENTS + line + "\n")
    first = error_of(
        lambda: compile_query(write_query("q.rq", f'{QUERY}accent pumps from file "changes.rqm";\n'))
    )
    shown = render([first], {})
    assert first.code == code
    assert "changes.rqm:5:" in shown
    assert line in shown


@pytest.mark.long
def test_a_file_may_hold_thousands_of_accents(here: Path) -> None:
    lines = "".join(f"[[fw = {number}, unit(p, kW)]]\n" for number in range(2_000))
    write_query("changes.rqm", lines)
    compiled = compile_query(write_query("q.rq", f'{QUERY}accent pumps from file "changes.rqm";\n'))
    assert len(compiled.plan.source_of["pumps"].accents) == 2_000
