"""Answers about units are kept between processes; what is spoilt, or of other definitions, is asked anew."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cedilla.compiler.expressions.units import answers, kinds, units
from cedilla.compiler.expressions.units.answers import Answers, remembered

QUESTIONS = """
import sys
from fractions import Fraction
from cedilla.compiler.expressions.units import kinds, units
money = "[ct=EUR/100]/kWh"
print(
    units.conversion("degF", "degC"), units.conversion(money, "[EUR=EUR]/MWh"), units.level("mW", "dBm"),
    units.total("-", "degC", "degF"), units.product("/", "m", "s"), units.power("m", Fraction(1, 2)),
    units.is_scale("degC"), units.difference("degC"), units.check("{request}"), sorted(kinds.quantity("N*m").kind),
    kinds.described(money), kinds.described("mg/dL of [glucose=45039/250]"),
)
print("pint" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of bytecode, and answers, of the processes that a test starts."""
    return tmp_path / "bytecode"


def asked(folder: Path, code: str = QUESTIONS) -> list[str]:
    """The lines that a process of its own prints."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**kept, "PYTHONPYCACHEPREFIX": str(folder)},
    )
    return done.stdout.splitlines()


@pytest.mark.rest
def test_a_second_process_has_the_answers_of_the_first_and_loads_no_pint(folder: Path) -> None:
    first, second = asked(folder), asked(folder)
    assert (first[1], second[1]) == ("True", "False")
    assert first[0] == second[0]


@pytest.mark.rest
def test_a_question_about_a_unit_that_only_kept_answers_have_named(folder: Path) -> None:
    code = 'from cedilla.compiler.expressions.units import kinds, units; cent = "[ct=EUR/100]"; '
    asked(folder, f'{code}units.conversion(cent, "[EUR=EUR]")')
    more = f'{code}print(kinds.described(cent), units.product("*", cent, "h"))'
    cent = "[ct=EUR/100]"
    assert asked(folder, more) == [f"{kinds.described(cent)} {units.product('*', cent, 'h')}"]


@pytest.mark.parametrize("text", [b"", b"no pickle", pickle.dumps(5), pickle.dumps((("a",), {}))])
def test_a_spoilt_file_has_no_answers(tmp_path: Path, text: bytes) -> None:
    kept = Answers(tmp_path / "units")
    kept.by_question["a",] = 1
    kept.write()
    assert answers._read(tmp_path / "units") == {("a",): 1}
    (tmp_path / "units").write_bytes(text)
    assert answers._read(tmp_path / "units") == {}


def test_answers_of_other_definitions_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Answers(tmp_path / "units")
    kept.by_question["conversion", "a", "b"] = 1
    kept.write()
    assert answers._read(tmp_path / "units") == {("conversion", "a", "b"): 1}
    monkeypatch.setattr(answers, "_origin", lambda: (("default_en.txt", 1, 1),))
    assert answers._read(tmp_path / "units") == {}


def test_processes_add_to_each_other(tmp_path: Path) -> None:
    one, other = Answers(tmp_path / "units"), Answers(tmp_path / "units")
    one.by_question["a",], other.by_question["b",] = 1, 2
    one.write()
    other.write()
    assert answers._read(tmp_path / "units") == {("a",): 1, ("b",): 2}
    assert [*tmp_path.iterdir()] == [tmp_path / "units"]


def test_a_folder_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    Answers(tmp_path / "gone" / "units").write()
    assert [*tmp_path.iterdir()] == []


def test_errors_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Answers(None)
    monkeypatch.setattr(answers, "answers", lambda: kept)
    calls: list[str] = []

    @remembered
    def doubtful(name: str) -> int:
        calls.append(name)
        raise ValueError(name)

    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            doubtful("x")
    assert (calls, kept.by_question) == (["x", "x"], {})
