"""Pictures of pages, which carry the commit that they were taken at and the fixed texts that they show."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page

from tests.kit import ROOT

COLOURS = 96
_SHOWN = "selector => [...document.querySelectorAll(selector)].filter(e => e.checkVisibility()).map(e => e.innerText)"


def take(tab: Page, path: Path, selector: str, whole: bool = False) -> None:
    """Writes a PNG of a page. `selector`: the elements whose texts are fixed, such as headings; the picture carries
    them, so that a test finds a text that has changed since."""
    tab.screenshot(path=path, full_page=whole)
    lines = (line.strip() for text in tab.evaluate(_SHOWN, selector) for line in text.splitlines())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    info = PngInfo()
    info.add_text("commit", commit.stdout.strip())
    info.add_itxt("texts", json.dumps(sorted({plain(line) for line in lines if line})))
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True, pnginfo=info)


def plain(text: str) -> str:
    """Returns a text as pages and their sources both have it: single blanks, no numbers, no marks of Markdown."""
    return re.sub(r"[\s\d]+", " ", re.sub(r"[`*#¶]", "", text)).strip().lower()


def texts_of(path: Path) -> list[str] | None:
    """Returns the fixed texts of a picture; `None` if it carries none."""
    with Image.open(path) as picture:
        texts = picture.info.get("texts")
    return None if texts is None else json.loads(str(texts))
