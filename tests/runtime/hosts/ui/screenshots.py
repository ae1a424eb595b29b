"""Takes the pictures of docs/live-page.md from the real page: `python -m tests.runtime.hosts.ui.screenshots`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.kit import ROOT
from tests.kit.browser import chromium, opened
from tests.kit.lines import write_lines
from tests.kit.pages import served
from tests.kit.pictures import take as take_picture
from tests.runtime.hosts.ui import fleet
from tests.runtime.hosts.ui.pumps import BAD, QUERY, first_files, pump

FOLDER = ROOT / "docs"
PUMPS = {"live-page": ("light", None), "live-page-dark": ("dark", 900)}
FLEET = {"live-page-fleet": ("light", 640)}
"""The name of a picture -> its colours, and its height, `None` for the whole page."""
WIDTH = 1180


def ran(query: str) -> None:
    """Runs a query of the current folder on Sail, file by file."""
    options = ["--once", "--engine", "sail", "--files-per-epoch", "1", "--checkpoint", "ck"]
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "run", query, *options]
    subprocess.run(command, check=False)


def pumps(tab: Page) -> None:
    """Asks what an accent would do."""
    tab.locator("#members tr[data-value]").first.wait_for()
    tab.locator("#try-text").fill("[[pump = 4, unit(litres, m3)]]")
    tab.locator("#try-text").press("Enter")
    tab.locator("#try-answer table").wait_for()


def lagging(tab: Page) -> None:
    """Asks for the meters that have not changed."""
    tab.locator("[data-ways='power'] button").nth(1).click()
    tab.locator("#members tr[data-value='m0005']").wait_for()


def take(
    browser: Browser, pictures: Mapping[str, tuple[str, int | None]], prepare: Callable[[Page], None]
) -> None:
    """Writes a PNG of each picture of a run's page."""
    with served("ck") as page:
        for name, (scheme, height) in pictures.items():
            tab = opened(browser, page.address, WIDTH, scheme)
            tab.set_viewport_size({"width": WIDTH, "height": height or 900})
            prepare(tab)
            tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            tab.locator("#output tbody tr").first.wait_for()
            path = FOLDER / f"{name}.png"
            take_picture(tab, path, "h2", whole=height is None)


def main() -> None:
    """Runs the query of the pumps until its bad marker ends it, and that of 5,000 meters; takes pictures of each."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        os.chdir(folder)
        Path("pumps.rq").write_text(QUERY)
        for number, lines in enumerate([*first_files(), [pump(360, 2, 101.0), BAD]], 1):
            write_lines(Path("pumps", f"{number}.jsonl"), lines, number)
        ran("pumps.rq")
        take(browser, PUMPS, pumps)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        os.chdir(folder)
        fleet.write(Path(), 5_000)
        ran("meters.rq")
        take(browser, FLEET, lagging)


if __name__ == "__main__":
    main()
