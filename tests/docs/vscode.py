"""Films the extension in a real VS Code, which runs in Chromium: a finding and its quick fix, a hover, the rows.

    CODE_SERVER=PATH python -m tests.docs.vscode

writes docs/vscode.gif. PATH: the `code-server` of npm; `make vscode` has packed the extension.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page

from cedilla.runtime.hosts.terminal.addresses import Address, bound
from cedilla.runtime.tools.query_tests.project import create
from tests.docs.film import PATIENCE, Film
from tests.kit import ROOT
from tests.kit.browser import chromium

EXTENSION = ROOT / "build" / "cedilla.vsix"
SETTINGS = {
    "cedilla.command": str(Path(sys.executable).parent / "cedilla"),
    "editor.fontSize": 14,
    "editor.minimap.enabled": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.colorTheme": "Default Light Modern",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


@contextmanager
def served(folder: Path, project: Path) -> Iterator[str]:
    """Serves a VS Code with the extension, and with a project open; gives its address."""
    with bound(Address("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = folder / "user"
    (user / "User").mkdir(parents=True)
    (user / "User" / "settings.json").write_text(json.dumps(SETTINGS))
    own = (
        "--config",
        folder / "config.yaml",
        "--user-data-dir",
        user,
        "--extensions-dir",
        folder / "extensions",
    )
    command = [os.environ["CODE_SERVER"], *map(str, own)]
    subprocess.run([*command, "--install-extension", str(EXTENSION)], check=True)
    arguments = [
        "--auth",
        "none",
        "--disable-telemetry",
        "--disable-update-check",
        "--bind-addr",
        f"127.0.0.1:{port}",
    ]
    address, end = f"http://127.0.0.1:{port}/", time.monotonic() + PATIENCE
    with subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL) as server:
        try:
            while not answers(address):
                assert time.monotonic() < end
                time.sleep(0.2)
            yield f"{address}?folder={project}"
        finally:
            server.terminate()


def answers(address: str) -> bool:
    """Returns True as soon as a server answers."""
    try:
        return urlopen(address).status == 200
    except URLError:
        return False


def session(tab: Page, film: Film) -> None:
    """Misspells an attribute, takes the quick fix, asks about it, and looks at the rows of each step."""
    keys, errors = tab.keyboard, tab.locator(".squiggly-error")
    tab.locator(".explorer-folders-view .monaco-list-row", has_text="pumps.rq").dblclick()
    line = tab.locator(".view-line", has_text="aggregate")
    line.wait_for()
    keys.press("Control+B")
    film.until(lambda: "L" in (line.text_content() or ""), 4)  # the unit of the result, from the server
    replace(tab, film, "7:25", "litre")
    film.until(lambda: errors.count() > 0, 3)
    keys.press("Control+.")
    film.until(tab.get_by_text("Change to litres").is_visible, 4)
    keys.press("Enter")
    film.until(lambda: errors.count() == 0, 2)
    keys.press("Control+K")
    keys.press("Control+I")
    film.until(tab.get_by_text("propagates at Aggregate").first.is_visible, 6)
    keys.press("Escape")
    keys.press("F1")
    keys.type("rows of every")
    film.until(tab.locator(".quick-input-list .monaco-list-row").first.is_visible, 3)
    keys.press("Enter")
    film.until(lambda: tab.get_by_text('"litres": 120.0').count() > 0, 5)
    replace(tab, film, "6:19", "30")
    film.until(lambda: tab.get_by_text("flow, line 7: 4 in, 2 out").count() > 0, 8)


def replace(tab: Page, film: Film, old: str, text: str) -> None:
    """Replaces the word at a line and a column, letter by letter."""
    tab.keyboard.press("Control+G")
    tab.keyboard.type(old)
    tab.keyboard.press("Enter")
    tab.keyboard.press("Control+D")
    for letter in text:
        film.hold(1)
        tab.keyboard.type(letter)
    film.hold(1)


def main() -> None:
    """Films the session."""
    with tempfile.TemporaryDirectory(prefix="vscode-") as name, chromium() as browser:
        project = Path(name, "project")
        create(project)
        with served(Path(name), project) as address:
            tab = browser.new_page(viewport={"width": 1100, "height": 520})
            tab.set_default_timeout(1000 * PATIENCE)
            tab.goto(address, wait_until="commit")
            film = Film(tab)
            session(tab, film)
            film.save(ROOT / "docs" / "vscode.gif")


if __name__ == "__main__":
    main()
