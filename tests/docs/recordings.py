"""Films the live page through the demos, from the start of a run to a stop and its repair, on Sail.

    python -m tests.docs.recordings [weather|otel]...

writes docs/live-page-weather.gif and docs/live-page-otel.gif.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser

from cedilla.runtime.hosts.terminal.addresses import Address, bound
from tests.docs.film import Film, Terminal
from tests.kit import ROOT
from tests.kit.browser import chromium, opened

WIDTH, HEIGHT, ROWS = 1100, 640, 8


class Demo:
    """A demo in a folder of its own, whose files arrive one by one."""

    def __init__(self, folder: Path, browser: Browser, name: str, source: str) -> None:
        """`source`: the folder that the query reads, below queries/NAME/data."""
        self.name, self.source = name, f"queries/{name}/data{source}"
        query = folder / "queries" / f"{name}.rq"
        query.parent.mkdir()
        shutil.copy(ROOT / "queries" / query.name, query)
        prepare = ROOT / "queries" / name / "prepare.py"
        subprocess.run([sys.executable, prepare, f"queries/{name}/data"], cwd=folder, check=True)
        (folder / self.source).rename(folder / "sent")
        (folder / self.source).mkdir(parents=True)
        with bound(Address("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.terminal = Terminal(folder, ROWS)
        self._arguments = ("run", f"queries/{name}.rq", "--engine", "sail", "--ui", str(self._port))
        self._browser = browser

    def start(self, *more: str) -> None:
        """Starts the run, or starts it again."""
        self._run = self.terminal.start(*self._arguments, *more)

    def open(self) -> Film:
        """Opens the page as soon as the run serves it."""
        while not any("page: http" in line for line in self.terminal.lines):
            assert self._run.poll() is None, self.terminal.lines
        tab = opened(self._browser, f"http://127.0.0.1:{self._port}/", WIDTH)
        tab.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        self.film = Film(tab, self.terminal)
        return self.film

    @property
    def epoch(self) -> int:
        """The epoch that the page shows."""
        return int(self.film.tab.locator("#epoch").text_content() or -1)

    def send(self, file: str, hold: int = 1) -> None:
        """Sends a file, and films until the page shows that it was read."""
        before, left = self.epoch, self.film.shows("#left", "0 files")
        self.terminal.type(f"cp sent/{file} {self.source}/")
        self.film.until(lambda: self.epoch > before and left(), hold)

    def end(self) -> None:
        """Ends the run, and saves the film."""
        self._run.terminate()
        self._run.wait()
        self.film.save(ROOT / "docs" / f"live-page-{self.name}.gif")


def weather(folder: Path, browser: Browser) -> None:
    """Newark and La Guardia change to °C; the accent of Kennedy has a mistake, and is mended."""
    demo = Demo(folder, browser, "weather", "/weather")
    september = folder / "sent" / "2013-09.jsonl"
    september.write_text(september.read_text().replace("alter(temp,", "alter(tmep,"))
    for month in (1, 2):
        demo.terminal.type(f"cp sent/2013-0{month}.jsonl {demo.source}/")
    demo.start()
    film = demo.open()
    film.until(film.shows("#epoch", "0"), 2)
    for month in range(3, 9):
        demo.send(f"2013-{month:02}.jsonl", 3 if month in (4, 6) else 1)
    demo.terminal.type(f"cp sent/2013-09.jsonl {demo.source}/")
    film.until(film.shows("#stop", "tmep"), 9)
    demo.terminal.type(f"sed -i s/tmep/temp/ {demo.source}/2013-09.jsonl")
    film.hold(3)
    before = demo.epoch
    demo.start()
    film.until(film.shows("#alive", "running"), 1)
    film.until(lambda: demo.epoch > before, 5)
    demo.send("2013-10.jsonl", 4)
    film.tab.locator("#output").scroll_into_view_if_needed()
    film.hold(6)
    demo.end()


def in_microseconds(line: str) -> str:
    """Returns a line of telemetry in which `cart-0` reports µs."""
    request = json.loads(line)
    for resource in request["resourceMetrics"]:
        names = {attribute["value"]["stringValue"] for attribute in resource["resource"]["attributes"]}
        (latency, _) = resource["scopeMetrics"][0]["metrics"]
        if "cart-0" in names:
            latency["unit"] = "us"
            latency["histogram"]["dataPoints"][0]["sum"] *= 10**6
    return json.dumps(request) + "\n"


def otel(folder: Path, browser: Browser) -> None:
    """Instances change from ms to s; from 0:40 on `cart-0` sends µs, which the query does not name.

    The run ends, as it was told; the next one sets those points aside.
    """
    demo = Demo(folder, browser, "otel", "")
    for path in sorted((folder / "sent").glob("*.jsonl"))[4:-1]:
        path.write_text("".join(in_microseconds(line) for line in path.read_text().splitlines()))
    demo.terminal.type(f"cp sent/metrics-00.jsonl {demo.source}/")
    demo.start("--set", "invalid=abort")
    film = demo.open()
    film.until(film.shows("#epoch", "0"), 2)
    for number in range(1, 4):
        demo.send(f"metrics-{number:02}.jsonl", 2)
    demo.terminal.type(f"cp sent/metrics-04.jsonl {demo.source}/")
    film.until(lambda: film.tab.locator("#stop").is_visible(), 9)
    before = demo.epoch
    demo.start()
    film.until(film.shows("#alive", "running"), 1)
    film.until(lambda: demo.epoch > before, 2)
    film.tab.locator("#quarantine").scroll_into_view_if_needed()
    film.hold(5)
    for number in range(5, 8):
        demo.send(f"metrics-{number:02}.jsonl", 2)
    film.tab.locator("#output").scroll_into_view_if_needed()
    film.hold(6)
    demo.end()


DEMOS: dict[str, Callable[[Path, Browser], None]] = {"weather": weather, "otel": otel}


def main(*names: str) -> None:
    """Films demos by their names; all without one."""
    for name in names or DEMOS:
        with tempfile.TemporaryDirectory(prefix="demo-") as folder, chromium() as browser:
            DEMOS[name](Path(folder), browser)


if __name__ == "__main__":
    main(*sys.argv[1:])
