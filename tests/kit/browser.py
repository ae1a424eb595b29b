"""A headless Chromium for tests of pages: that of the machine, or the one that Playwright has installed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def find_chromium() -> str | None:
    """Returns the path of a Chromium; `None` without one, or without Playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if (own := next(filter(None, map(shutil.which, NAMES)), None)) is not None:
        return own
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing."""


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """Serves the files of a folder; gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def opened(browser: Browser, address: str, width: int = 1280, scheme: str = "light") -> Page:
    """Opens a page. An error of its script, what its policy forbids, or a request to another host, fails the test that
    looks at `page.wrong`."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page.set_default_timeout(20_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if "Policy" in message.text else None)
    page.on("request", lambda request: None if request.url.startswith(address) else wrong.append(request.url))
    page.wrong = wrong  # type: ignore[attr-defined]
    page.goto(address)
    return page
