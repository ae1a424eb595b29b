"""The commands, without Spark: what they write, where they write it, and how they exit."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cedilla.compiler.compile import compile_query
from cedilla.runtime.epochs.options.options import Options, apply
from cedilla.runtime.epochs.pipeline.report import EpochReport
from cedilla.runtime.hosts.terminal.command_options import run_options
from cedilla.runtime.hosts.terminal.console import epoch_line
from tests.kit import ROOT
from tests.kit.command import cedilla
from tests.kit.tiers import tiered

SENSORS = "queries/sensors.rq"
GOOD = 'stream r(ts: long, t: double) from json "r";\nemit r to json "out";\n'
WARNED = 'stream r(a: int) from json "r";\nemit project[a, later](r) to json "out";\n'
WRONG = 'stream r(a: int) from json "r";\nemit select[b > 1](r) to json "out";\n'

Call = Callable[..., Result]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    """`cedilla` with arguments, in the repository's root."""
    monkeypatch.chdir(ROOT)

    return cedilla


# --- check ---


def test_check_of_a_good_query(call: Call) -> None:
    result = call("check", SENSORS)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{SENSORS}: no errors or warnings\n"


def test_check_shows_errors_and_exits_with_1(call: Call) -> None:
    result = call("check", "-", text=WRONG)
    assert result.exit_code == 1
    assert result.stdout.startswith("error[RQ102]: unknown attribute `b`\n --> <stdin>:2:13\n")


def test_check_shows_warnings_and_exits_with_0(call: Call) -> None:
    result = call("check", "-", text=WARNED)
    assert result.exit_code == 0
    assert result.stdout.startswith("warning[RQ106]")


@pytest.mark.parametrize(
    ("text", "codes", "status"), [(GOOD, [], 0), (WARNED, ["RQ106"], 0), (WRONG, ["RQ102"], 1)]
)
def test_check_as_json(call: Call, text: str, codes: list[str], status: int) -> None:
    result = call("check", "-", "--format", "json", text=text)
    answer = json.loads(result.stdout)
    assert answer["version"] == 1
    assert [diagnostic["code"] for diagnostic in answer["diagnostics"]] == codes
    assert result.exit_code == status


@pytest.mark.parametrize("command", ["check", "explain", "compile", "run"])
def test_a_query_that_cannot_be_read(call: Call, command: str, tmp_path: Path) -> None:
    (tmp_path / "latin.rq").write_bytes("# Grüße".encode("latin-1"))
    for query in ("missing.rq", str(tmp_path), str(tmp_path / "latin.rq")):
        result = call(command, query)
        assert result.exit_code == 1
        assert f"error[RQ400]: {query} cannot be read" in result.output


def test_a_query_that_is_not_there_has_a_near_one_beside_it(call: Call, tmp_path: Path) -> None:
    (tmp_path / "pumps.rq").write_text(GOOD)
    assert f"did you mean `{tmp_path / 'pumps.rq'}`?" in call("check", str(tmp_path / "pump.rq")).output
    assert "queries there: " in call("check", str(tmp_path)).output


def test_a_byte_order_mark_is_no_part_of_a_query(call: Call) -> None:
    assert call("check", "-", text=b"\xef\xbb\xbf" + GOOD.encode()).exit_code == 0


# --- explain ---


def test_explain_shows_the_tree(call: Call) -> None:
    result = call("explain", SENSORS)
    assert result.exit_code == 0
    assert "└─ Aggregate average" in result.stdout
    assert "\x1b" not in result.stdout


def test_explain_ends_with_warnings(call: Call) -> None:
    result = call("explain", "-", text=WARNED)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 | emit project[a, later](r)" in result.stdout


def test_explain_of_a_wrong_query(call: Call) -> None:
    result = call("explain", "-", text=WRONG)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error[RQ102]")


def test_explain_as_json(call: Call) -> None:
    plan = json.loads(call("explain", SENSORS, "--format", "json").stdout)
    assert plan["version"] == 2
    assert [source["name"] for source in plan["sources"]] == ["sensors", "placement"]
    join, window, aggregate = plan["operators"]
    assert (join["operator"], join["stateful"], join["line"]) == ("Join", True, 8)
    assert window["invariants"]["purges"] == "stateless"
    assert aggregate["signature"] == {"foundation": ["l", "wid"], "merge": [], "accumulate": ["ts", "s", "t"]}
    reactions = {(reaction["input"], reaction["attribute"]): reaction for reaction in join["reactions"]}
    assert reactions["sensors", "s"]["drop"] == {"kind": "aborts", "rule": "J3", "passes": []}
    assert reactions["placement", "*"]["add"] == {"kind": "propagates", "rule": "J2", "passes": ["*"]}
    assert plan["emits"][0]["path"] == "out/average"
    assert plan["settings"]["accents"] == "accumulate"


# --- compile ---


def test_compile_writes_the_program(call: Call, tmp_path: Path) -> None:
    shown = call("compile", SENSORS)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "# queries/sensors.rq:9" in shown.stdout
    file = tmp_path / "sensors.py"
    assert call("compile", SENSORS, "-o", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8") == shown.stdout


@pytest.mark.parametrize(("before", "after"), tiered([('"t > 9.0D"', '"t > 8.0D"'), ("[t > 9]", "[t > 8]")]))
def test_a_program_of_which_one_half_was_edited_is_refused(
    call: Call, tmp_path: Path, before: str, after: str
) -> None:
    """Its data would be selected by one predicate, and what it promises be said of another (RQ415)."""
    query, file = tmp_path / "q.rq", tmp_path / "q.py"
    query.write_text(
        'stream r(t: double) from json "r" punctuated on t;\nhot := select[t > 9](r);\nemit hot to json "out";\n',
        encoding="utf-8",
    )
    assert call("compile", str(query), "-o", str(file)).exit_code == 0
    program = file.read_text(encoding="utf-8")
    assert program.count(before) == 1
    file.write_text(program.replace(before, after), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file), "--once"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "error[RQ415]: `hot` is `r.where('t > " in done.stderr


@pytest.mark.rest
def test_a_program_whose_query_was_edited_names_the_argument_and_the_text_that_does_it(
    call: Call, tmp_path: Path
) -> None:
    query, file = tmp_path / "q.rq", tmp_path / "q.py"
    query.write_text(
        'stream r(k: long, t: double) from json "r" punctuated on k;\n'
        '# three quotes, """, and a backslash, \\\n'
        'some := aggregate[sum(t) as t by k](r);\nemit some to json "out";  # "',
        encoding="utf-8",
    )
    assert call("compile", str(query), "-o", str(file)).exit_code == 0
    program = file.read_text(encoding="utf-8")
    (tmp_path / "r").mkdir()
    lines = ('{"k": 1, "t": 2.0}', '{"k": 1, "t": 3.0}', '{"$punctuation": "[]"}')
    (tmp_path / "r" / "1.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, str(file), "--once", "--engine", "sail"]
    file.write_text(program.replace('F.sum("t")', 'F.max("t")'), encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RQ415]: `t` of `some` is F.max('t') in this program, and F.sum('t') in its query" in done.stderr
    assert "`aggregate[max(t) as t by k](r)` in the `.rq` file" in done.stderr
    both = program.replace('F.sum("t")', 'F.max("t")').replace("sum(t)", "max(t)")
    file.write_text(both, encoding="utf-8")
    subprocess.run(command, cwd=tmp_path, check=True)
    texts = [path.read_text("utf-8") for path in tmp_path.glob("out/**/*tuples*")]
    assert [json.loads(line) for text in texts for line in text.splitlines()] == [{"k": 1, "t": 3.0}]


def test_compile_of_a_wrong_query_leaves_the_file_alone(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "old.py"
    file.write_text("old", encoding="utf-8")
    assert call("compile", "-", "-o", str(file), text=WRONG).exit_code == 1
    assert file.read_text(encoding="utf-8") == "old"


def test_warnings_of_compile_go_to_standard_error(call: Call) -> None:
    result = call("compile", "-", text=WARNED)
    assert result.exit_code == 0
    assert "RQ106" in result.stderr
    assert "RQ106" not in result.stdout


# --- options of run ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "late=never"], "unknown value of `late`"),
        (["--set", "colour=red"], "unknown setting `colour`"),
        (["--set", "late"], "not of the form NAME=VALUE"),
        (["--source", "sensors"], "not of the form NAME=PATH"),
        (["--source", "sensors=a", "--source", "sensors=b"], "given twice"),
        (["--source", "average=a"], "the query has no `average`; it has sensors, placement"),
        (["--sink", "sensors=a"], "the query has no `sensors`; it has average"),
        (["--files-per-epoch", "0"], "--files-per-epoch"),
        (["--interval", "-1"], "--interval"),
        (["--interval", "nan"], "--interval"),
        (["--format", "json"], "No such option"),
    ],
)
def test_usage_errors_exit_with_2(call: Call, arguments: list[str], message: str) -> None:
    result = call("run", SENSORS, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_run_of_a_wrong_query_starts_nothing(call: Call) -> None:
    result = call("run", "-", text=WRONG)
    assert result.exit_code == 1
    assert result.stderr.startswith("error[RQ102]")


def test_options_reach_the_command() -> None:
    collected: list[Options] = []

    @click.command()
    @run_options
    def command(options: Options) -> None:
        collected.append(options)

    arguments = (
        "--once --checkpoint c --source a=x=y --sink b=z --files-per-epoch 2 --interval 0.5 --master local[1]"
    )
    settings = "--set late=abort --set drop=eager --conf spark.a=1"
    runner = CliRunner()
    assert runner.invoke(command, f"{arguments} {settings}").exit_code == 0
    assert runner.invoke(command, "").exit_code == 0
    assert collected == [
        Options(
            once=True,
            checkpoint="c",
            sources={"a": "x=y"},
            sinks={"b": "z"},
            files_per_epoch=2,
            interval=0.5,
            master="local[1]",
            settings={"late": "abort", "drop": "eager"},
            conf={"spark.a": "1"},
        ),
        Options(),
    ]


def test_options_change_paths_and_settings_of_a_plan() -> None:
    text = "set late = abort;\nset drop = eager;\n" + GOOD + 'emit r to json "again";\n'
    plan = compile_query(text).plan
    changed = apply(plan, Options(sources={"r": "in"}, sinks={"r_2": "there"}, settings={"late": "ignore"}))
    assert [source.path for source in changed.sources] == ["in"]
    assert [emit.path for emit in changed.emits] == ["out", "there"]
    assert (changed.settings["late"], changed.settings["drop"]) == ("ignore", "eager")
    assert changed.operators == plan.operators


# --- the command as a whole ---


def test_version_and_help(call: Call) -> None:
    assert call("--version").stdout.startswith("cedilla ")
    for arguments in ([], ["run"], ["compile"], ["explain"], ["check"]):
        result = call(*arguments, "--help")
        assert result.exit_code == 0
        assert result.stdout.startswith("Usage:")


def test_output_survives_a_terminal_without_unicode() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "explain", SENSORS],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"\\u2514\\u2500 Aggregate" in done.stdout


@pytest.mark.rest
@pytest.mark.parametrize("compiled", tiered([False, True]), ids=["command", "program"])
def test_a_run_whose_caller_has_closed_its_streams(call: Call, here: Path, compiled: bool) -> None:
    """Standard error was `None`, and a run ended at its first message."""
    (here / "q.rq").write_text('stream r(t: long) from json "r"; emit r to json "out";')
    (here / "r").mkdir()
    (here / "r" / "1.jsonl").write_text('{"t": 1}\n')
    assert call("compile", "q.rq", "-o", "q.py").exit_code == 0
    program = ["q.py"] if compiled else ["-m", "cedilla.runtime.hosts.cli.main", "run", "q.rq"]
    command = shlex.join([sys.executable, *program, "--once", "--engine", "sail"])
    subprocess.run(["sh", "-c", f"exec {command} <&- >&- 2>&-"], check=True)
    assert call("read", "out").stdout == '{"t": 1}\n'


# --- what a run says ---


def test_line_of_an_epoch() -> None:
    quiet = EpochReport(number=1, tuples=1, seconds=0.5)
    assert epoch_line(quiet) == "epoch 1 · 1 tuple in · 0.5 s, 2.0 epochs/s · 0 accents in force"
    quick = EpochReport(number=2, tuples=0, seconds=0.25, written={"a": 0, "b": 2}, files_left=3)
    assert epoch_line(quick) == (
        "epoch 2 · 0 tuples in, 2 out · 0.2 s, 4.0 epochs/s · 3 files left · 0 accents in force"
    )
    slow = EpochReport(number=3, tuples=9, seconds=12.0)
    assert epoch_line(slow) == "epoch 3 · 9 tuples in · 12.0 s · 0 accents in force"
    report = EpochReport(
        number=12,
        tuples=26115,
        seconds=0.5,
        accents=1,
        punctuations=3,
        in_force=2,
        quarantined={"RQ305": 2, "RQ301": 1000},
        held=("-(gust) at daily: state has it", "alter(t) at average: s = 3"),
    )
    assert epoch_line(report) == (
        "epoch 12 · 26,115 tuples in · 0.5 s, 52,230/s · 1 accent read · 2 accents in force · 3 punctuations · "
        "1,002 quarantined (RQ301: 1,000, RQ305: 2) · "
        "held: -(gust) at daily: state has it; alter(t) at average: s = 3"
    )
