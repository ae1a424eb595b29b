"""Every code that can be raised is documented, and nothing else is."""

import re

from tests.kit import ROOT


def test_codes_are_those_of_the_error_page() -> None:
    files = [file for folder in ("grammar", "compiler", "runtime") for file in (ROOT / folder).rglob("*.py")]
    raised = {code for file in files for code in re.findall(r"RQ\d{3}", file.read_text(encoding="utf-8"))}
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| (RQ\d{3}) \|", page, re.MULTILINE)) == raised


def test_warnings_are_marked() -> None:
    files = [file for folder in ("compiler", "runtime") for file in (ROOT / folder).rglob("*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    warned = set(re.findall(r'"(RQ\d{3})",\s*"warning"', source))
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| (RQ\d{3}) \| \*Warning", page, re.MULTILINE)) == warned
