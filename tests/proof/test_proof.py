"""The files of the proof are those that `make proof` checks and the page describes, and they admit nothing.

Coq itself checks them in `make proof`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import ROOT
from tests.proof import check


def test_every_file_is_checked_and_described() -> None:
    page = (check.PROOF / "README.md").read_text("utf-8")
    assert set(check.names()) == {file.stem for file in check.PROOF.glob("*.v")}
    assert {name for name in check.names() if f"`{name}.v`" not in page} == set()


@pytest.mark.parametrize("name", check.names())
def test_a_file_proves_what_it_states(name: str) -> None:
    assert name == "Cases" or check.statements(name)
    assert check.unproved(name) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Lemma a : True. Admitted.", ["Admitted"]),
        ("Theorem b : False. Proof. admit. Qed.", ["admit"]),
        ("Axiom c : False.", ["Axiom"]),
        ("Unset Guard Checking.", ["Unset"]),
        ("(* no Axiom *) Lemma d : True. Proof. exact I. Qed.", []),
    ],
)
def test_what_is_not_proved_is_found(
    text: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Any.v").write_text(text)
    monkeypatch.setattr(check, "PROOF", tmp_path)
    assert check.unproved("Any") == words


def test_without_coq_it_says_how_to_install_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.proof.check"],
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip() == check.INSTALL
