"""Takes the pictures of docs/live-page.md from the real page: `python -m tests.runtime.hosts.ui.screenshots`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.kit import ROOT
from tests.kit.browser import chromium, opened
from tests.kit.lines import write_lines
from tests.kit.pages import served
from tests.runtime.hosts.ui.pumps import BAD, QUERY, first_files, pump

FOLDER = ROOT / "docs"
PICTURES = {"live-page": ("light", 1900), "live-page-dark": ("dark", 900)}
"""The name of a picture -> its colours, and its height."""
COLOURS = 96


def main() -> None:
    """Runs the query of the pumps on Sail, until its bad marker ends it, and writes a PNG of each."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("pumps.rq").write_text(QUERY)
        for number, lines in enumerate([*first_files(), [pump(360, 2, 101.0), BAD]], 1):
            write_lines(Path("pumps", f"{number}.jsonl"), lines, number)
        arguments = [
            "run",
            "pumps.rq",
            "--once",
            "--engine",
            "sail",
            "--files-per-epoch",
            "1",
            "--checkpoint",
            "ck",
        ]
        subprocess.run([sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments], check=False)
        with served("ck") as page, chromium() as browser:
            for name, (scheme, height) in PICTURES.items():
                tab = opened(browser, page.address, 1180, scheme)
                tab.set_viewport_size({"width": 1180, "height": height})
                tab.locator("#members tr[data-value]").first.wait_for()
                tab.locator("#try-text").fill("[[pump = 4, unit(litres, m3)]]")
                tab.locator("#try-text").press("Enter")
                tab.locator("#try-answer table").wait_for()
                tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
                tab.locator("#output tbody tr").first.wait_for()
                path = FOLDER / f"{name}.png"
                tab.screenshot(path=path)
                Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
