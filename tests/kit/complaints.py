"""Reads the collected complaints (`tests/complaints/complaints.md`): cases, each with what to write."""

from __future__ import annotations

import re

from attrs import frozen

from tests.kit import ROOT
from tests.kit.cases import Case, cases

PAGE = ROOT / "tests" / "complaints" / "complaints.md"
_HEAD = re.compile(r"^Write: (?P<write>.*)\\\nSeen: (?P<seen>.*)\n\n", re.MULTILINE)


@frozen
class Complaint:
    """A complaint. `write`: what undoes the change; `seen`: a link."""

    case: Case
    write: str
    seen: str

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.case.title.partition(":")[0]

    @property
    def is_refused(self) -> bool:
        """True if the query ends with a code, because the new values cannot be brought to the old ones."""
        return any(block.kind == "error" for block in self.case.blocks())

    @property
    def changed(self) -> str:
        """The change of the producer."""
        return self.case.title.partition(": ")[2]


def complaints() -> list[Complaint]:
    """Returns all complaints in the order of their page."""
    result: list[Complaint] = []
    for case in cases(PAGE):
        head = _HEAD.search(case.text)
        assert head is not None, case.title
        result.append(Complaint(case, head["write"], head["seen"]))
    return result
