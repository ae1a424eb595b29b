"""The page of reliability names the tests that hold its promises, and they exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.reference import DOCS
from tests.kit import ROOT

ROWS = re.findall(r"^\| .* \| `(\S+)::(\w+)` \|$", (DOCS / "reliability.md").read_text("utf-8"), re.MULTILINE)


def test_many_promises_have_a_test() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize(("path", "name"), ROWS)
def test_a_promise_has_a_test_that_exists(path: str, name: str) -> None:
    assert f"\ndef {name}(" in (ROOT / "tests" / "runtime" / path).read_text("utf-8")
