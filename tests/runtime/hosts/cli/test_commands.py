"""The messages of commands about themselves: help, an overview, a near command, Ctrl-C."""

from __future__ import annotations

import click
import pytest

from cedilla.runtime.hosts.cli.main import main
from tests.kit.command import cedilla

SENSORS, WEATHER = "queries/sensors.rq", "queries/weather.rq"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_help_fits_a_terminal_and_names_the_documentation(name: str) -> None:
    shown = cedilla(name, "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "Documentation: docs/" in shown


def test_the_help_of_plan_names_the_page_that_describes_it() -> None:
    assert "Documentation: docs/tools.md" in cedilla("plan", "--help").stdout


def test_alone_it_shows_what_there_is() -> None:
    """Every command, in a group, and how to begin."""
    result = cedilla()
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "cedilla simulate QUERY" in result.stdout
    for name in main.commands:
        assert f"\n  {name} " in result.stdout
    assert "Others" not in result.stdout


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("simulat", "did you mean `simulate`?"),
        ("Explain", "did you mean `explain`?"),
        ("start", "did you mean `run`?"),
        ("version", "did you mean `--version`?"),
        ("flow.rq", "to run it: cedilla run flow.rq"),
        ("frobnicate", "`cedilla` alone lists them"),
    ],
)
def test_an_unknown_command(command: str, hint: str) -> None:
    result = cedilla(command)
    assert result.exit_code == 2
    assert result.stderr.endswith(f"there is no command `{command}`; {hint}\n")


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("--onec", "Did you mean '--once'?"),
        ("--files_per_epoch", "Did you mean '--files-per-epoch'?"),
        ("--output", "Did you mean '--sink'?"),
        ("--input", "Did you mean '--source'?"),
        ("--parallelism", "No such option '--parallelism'."),
    ],
)
def test_an_unknown_option(option: str, hint: str) -> None:
    result = cedilla("run", "q.rq", option, "1")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"{hint}\n")


def test_an_option_is_no_value_of_another_one() -> None:
    result = cedilla("run", "q.rq", "--checkpoint", "--once")
    assert result.exit_code == 2
    assert "'--checkpoint' requires an argument, found the option '--once'" in result.stderr


def test_ctrl_c_ends_every_command_with_its_own_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(main.commands, "waits", click.Command("waits", callback=interrupted))
    result = cedilla("waits")
    assert (result.exit_code, result.stderr) == (130, "stopped\n")


def test_trace_needs_no_source_where_there_is_one_stream() -> None:
    """Tables are no reason to ask; two streams are."""
    marker = '[[origin = "JFK", alter(temp, y -> y * 2)]]'
    short = cedilla("trace", WEATHER, marker)
    assert short.exit_code == 0
    assert short.stdout == cedilla("trace", WEATHER, "--on", "weather", marker).stdout
    result = cedilla("trace", SENSORS, "[ts < 5]")
    assert result.exit_code == 2
    assert "the query has the streams sensors, placement" in result.stderr
    assert "a MARKER, please" in cedilla("trace", WEATHER).stderr
