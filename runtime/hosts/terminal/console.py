"""Writes to the terminal. Only this module uses rich, and only on a terminal.

Control signs of streams and queries are written as escapes, and secrets of addresses as `***`.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, TextIO

import click

from cedilla.compiler.explain.wrapping import WIDTH
from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render
from cedilla.grammar.diagnostics.printable import counted, for_people, json_printable
from cedilla.runtime.epochs.pipeline.report import MAX_WARNINGS, EpochReport

if TYPE_CHECKING:
    from cedilla.runtime.epochs.checkpoint.edits.change import Changes

USAGE = ("RQ135", "RQ136", "RQ477")
"""Errors of the command line, not of the query."""
_STYLE = re.compile("(\x1b\\[[012]m)")
"""The codes that make text of `explain` bold or dim."""
_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}


class Console:
    """Writes results to standard output, and progress and diagnostics to standard error.

    On a terminal they are coloured, elsewhere plain. `NO_COLOR` in the environment switches colours off. `is_quiet`:
    leaves progress and remarks out (`-q`).
    """

    is_quiet: ClassVar[bool] = False

    @property
    def color(self) -> bool:
        """True if results may be coloured."""
        return _colors(sys.stdout)

    @property
    def width(self) -> int:
        """The width of result lines: COLUMNS, else that of the terminal, else 100."""
        return shutil.get_terminal_size((WIDTH, 24)).columns

    @property
    def clears(self) -> bool:
        """True if results go to a terminal, which can be cleared."""
        return sys.stdout.isatty()

    def out(self, text: str, *, painted: bool = False) -> None:
        """Writes a result for people to standard output. `painted`: `explain` has made some of it bold or dim."""
        parts = _STYLE.split(text) if painted else [text]
        write(
            sys.stdout,
            "".join(part if _STYLE.match(part) and painted else for_people(part) for part in parts),
        )

    def data(self, text: str) -> None:
        """Writes rows to standard output, without omissions; control characters become JSON escapes."""
        write(sys.stdout, json_printable(text))

    def page(self, markdown: str) -> None:
        """Writes a page to standard output: through a pager on a terminal, elsewhere unchanged."""
        if not sys.stdout.isatty():
            write(sys.stdout, markdown)
            return
        from rich.console import Console as Rich
        from rich.markdown import Markdown

        rich = Rich(width=min(self.width, WIDTH), no_color=not self.color, force_terminal=self.color)
        with rich.capture() as captured:
            rich.print(Markdown(markdown, hyperlinks=False))
        click.echo_via_pager(captured.get(), color=self.color)

    def note(self, text: str) -> None:
        """Writes a remark to standard error."""
        if not self.is_quiet:
            self._styled(text, "dim")

    def diagnostics(self, items: Iterable[Diagnostic], texts: Mapping[str, str]) -> None:
        """Writes diagnostics to standard error. `texts`: source name -> text, to show their positions."""
        for number, item in enumerate(items):
            head, *rest = render([item], texts).splitlines()
            if number:
                write(sys.stderr, "")
            self._styled(head, _STYLES[item.severity])
            if rest:
                write(sys.stderr, for_people("\n".join(rest)))

    def failed(self, error: DiagnosticError, texts: Mapping[str, str]) -> int:
        """Writes the error that ended the work and returns the exit status: 1, or 2 for wrong options."""
        self.diagnostics(error.diagnostics, texts)
        return 2 if all(diagnostic.code in USAGE for diagnostic in error.diagnostics) else 1

    @property
    def can_ask(self) -> bool:
        """True if a person at a terminal can answer."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> bool:
        """Returns the answer of the user at the terminal."""
        return click.confirm(for_people(question), err=True)

    def consent(self, changes: Changes) -> bool:
        """Asks the user at the terminal if an edited query may continue; returns False without a terminal."""
        if not self.can_ask:
            return False
        from cedilla.runtime.epochs.checkpoint.edits.plan_changes import change_lines

        self.note("the query was edited since the last epoch:")
        for line in change_lines(changes, "at once"):
            self.note(f"  {line}")
        return self.ask("continue with the edited query?")

    def epoch(self, report: EpochReport) -> None:
        """Writes one line about an epoch, and its warnings, to standard error. Shows at most ten warnings of a code
        that may occur for each member of a fleet."""
        style = "yellow" if report.quarantined or report.warnings else "default"
        if not self.is_quiet:
            self._styled(self._line(report), style)
        self._warnings(report)

    def _line(self, report: EpochReport) -> str:
        return epoch_line(report)

    def _warnings(self, report: EpochReport) -> None:
        shown, left = _without_many(report.warnings)
        self.diagnostics(shown, {})
        for code, count in left.items():
            self.note(f"and {counted(count, 'warning')} {code} more")

    def _styled(self, text: str, style: str) -> None:
        text = for_people(text)
        if not _colors(sys.stderr):
            write(sys.stderr, text)
            return
        from rich.console import Console as Rich

        Rich(file=sys.stderr).print(
            text, style=style, markup=False, emoji=False, highlight=False, soft_wrap=True
        )


_FREQUENT = ("RQ218", "RQ223", "RQ229", "RQ230", "RQ232", "RQ235", "RQ320")
"""Warnings that may occur for each member of a fleet, or each file."""


def _without_many(warnings: Iterable[Diagnostic]) -> tuple[list[Diagnostic], dict[str, int]]:
    """Returns the warnings to show, at most ten for each code in `_FREQUENT`, and the number of others by code."""
    shown: list[Diagnostic] = []
    left: dict[str, int] = {}
    for warning in warnings:
        if (
            warning.code in _FREQUENT
            and sum(warning_shown.code == warning.code for warning_shown in shown) == MAX_WARNINGS
        ):
            left[warning.code] = left.get(warning.code, 0) + 1
        else:
            shown.append(warning)
    return shown, left


def epoch_line(report: EpochReport) -> str:
    """Returns `epoch 7 · 12,000 tuples in, 40 out · 0.3 s, 40,000/s · 2 accents in force`, followed by other facts."""
    on = "" if report.engine == "spark" else f" on {report.engine}"
    parts = [f"epoch {report.number}{on}", _flow(report), _pace(report)]
    if report.files_left:
        parts.append(f"{counted(report.files_left, 'file')} left")
    if report.accents:
        parts.append(f"{counted(report.accents, 'accent')} read")
    parts.append(f"{counted(report.in_force, 'accent')} in force")
    if report.punctuations:
        parts.append(counted(report.punctuations, "punctuation"))
    if report.quarantined:
        codes = ", ".join(f"{code}: {count:,}" for code, count in sorted(report.quarantined.items()))
        parts.append(f"{sum(report.quarantined.values()):,} quarantined ({codes})")
    if report.held:
        parts.append(f"held: {'; '.join(report.held)}")
    parts += [waiting.text() if waiting.missing else f"{waiting.short()} open" for waiting in report.waiting]
    if warnings := sum(warning.severity == "warning" for warning in report.warnings):
        parts.append(counted(warnings, "warning"))
    parts += report.notes
    return " · ".join(parts)


def _flow(report: EpochReport) -> str:
    out = f", {sum(report.written.values()):,} out" if report.written else ""
    return f"{counted(report.tuples, 'tuple')} in{out}"


_MIN_TUPLES_FOR_RATE = 100
"""Minimum number of tuples in an epoch to show the rate of tuples."""


def _pace(report: EpochReport) -> str:
    """Returns the duration of the epoch and the rate in that time: of tuples, or of epochs if there are few tuples.

    Two epochs in flight end one after the other, so the time between their ends says nothing about either.
    """
    if report.seconds <= 0:
        return "0.0 s"
    took = f"{report.seconds:.1f} s"
    if report.tuples >= _MIN_TUPLES_FOR_RATE:
        return f"{took}, {report.tuples / report.seconds:,.0f}/s"
    return took if report.seconds > 1 else f"{took}, {1 / report.seconds:.1f} epochs/s"


def _colors(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(stream: TextIO, text: str) -> None:
    """Writes a line to a stream, with codes for characters that its encoding lacks."""
    encoding = stream.encoding or "utf-8"
    # The encodings of some terminals lack the tree's lines and Greek letters, which then appear as codes.
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
