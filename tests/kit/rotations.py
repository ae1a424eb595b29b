"""A folder of files that are written, rotated, renamed, copied, cut and overwritten at random."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define, field


@define(eq=False)
class Producer:
    """Writes rows with numbers of their own into files of a folder. Rows have one length, so files often have, too."""

    folder: Path
    rng: random.Random
    _next: int = 1000
    _moment: int = 0
    done: list[str] = field(factory=list[str])
    """What was done, for messages."""

    def __attrs_post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def change(self, *, rough: bool, again: bool = False) -> None:
        """Does some things between two looks. Those that are not `rough` move complete files, or change times only.
        `again`: no look has come since the last change; what was moved and has another time is known by nobody."""
        if again and self.done[-1:] == ["_touch"]:
            return
        moves: Sequence[Callable[[], None]] = (self._new, self._log, self._rename, self._swap)
        if rough:
            moves = (*moves, self._copy_truncate, self._overwrite, self._append, self._delete, self._touch)
        elif not again and self.rng.random() < 0.2:
            moves = (self._touch,)
        for _ in range(self.rng.randint(1, 4)):
            move = self.rng.choice(moves)
            self.done.append(move.__name__)
            move()

    def present(self) -> Counter[int]:
        """The numbers of the rows that are in the files now."""
        return Counter(
            json.loads(line)["k"] for file in self._files for line in file.read_text().splitlines()
        )

    @property
    def _files(self) -> list[Path]:
        return sorted(file for file in self.folder.rglob("*") if file.is_file())

    def _rows(self) -> str:
        count = self.rng.randint(1, 3)
        self._next += count
        return "".join(f'{{"k": {self._next - n}}}\n' for n in range(count))

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self._time(path)

    def _time(self, path: Path) -> None:
        self._moment += 1
        os.utime(path, (self._moment, self._moment))

    def _shift(self) -> Path:
        """Makes room for the newest of the rotated files."""
        numbered = [self.folder / f"app.{n}.jsonl" for n in range(1, 100)]
        count = next(n for n, path in enumerate(numbered) if not path.exists())
        for n in range(count - 1, -1, -1):
            numbered[n].rename(numbered[n + 1])
        return numbered[0]

    def _some(self) -> Path | None:
        return self.rng.choice(self._files) if self._files else None

    # --- what a producer may do ---

    def _new(self) -> None:
        self._write(self.folder / f"{self.rng.randrange(10**9)}.jsonl", self._rows())

    def _log(self) -> None:
        log = self.folder / "app.jsonl"
        if log.exists():
            log.rename(self._shift())
        if self.rng.random() < 0.8:
            self._write(log, self._rows())

    def _rename(self) -> None:
        if (file := self._some()) is not None:
            target = self.folder / self.rng.choice(["", "done"]) / f"{self.rng.randrange(10**9)}.jsonl"
            target.parent.mkdir(exist_ok=True)
            file.rename(target)

    def _swap(self) -> None:
        if len(self._files) > 1:
            one, other = self.rng.sample(self._files, 2)
            aside = self.folder.parent / "aside"
            one.rename(aside)
            other.rename(one)
            aside.rename(other)

    def _touch(self) -> None:
        for file in self._files:
            self._time(file)

    # --- what it should not do ---

    def _copy_truncate(self) -> None:
        log = self.folder / "app.jsonl"
        if log.exists():
            self._write(self._shift(), log.read_text())
            self._write(log, self.rng.choice(["", self._rows()]))

    def _overwrite(self) -> None:
        if (file := self._some()) is not None:
            self._write(file, self._rows())

    def _append(self) -> None:
        if (file := self._some()) is not None:
            self._write(file, file.read_text() + self._rows())

    def _delete(self) -> None:
        if (file := self._some()) is not None:
            file.unlink()


@define(eq=False)
class Reckoning:
    """Compares what was read with what was there: each row once, but for those that a message excuses."""

    producer: Producer
    due: Counter[int] = field(factory=Counter[int])
    excused: set[int] = field(factory=set[int])

    def check(self, read: Counter[int], *, is_told: bool) -> None:
        """`read`: all rows that were read so far; `is_told`: the last run has said a code."""
        self.due |= Counter(dict.fromkeys(self.producer.present(), 1))
        wrong = {key for key in {*self.due, *read} if self.due[key] != read[key]}
        if is_told:
            self.excused |= wrong
        assert wrong <= self.excused, (sorted(wrong - self.excused), self.producer.done)
