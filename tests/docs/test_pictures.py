"""Pictures of pages show what these say today: each fixed text of a picture is in the sources of its page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from PIL import Image

from tests.kit import ROOT
from tests.kit.pictures import plain, texts_of

DOCS = ROOT / "docs"
LIVE_PAGE = [*(ROOT / "runtime" / "hosts" / "ui" / "page").glob("page.*")]
SOURCES: dict[str, list[Path]] = {
    **dict.fromkeys(("live-page", "live-page-dark", "live-page-fleet"), LIVE_PAGE),
    "site": [DOCS / "start.md"],
    "playground": [*(DOCS / "playground").glob("*.*")],
    "notebook": [ROOT / "queries" / "notebook" / "pumps.ipynb"],
}
"""The name of a picture -> the files that its texts are from."""


def sources_of(files: Iterable[Path]) -> str:
    texts = (file.read_text("utf-8") for file in files)
    return plain(" ".join(re.sub(r"</?\w+[^<>]*>", "", text) for text in texts))


@pytest.mark.parametrize("name", SOURCES)
def test_a_picture_shows_texts_that_its_page_has(name: str) -> None:
    """Where this fails, `make pictures` takes them anew."""
    texts = texts_of(DOCS / f"{name}.png")
    assert texts
    sources = sources_of(SOURCES[name])
    assert [text for text in texts if text not in sources] == []


def test_pictures_carry_their_commit() -> None:
    for name in SOURCES:
        with Image.open(DOCS / f"{name}.png") as picture:
            assert len(str(picture.info["commit"])) >= 7
