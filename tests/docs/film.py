"""Films of a page in Chromium, with the terminal of the commands below it: an animated GIF of real frames.

A frame is taken every half second, and shown a little shorter. Equal frames become one, and a long wait is cut.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import matplotlib
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page as Tab

EVERY = 0.5
"""Seconds between two frames."""
SHOWN = 0.4
"""Seconds that a frame is shown."""
LONGEST_WAIT = 3
"""Frames of a wait; the rest of it is cut."""
PATIENCE = 180
"""Seconds after which an awaited change of the page counts as missing."""
COLOURS = 64
_FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"
_SIZE, _LINE, _PROMPT, _TEXT, _GROUND = 12, 17, "#7fd3a8", "#d9dee2", "#1c2227"


class Terminal:
    """The lines of commands that are typed in a folder. A command may go on in the background."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows = folder, rows
        self.lines: list[str] = []

    def type(self, command: str) -> None:
        """Runs a command to its end. Raises `CalledProcessError` where it fails."""
        self.lines.append(f"$ {command}")
        subprocess.run(["bash", "-c", command], cwd=self.folder, check=True)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts `cedilla` with some arguments; its messages become lines."""
        self.lines.append(f"$ cedilla {' '.join(arguments)}")
        command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", *arguments]
        process = subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        Thread(target=lambda: self.lines.extend(map(str.rstrip, process.stderr or ())), daemon=True).start()
        return process

    def picture(self, width: int) -> Image.Image:
        """Returns the last lines as a picture."""
        picture = Image.new("RGB", (width, self.rows * _LINE + 12), _GROUND)
        draw, font = ImageDraw.Draw(picture), ImageFont.truetype(_FONT, _SIZE)
        most = int((width - 20) / font.getlength("x"))
        for row, line in enumerate(self.lines[-self.rows :]):
            shown = line if len(line) <= most else line[: most - 1] + "…"
            colour = _PROMPT if line.startswith("$") else _TEXT
            draw.text((10, 6 + row * _LINE), shown, colour, font)
        return picture


class Film:
    """Frames of a tab, above a terminal where there is one."""

    def __init__(self, tab: Tab, terminal: Terminal | None = None) -> None:
        self.tab, self.terminal = tab, terminal
        self._frames: list[Image.Image] = []
        self._repeats: list[int] = []

    def hold(self, frames: int) -> None:
        """Takes some frames."""
        for _ in range(frames):
            self._take()

    def until(self, has_come: Callable[[], bool], hold: int) -> None:
        """Films until something has come, and some frames more. Raises `TimeoutError` if it does not come."""
        end, wait = time.monotonic() + PATIENCE, 0
        while not has_come():
            if time.monotonic() > end:
                raise TimeoutError("\n".join(self.terminal.lines if self.terminal else []))
            if wait < LONGEST_WAIT:
                self._take()
                wait += 1
            self.tab.wait_for_timeout(50)
        self.hold(hold)

    def shows(self, selector: str, text: str) -> Callable[[], bool]:
        """Returns a question: does an element of the page contain a text?"""
        return lambda: text in (self.tab.locator(selector).text_content() or "")

    def save(self, path: Path) -> None:
        """Writes the film with one palette, so that frames differ only where the page does."""
        shown = self._frames[:: max(1, len(self._frames) // 8)]
        strip = Image.new("RGB", (shown[0].width, sum(frame.height for frame in shown)))
        for number, frame in enumerate(shown):
            strip.paste(frame, (0, number * frame.height))
        palette = strip.quantize(COLOURS)
        first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self._frames)
        milliseconds = [int(1000 * SHOWN * repeats) for repeats in self._repeats]
        first.save(
            path, save_all=True, append_images=rest, duration=milliseconds, loop=0, optimize=True, disposal=1
        )
        print(
            f"{path.name}: {len(self._frames)} frames, {sum(milliseconds) / 1000:.1f} s, {path.stat().st_size} bytes"
        )

    def _take(self) -> None:
        begin = time.monotonic()
        frame = Image.open(io.BytesIO(self.tab.screenshot())).convert("RGB")
        if self.terminal is not None:
            below = self.terminal.picture(frame.width)
            whole = Image.new("RGB", (frame.width, frame.height + below.height))
            whole.paste(frame, (0, 0))
            whole.paste(below, (0, frame.height))
            frame = whole
        if self._frames and frame.tobytes() == self._frames[-1].tobytes():
            self._repeats[-1] += 1
        else:
            self._frames.append(frame)
            self._repeats.append(1)
        self.tab.wait_for_timeout(1000 * max(0, EVERY - (time.monotonic() - begin)))
