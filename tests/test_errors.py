"""Every code that can be raised is in the registry, and nothing else is."""

import re

from cedilla.grammar.diagnostics.codes import codes
from tests.kit import ROOT

ADVICE = "edit grammar/codes.toml, then run `python -m tests.docs.reference`"


def test_codes_are_those_of_the_registry() -> None:
    files = [file for folder in ("grammar", "compiler", "runtime") for file in (ROOT / folder).rglob("*.py")]
    raised = {code for file in files for code in re.findall(r"RQ\d{3}", file.read_text(encoding="utf-8"))}
    assert set(codes()) == raised, ADVICE


def test_warnings_are_marked() -> None:
    files = [file for folder in ("compiler", "runtime") for file in (ROOT / folder).rglob("*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    warned = set(re.findall(r'"(RQ\d{3})",\s*"warning"', source))
    assert {name for name, code in codes().items() if code.severity == "warning"} == warned, ADVICE


def test_every_code_has_an_example_or_a_test_that_names_it() -> None:
    """`tests/docs/test_reference.py` runs the examples."""
    for name, code in codes().items():
        assert bool(code.shown) != bool(code.test), f"{name}: an example or a test; {ADVICE}"
        if code.test:
            assert name in (ROOT / "tests" / code.test).read_text(encoding="utf-8"), f"{name}: {code.test}"
