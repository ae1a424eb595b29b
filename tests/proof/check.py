"""Checks the proof with Coq: `python -m tests.proof.check` (or `make proof`).

It compiles the files of `_CoqProject` in `build/proof`, and asks Coq on which axioms each statement rests. It fails if
there is an axiom or an admitted statement, or if Coq computes other tables than `cases.txt` has, which the oracle of
the laws is compared with. `REGENERATE=1` writes that file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROOF = Path(__file__).parent
CASES = PROOF / "cases.txt"
BUILD = Path(__file__).parents[2] / "build" / "proof"
INSTALL = "Coq is missing: `apt-get install coq` on Debian or Ubuntu, `brew install coq` on a Mac"
NO_AXIOM = "Closed under the global context"
"""What Coq answers about a statement that is proved from nothing."""
_STATEMENT = re.compile(r"^ *(Lemma|Theorem|Corollary|Example)\s+(\w+)", re.MULTILINE)
_COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
_UNPROVED = re.compile(r"\b(Admitted|admit|Axioms?|Conjecture|Parameters?|give_up|bypass_check)\b|\bUnset\b")


def names() -> list[str]:
    """Returns the names of the files in the order in which Coq needs them."""
    return re.findall(r"^(\w+)\.v$", (PROOF / "_CoqProject").read_text("utf-8"), re.MULTILINE)


def statements(name: str, kinds: str = "Lemma|Theorem|Corollary|Example") -> list[str]:
    """Returns the names of the statements of a file."""
    text = _COMMENT.sub("", (PROOF / f"{name}.v").read_text("utf-8"))
    return [statement for kind, statement in _STATEMENT.findall(text) if kind in kinds.split("|")]


def unproved(name: str) -> list[str]:
    """Returns the words of a file by which Coq takes something for true without a proof."""
    text = _COMMENT.sub("", (PROOF / f"{name}.v").read_text("utf-8"))
    return [match[0] for match in _UNPROVED.finditer(text)]


def coq(file: Path) -> str:
    """Returns what Coq prints for a file, or ends with its error."""
    command = ["coqc", "-q", "-noglob", "-Q", str(BUILD), "Cedilla", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    return done.stdout


def compile_all() -> None:
    """Compiles every file that changed since it was compiled, and those after it."""
    BUILD.mkdir(parents=True, exist_ok=True)
    changed = False
    for name in names():
        source, copy = PROOF / f"{name}.v", BUILD / f"{name}.v"
        same = copy.is_file() and copy.read_bytes() == source.read_bytes()
        if changed or not same or not copy.with_suffix(".vo").is_file():
            changed = True
            copy.with_suffix(".vo").unlink(missing_ok=True)
            shutil.copyfile(source, copy)
            coq(copy)


def axioms() -> dict[str, str]:
    """Returns what each statement of each file rests on, in Coq's words.

    Coq is asked about all of them at once, which takes a thirtieth of the time, and about each only if one rests on
    something.
    """
    asked = [f"{name}.{statement}" for name in names() for statement in statements(name)]
    together = ", ".join(f"@Cedilla.{statement}" for statement in asked)
    answer = ask(f"Definition together := ({together}). Print Assumptions together.").strip()
    if answer == NO_AXIOM:
        return dict.fromkeys(asked, answer)
    answers = ask(
        "\n".join(f'Goal True. idtac "? {s}". Abort. Print Assumptions Cedilla.{s}.' for s in asked)
    )
    return {
        statement: words.strip()
        for statement, words in re.findall(r"^\? (\S+)\n(.*?)(?=^\? |\Z)", answers, re.MULTILINE | re.DOTALL)
    }


def ask(questions: str) -> str:
    """Returns what Coq answers to questions about the compiled files."""
    file = BUILD / "Assumptions.v"
    file.write_text(f"From Cedilla Require {' '.join(names())}.\n{questions}\n", "utf-8")
    return coq(file)


def check_cases() -> None:
    """Compares the tables that Coq computes with those in the repository, or writes them."""
    computed = coq(BUILD / "Cases.v")
    if os.environ.get("REGENERATE"):
        CASES.write_text(computed, "utf-8")
    if computed.split() != CASES.read_text("utf-8").split():
        sys.exit(
            f"Coq computes other tables than {CASES.name} has: look at the definitions, then REGENERATE=1"
        )


def main() -> None:
    """Prints each theorem with what it rests on, and fails if that is not nothing."""
    if shutil.which("coqc") is None:
        sys.exit(INSTALL)
    compile_all()
    check_cases()
    answers = axioms()
    theorems = {f"{name}.{theorem}" for name in names() for theorem in statements(name, "Theorem|Corollary")}
    for statement, answer in answers.items():
        if answer != NO_AXIOM:
            print(f"{statement}: {answer}")
        elif statement in theorems:
            print(f"{statement}: no axiom")
    wrong = [statement for statement, answer in answers.items() if answer != NO_AXIOM]
    wrong += [f"{name}.v: {word}" for name in names() for word in unproved(name)]
    if wrong:
        sys.exit(f"not proved: {', '.join(wrong)}")
    print(f"{len(theorems)} theorems and {len(answers) - len(theorems)} lemmas are proved, without axioms")


if __name__ == "__main__":
    main()
