"""The page of architecture has the rooms of the runtime in the order in which they import each other."""

import re

from tests.kit import ROOT
from tests.kit.imports import rooms

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_the_page_leads_with_the_rooms() -> None:
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    assert set(re.findall(r"(?m)^\| `(\w+)/` \|", table)) == set(rooms("runtime"))


def test_the_picture_has_the_rooms_in_their_order() -> None:
    (chain,) = re.findall(r"(?m)^  (\w+(?: --> \w+){5})$", PAGE)
    assert chain.split(" --> ") == list(reversed(rooms("runtime")))
