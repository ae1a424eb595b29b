"""The messages of commands about themselves: help, an overview, a near command, Ctrl-C."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from cedilla.runtime.hosts.cli.main import main
from cedilla.runtime.hosts.cli.pages import text_of
from cedilla.runtime.hosts.terminal import program
from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.lines import write_lines

SENSORS, WEATHER = "queries/sensors.rq", "queries/weather.rq"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_help_fits_a_terminal_and_names_the_documentation(name: str) -> None:
    shown = cedilla(name, "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    (page,) = re.findall(r"Documentation: cedilla docs (\S+)", shown)
    assert text_of(page).startswith("# ")


def test_the_help_of_plan_names_the_page_that_describes_it() -> None:
    assert "Documentation: cedilla docs tools" in cedilla("plan", "--help").stdout


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
    assert result.stderr.endswith(f"unknown command `{command}`; {hint}\n")


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


def test_no_line_of_the_overview_is_cut() -> None:
    shown = cedilla(columns=80).stdout.partition("Run a query:")[2]
    assert "..." not in shown
    for command in main.commands.values():
        assert f"  {command.short_help}\n" in shown


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option: str) -> None:
    assert re.fullmatch(r"cedilla \S+\n", cedilla(option).stdout)


def test_quiet_leaves_remarks_out_for_one_command(tmp_path: Path) -> None:
    write_lines(tmp_path / "in" / "1.jsonl", [{"a": 1}, {"a": "x"}])
    (tmp_path / "q.rq").write_text(f'stream r(a: int) from json "{tmp_path}/in"; emit r to json "out";')
    arguments = ("simulate", tmp_path / "q.rq")
    loud, quiet, again = cedilla(*arguments), cedilla("-q", *arguments), cedilla(*arguments)
    assert "rejected (RQ301)" in loud.stderr
    assert (quiet.stdout, quiet.stderr) == ('{"a": 1}\n', "")
    assert again.stderr == loud.stderr


def test_check_takes_many_queries(tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text('stream r(a: int) from json "in"; emit x to json "out";')
    done = cedilla("check", SENSORS, tmp_path / "q.rq", WEATHER)
    assert done.exit_code == 1
    assert f"{SENSORS}: no errors or warnings\nerror[" in done.stdout
    assert done.stdout.endswith(f"{WEATHER}: no errors or warnings\n")
    assert cedilla("check", SENSORS, WEATHER).exit_code == 0
    diagnostics = json.loads(cedilla("check", SENSORS, tmp_path / "q.rq", "--format", "json").stdout)[
        "diagnostics"
    ]
    assert [diagnostic["severity"] for diagnostic in diagnostics] == ["error"]
    assert cedilla("check").exit_code == 2


def test_fmt_shows_what_it_would_change(tmp_path: Path) -> None:
    text = 'stream r(a:int) from json "in";\n\nemit r to json "out";\n'
    query = tmp_path / "q.rq"
    query.write_text(text)
    shown = cedilla("fmt", "--diff", query)
    assert (shown.exit_code, query.read_text()) == (0, text)
    assert '-stream r(a:int) from json "in";\n+stream r(a: int) from json "in";\n' in shown.stdout
    assert cedilla("fmt", "--check", "--diff", query).stdout == shown.stdout
    assert cedilla("fmt", "--check", "--diff", query).exit_code == 1
    assert cedilla("fmt", query).exit_code == 0
    assert cedilla("fmt", "--check", "--diff", query).output == ""


def test_the_hooks_of_pre_commit_call_commands_that_there_are() -> None:
    hooks = re.findall(
        r"^  entry: cedilla (\S+)(.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE
    )
    assert [name for name, _ in hooks] == ["fmt", "check", "test"]
    for name, options in hooks:
        (argument,) = (p for p in main.commands[name].params if isinstance(p, click.Argument))
        assert argument.nargs == -1
        assert set(options.split()) <= {option for p in main.commands[name].params for option in p.opts}


def test_lines_of_trace_fit() -> None:
    done = cedilla("trace", SENSORS, "--on", "sensors", "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert len(done.stdout.splitlines()) > 4


def test_a_run_that_finds_nothing_new_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "q.rq").write_text('stream r(a: int) from json "in"; emit r to json "out";')
    monkeypatch.setattr(program, "start", lambda *arguments, **more: None)
    assert "nothing new: all that is there was read before" in cedilla("run", "q.rq", "--once").stderr
    assert "nothing new" not in cedilla("-q", "run", "q.rq", "--once").stderr
