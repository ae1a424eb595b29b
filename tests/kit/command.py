"""The command line in this process, and errors by their codes."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from cedilla.runtime.hosts.cli.main import main
from tests.kit.lines import write_lines


def cedilla(*arguments: object, text: str | bytes | None = None, columns: int = 100) -> Result:
    """Runs `cedilla` with some arguments. `text`: its standard input; `columns`: the width of the terminal."""
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(
        main, [*map(str, arguments)], input=text, catch_exceptions=False, prog_name="cedilla"
    )


def marker_messages(query: Path, markers: list[str], command: str) -> str:
    """Returns the messages of a command about a stream of markers, without the places."""
    folder = write_lines(query.parent / "in" / "a.jsonl", [{"$accent": text} for text in markers]).parent
    match command:
        case "simulate":
            done = cedilla("simulate", str(query), "--source", f"pumps={folder}")
        case "validate":
            done = cedilla("validate", str(folder), "--query", str(query))
        case _:
            done = cedilla("trace", str(query), "--on", "pumps", *markers)
    assert done.exit_code == (1 if "error[" in done.output else 0), done.output
    return done.output
