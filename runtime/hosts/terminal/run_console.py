"""The console of a run: lines with the time of day or a JSON log, and the hooks of warnings and of its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import asdict

from cedilla.grammar.diagnostics import Diagnostic, DiagnosticError, render
from cedilla.grammar.diagnostics.printable import for_people, json_printable, without_secrets
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.hosts.terminal.console import USAGE, Console, epoch_line, write
from cedilla.runtime.hosts.terminal.hooks import Hooks

_LEVELS = {"error": "error", "warning": "warning", "note": "info"}


class RunConsole(Console):
    """Writes the messages of a run to standard error.

    `form`: text, where messages begin with the time of day; or json, with one object a line. `hooks`: the commands
    that get warnings, and the error that ends the run. `about`: further members of each object.
    """

    def __init__(
        self,
        form: str = "text",
        hooks: Iterable[tuple[str, str]] = (),
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self._as_json = form == "json"
        self._about = dict(about or {})
        self._hooks = Hooks(tuple(hooks), self._hook_failed)

    def note(self, text: str) -> None:
        """Writes a remark."""
        if self.is_quiet:
            return
        if self._as_json:
            self._log(self._entry("info", None, text))
        else:
            self._styled(f"{_time_of_day()} {text}", "dim")

    def address(self, text: str) -> None:
        """Writes an address of the page or of metrics, with its token where people read it."""
        if self._as_json:
            self.note(text)
        else:
            write(sys.stderr, f"{_time_of_day()} {text}")

    def diagnostics(self, items: Iterable[Diagnostic], texts: Mapping[str, str]) -> None:
        """Writes diagnostics, and hands the warnings to hooks. `texts`: source name -> text."""
        for item in items:
            entry = self._of_diagnostic(item)
            if self._as_json:
                self._log(entry)
            else:
                super().diagnostics([item], texts)
            if item.severity == "warning":
                self._hooks.fire("warning", entry)

    def failed(self, error: DiagnosticError, texts: Mapping[str, str]) -> int:
        """Writes the error that ends the run, waits for hooks, and returns the exit status."""
        self.diagnostics(error.diagnostics, texts)
        if all(diagnostic.code in USAGE for diagnostic in error.diagnostics):
            return 2
        first = next(
            (diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"),
            error.diagnostics[0],
        )
        self._hooks.fire("stop", self._of_diagnostic(first))
        self.close()
        return 1

    def crashed(self, problem: Exception) -> None:
        """Writes an error that has no code, and waits for hooks. The caller raises it again."""
        entry = self._entry("error", None, f"{type(problem).__name__}: {problem}")
        if self._as_json:
            self._log(entry)
        self._hooks.fire("stop", entry)
        self.close()

    def text_of(self, item: Diagnostic) -> str:
        """Returns a diagnostic as `diagnostics` writes it, without colours."""
        if self._as_json:
            return json_printable(json.dumps(self._of_diagnostic(item)))
        return for_people(render([item], {}))

    def epoch(self, report: EpochReport) -> None:
        """Writes one line about an epoch, and its warnings."""
        if not self._as_json:
            super().epoch(report)
            return
        values = {
            **asdict(report, filter=lambda a, _: a.name not in ("number", "warnings", "waiting", "phases")),
            "phases": {name: round(seconds, 6) for name, seconds in report.phases.items()},
            "waiting": [rows.text() for rows in report.waiting],
        }
        if not self.is_quiet:
            self._log(self._entry("info", None, epoch_line(report), epoch=report.number, **values))
        self._warnings(report)

    def close(self) -> None:
        """Waits for the hooks."""
        self._hooks.drain()

    def _line(self, report: EpochReport) -> str:
        return f"{_time_of_day()} {epoch_line(report)}"

    def _of_diagnostic(self, item: Diagnostic) -> dict[str, Any]:
        position = None if item.span is None else str(item.span)
        more = {"place": position, "notes": list(item.notes), "help": item.help}
        return self._entry(_LEVELS[item.severity], item.code, item.message, **more)

    def _entry(self, level: str, code: str | None, message: str, **more: Any) -> dict[str, Any]:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {"time": time, "level": level, "code": code, "message": message, **self._about, **more}
        return {key: _without_secrets(value) for key, value in entry.items()}

    def _log(self, entry: Mapping[str, Any]) -> None:
        write(sys.stderr, json_printable(json.dumps(entry)))

    def _hook_failed(self, text: str) -> None:
        help_ = "the run continues; the command gets one JSON object on standard input, and has a minute"
        failure = Diagnostic("RQ493", "warning", f"a hook of --on failed: {for_people(text)}", help=help_)
        if self._as_json:
            self._log(self._of_diagnostic(failure))
        else:
            super().diagnostics([failure], {})


def _without_secrets(value: Any) -> Any:
    """Returns a value of JSON without the secrets of addresses in its texts."""
    match value:
        case str():
            return without_secrets(value)
        case list() | tuple():
            return [_without_secrets(inner) for inner in value]  # type: ignore[reportUnknownVariableType]
        case dict():
            return {_without_secrets(key): _without_secrets(inner) for key, inner in value.items()}  # type: ignore[reportUnknownVariableType]
        case _:
            return value


def _time_of_day() -> str:
    return f"{datetime.now():%H:%M:%S}"
