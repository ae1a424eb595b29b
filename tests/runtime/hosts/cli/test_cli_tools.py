"""The commands that look at a query and never run it: explain's views, check of the state, trace, fmt."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cedilla.compiler import compile_query
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.hosts.cli.main import main
from cedilla.runtime.tools.inspect import engine_plan
from tests.kit import ROOT
from tests.kit.command import cedilla

SENSORS = "queries/sensors.rq"
UNSAFE = """stream a(ts: long, k: int, v: double) from json "a";
emit aggregate[avg(v) as m by k](a) to json "out";
"""
FAHRENHEIT = "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"

Call = Callable[..., Result]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    """`cedilla` with arguments, in the repository's root."""
    monkeypatch.chdir(ROOT)

    return cedilla


# --- check ---


def test_check_warns_of_state_without_bound_and_strict_fails(call: Call) -> None:
    lenient, strict = call("check", "-", text=UNSAFE), call("check", "-", "--strict", text=UNSAFE)
    assert (lenient.exit_code, strict.exit_code) == (0, 1)
    assert lenient.stdout == strict.stdout
    assert lenient.stdout.startswith("warning[RQ130]: Aggregate `aggregate` keeps open groups without bound")
    assert "= help: declare `punctuated on k` of `a`: that bounds the state, if `a` sends" in lenient.stdout
    assert "heartbeat" not in lenient.stdout  # k is no time


def test_the_hint_names_the_promise_and_the_heartbeat_where_an_attribute_is_a_time(call: Call) -> None:
    text = """stream a(ts: long, k: int) from json "a";
    emit aggregate[count() as n by w](window[60 on ts as w](a)) to json "o";"""
    hint = next(line for line in call("check", "-", text=text).stdout.splitlines() if "= help:" in line)
    assert "`punctuated on ts` of `a`: that bounds the state, if `a` sends such punctuations" in hint
    assert "`heartbeat ts delay 10` of `a` makes Cedilla punctuate by itself" in hint
    mended = text.replace('"a";', '"a" heartbeat ts delay 10;', 1)
    assert "no errors or warnings" in call("check", "-", text=mended).stdout


def test_simulate_warns_of_rows_that_never_pass_as_check_does(call: Call, tmp_path: Path) -> None:
    text = UNSAFE.replace('from json "a"', f'from json "{tmp_path}"')
    done = call("simulate", "-", "--sink", "aggregate=-", text=text)
    assert done.stderr == call("check", "-", text=text).stdout
    assert done.stdout == ""


def test_strict_fails_on_what_is_likely_wrong(call: Call) -> None:
    text = 'stream r(a: int) from json "r"; emit project[a, later](r) to json "o";'
    assert [call("check", "-", *strict, text=text).exit_code for strict in ((), ("--strict",))] == [0, 1]
    expected = text.replace("a: int", "a: int, later?: int")
    assert call("check", "-", "--strict", text=expected).exit_code == 0
    for condition, code in (('p in ("paid", "shipped")', "RQ125"), ("a in (1, 2)", "RQ126")):
        text = f'stream r(a: int, p: string) from json "r"; emit select[{condition}](r) to json "o";'
        lenient, strict = call("check", "-", text=text), call("check", "-", "--strict", text=text)
        assert (lenient.exit_code, strict.exit_code) == (0, 1)
        assert lenient.stdout.startswith(f"warning[{code}]")
        assert "= help: did you mean" in lenient.stdout


@pytest.mark.parametrize("path", ["queries/sensors.rq", "queries/weather.rq"])
def test_strict_has_nothing_to_say_of_the_queries(call: Call, path: str) -> None:
    assert call("check", "--strict", path).stdout == f"{path}: no errors or warnings\n"


def test_check_of_the_state_as_json(call: Call) -> None:
    (diagnostic,) = json.loads(call("check", "-", "--format", "json", text=UNSAFE).stdout)["diagnostics"]
    assert (diagnostic["code"], diagnostic["severity"], diagnostic["span"]["line"]) == ("RQ130", "warning", 2)


# --- explain ---


def test_explain_shows_the_state_with_its_bound(call: Call) -> None:
    text = call("explain", "-", "--full", text=UNSAFE).stdout
    assert "  Aggregate aggregate\n    open groups: unbounded, `a` " in text
    assert "warning[RQ130]" in text
    short = call("explain", "-", text=UNSAFE).stdout
    assert "keeps open groups for ever: `a` " in short
    assert "warning[RQ130]" in short
    (operator,) = json.loads(call("explain", "-", "--format", "json", text=UNSAFE).stdout)["operators"]
    assert operator["state"]["bound"] == "unbounded"
    assert [(kept["what"], kept["bound"]) for kept in operator["state"]["keeps"] if not kept["accents"]] == [
        ("open groups", "unbounded")
    ]
    assert operator["promises"] == []


def test_explain_fits_the_columns_that_are_there() -> None:
    """COLUMNS where it is set, 100 where standard output is no terminal."""
    for columns, width in (("60", 60), (None, 100)):
        result = CliRunner(env={"COLUMNS": columns}).invoke(main, ["explain", SENSORS, "--evolution"])
        assert width - 10 < max(map(len, result.stdout.splitlines())) <= width


def test_a_summary_says_where_there_is_more(call: Call) -> None:
    assert call("explain", SENSORS).stdout.endswith(
        "\n\nmore: cedilla explain --words, --full, --evolution, --spark\n"
    )
    full = call("explain", SENSORS, "--full").stdout
    assert full.startswith("legend\n  F   foundation")
    assert call("explain", SENSORS, "--full", "--format", "json").stdout == (
        call("explain", SENSORS, "--format", "json").stdout
    )


def test_evolution_as_json(call: Call) -> None:
    accents = json.loads(call("explain", SENSORS, "--evolution", "--format", "json").stdout)["accents"]
    plain = {(a["source"], a["attribute"], a["primitive"]): a for a in accents if not a["described_by"]}
    assert plain["sensors", "ts", "drop"]["code"] == "RQ209"
    assert plain["sensors", "ts", "alter"]["verdict"] == "absorbed"
    drop = plain["sensors", "t", "drop"]
    assert (drop["verdict"], drop["outputs"][0]["attributes"]) == ("propagates", ["t"])
    held = [step["operator"] for step in drop["outputs"][0]["steps"] if step["held"]]
    assert held == ["located", "average"]
    (described,) = (
        a
        for a in accents
        if a["described_by"] == ["s"] and a["attribute"] == "t"
        if a["primitive"] == "alter"
    )
    assert described["verdict"] == "accumulates"
    assert (
        described["outputs"][0]["steps"][-1]["waits"] == "until accents or punctuation cover s in {1, 2, 3}"
    )


@pytest.mark.parametrize("named", [(), ("--engine", "sail")], ids=["any", "sail"])
def test_spark_shows_the_code_and_the_plan_of_the_engine(
    call: Call, monkeypatch: pytest.MonkeyPatch, named: tuple[str, ...]
) -> None:
    asked: list[Options] = []

    def planned(compiled: object, options: Options) -> tuple[str, dict[str, str]]:
        asked.append(options)
        return "sail", {"average": "AggregateExec"}

    monkeypatch.setattr(engine_plan, "engine_plans", planned)
    shown = call("explain", SENSORS, "--spark", *named, "--allow-module", "m").stdout
    assert asked == [Options(engine="sail" if named else None, allow_modules=("m",))]
    flow, _, plan = shown.partition("\n\n")
    assert flow.startswith("def flow(epoch: Epoch) -> dict[str, DataFrame]:\n")
    assert flow in call("compile", SENSORS).stdout
    assert plan == "# average: the plan of sail for an epoch\nAggregateExec\n"
    whole = json.loads(call("explain", SENSORS, "--spark", "--format", "json").stdout)
    assert whole == {
        "version": 2,
        "query": "sensors",
        "flow": flow,
        "engine": "sail",
        "plans": {"average": "AggregateExec"},
    }


@pytest.mark.rest
def test_the_plan_is_of_the_engine_that_is_named() -> None:
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "explain", SENSORS, "--spark"]
    done = subprocess.run(
        [*command, "--engine", "sail"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "# average: the plan of sail for an epoch\n== Physical Plan ==\n" in done.stdout
    assert "HashJoinExec" in done.stdout


def test_trace_of_the_plan_as_json(call: Call) -> None:
    relations = json.loads(call("explain", SENSORS, "--trace", "--format", "json").stdout)["relations"]
    assert [relation["line"] for relation in relations] == [2, 5, 8, 9, 10]
    assert relations[0]["attributes"][1] == {
        "name": "s",
        "type": "int",
        "present": "always",
        "values": "s in {1, 2, 3}",
    }
    assert relations[-1]["promises"] == [["wid"]]


@pytest.mark.parametrize(("form", "edge"), [("dot", "n0 -> n2;"), ("mermaid", "n0 --> n2")])
def test_a_picture_has_every_node_and_edge(call: Call, form: str, edge: str) -> None:
    picture = call("explain", SENSORS, "--format", form).stdout
    assert edge in picture
    assert all(name in picture for name in ("sensors", "placement", "located", "windows", "emit average"))


@pytest.mark.parametrize(
    "arguments",
    [("--evolution", "--spark"), ("--evolution", "--format", "dot"), ("--trace", "--format", "mermaid")],
)
def test_views_that_do_not_go_together_are_refused(call: Call, arguments: tuple[str, ...]) -> None:
    assert call("explain", SENSORS, *arguments).exit_code == 2


# --- trace ---


def test_trace_shows_what_every_operator_does(call: Call) -> None:
    result = call("trace", SENSORS, "--on", "sensors", FAHRENHEIT)
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head == f"{FAHRENHEIT} on sensors"
    assert [row.split()[:2] for row in rows[1:4]] == [
        ["Join", "located"],
        ["Window", "windows"],
        ["Aggregate", "average"],
    ]
    assert "accumulates (A4); waits for windows in [s in {1, 3}]; line 10" in " ".join(
        "".join(rows[3:]).split()
    )


def test_trace_takes_markers_in_their_order(call: Call) -> None:
    rest = "[[s in {1, 3}, alter(t, y -> (y - 32) * 5/9)]]"
    one = call("trace", SENSORS, "--on", "sensors", FAHRENHEIT, rest)
    other = call("trace", SENSORS, "--on", "sensors", FAHRENHEIT, "--on", "sensors", rest)
    assert one.stdout == other.stdout
    assert one.stdout.rstrip().endswith("emit average        [[alter(t, y -> (y * 5 - 160) / 9)]]")
    markers = json.loads(
        call("trace", SENSORS, "--on", "sensors", FAHRENHEIT, rest, "--format", "json").stdout
    )
    assert [m["outputs"][0]["says"]["alters"] for m in markers["markers"]] == [
        [],
        ["[[alter(t, y -> (y * 5 - 160) / 9)]]"],
    ]


def test_trace_of_an_accent_that_aborts(call: Call) -> None:
    result = call("trace", SENSORS, "--on", "sensors", "[ts < 5]", "[[-(ts)]]")
    assert result.exit_code == 1
    assert result.stdout.startswith("[ts < 5] on sensors\n")
    assert result.stderr.startswith("error[RQ209]: `ts` cannot be dropped")
    assert "1 | [[-(ts)]]" in result.stderr


@pytest.mark.parametrize(
    ("marker", "code"),
    [("[[s = 2, -(s)]]", "RQ201"), ("[[alter(t, y -> y * y)]]", "RQ202"), ("[ts <", "RQ002")],
)
def test_trace_of_a_bad_marker_shows_its_place(call: Call, marker: str, code: str) -> None:
    result = call("trace", SENSORS, "--on", "sensors", marker)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error[{code}]")
    assert "--> <marker 1>:1:" in result.stderr


def test_trace_needs_a_source_of_the_query(call: Call) -> None:
    for arguments in (
        ("--on", "average", "[]"),
        ("--on", "sensors", "[]", "--on", "placement", "[]", "[s = 1]"),
        (),
    ):
        assert call("trace", SENSORS, *arguments).exit_code == 2


# --- fmt ---


def test_fmt_lays_out_in_place_and_once(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    file.write_text('# why\nstream a(k:int)from json "a";emit σ[k>1](a) to json "out";', encoding="utf-8")
    assert call("fmt", str(file), "--check").exit_code == 1
    assert call("fmt", str(file)).exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert text == '# why\nstream a(k: int) from json "a";\nemit select[k > 1](a) to json "out";\n'
    assert call("fmt", str(file), "--check").exit_code == 0
    before = file.stat().st_mtime_ns
    assert call("fmt", str(file)).exit_code == 0
    assert (file.read_text(encoding="utf-8"), file.stat().st_mtime_ns) == (text, before)


def test_fmt_from_standard_input_to_standard_output(call: Call) -> None:
    assert call("fmt", "-", text='emit a to json "b"').exit_code == 1
    assert call("fmt", "-", text='emit  a to json "b" ;').stdout == 'emit a to json "b";\n'


CONSTANTS = """\
let low = 1;
let site = "north";
stream a(k: int, l: string in {site, "south"}) from json "a";
emit select[k > low and l = site](a) to json "out";
"""


def test_fmt_keeps_the_names_of_constants(call: Call) -> None:
    assert call("fmt", "-", text=CONSTANTS).stdout == CONSTANTS


def test_param_gives_constants_other_values(call: Call) -> None:
    compiled = call("compile", "-", "--param", "low=-2", "--param", "site=west end", text=CONSTANTS)
    assert 'params={"low": "-2", "site": "west end"}' in compiled.stdout
    assert (
        'in {"west end", "south"}'
        in call("explain", "-", "--full", "--param", "site=west end", text=CONSTANTS).stdout
    )
    assert call("check", "-", "--param", "low=2", text=CONSTANTS).exit_code == 0


@pytest.mark.parametrize("command", ["compile", "check", "run", "simulate", "verify", "explain"])
@pytest.mark.parametrize(("param", "code"), [("high=1", "RQ135"), ("low=north", "RQ136")])
def test_a_wrong_param_is_wrong_usage(call: Call, command: str, param: str, code: str) -> None:
    result = call(command, "-", "--param", param, text=CONSTANTS)
    assert (result.exit_code, f"error[{code}]" in result.output) == (2, True)


def test_another_constant_is_another_plan_to_a_checkpoint() -> None:
    plans = [compile_query(CONSTANTS, params={"low": low}).plan.operators for low in ("1", "1", "2")]
    assert plans[0] == plans[1] != plans[2]


def test_fmt_leaves_a_wrong_text_alone(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "q.rq"
    file.write_text("emit", encoding="utf-8")
    result = call("fmt", str(file))
    assert result.exit_code == 1
    assert result.stderr.startswith("error[RQ0")
    assert file.read_text(encoding="utf-8") == "emit"


# --- all of them ---


TOOLS = (
    ("check", "--strict", SENSORS),
    ("compile", SENSORS),
    ("explain", SENSORS),
    ("explain", SENSORS, "--full"),
    ("explain", SENSORS, "--evolution"),
    ("explain", SENSORS, "--trace"),
    ("explain", SENSORS, "--words"),
    ("explain", SENSORS, "--format", "dot"),
    ("trace", SENSORS, "--on", "sensors", "[ts < 5]"),
    ("fmt", "--check", "queries/weather.rq"),
)


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    program = f"""
import sys
from cedilla.runtime.hosts.cli.main import main
try:
    main({[*arguments]!r})
except SystemExit as ended:
    assert not ended.code
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {*done.stdout.split()}


def test_the_version_loads_neither_the_grammar_nor_the_compiler() -> None:
    ours = {name for name in loaded_by("--version") if name.startswith("cedilla.")}
    assert not {name for name in ours if name.split(".")[1] in ("grammar", "compiler")}
    assert len(ours) < 12


def test_a_check_loads_no_other_commands_and_writes_no_program() -> None:
    modules = loaded_by("check", SENSORS)
    commands = {name for name in modules if name.startswith("cedilla.runtime.hosts.cli.")}
    assert "cedilla.runtime.hosts.cli.query" in commands
    others = ("execution", "learning", "streams", "watch")
    assert commands.isdisjoint(f"cedilla.runtime.hosts.cli.{name}" for name in others)
    assert modules.isdisjoint(("cedilla.compiler.codegen.program", "cedilla.grammar.hints.parse_errors"))
    assert modules.isdisjoint(("networkx", "pyarrow"))


def test_a_check_compiles_little_code_of_attrs() -> None:
    """Nodes and operators share comparison, hash and text (`grammar/syntax/classes.py`); 322,000 before."""
    program = f"""
import sys
sizes = []
def note(event, arguments):
    if event == "compile" and str(arguments[1]).startswith("<attrs"):
        sizes.append(len(arguments[0]))
sys.addaudithook(note)
from cedilla.runtime.hosts.cli.main import main
try:
    main(["check", {SENSORS!r}])
except SystemExit as ended:
    assert not ended.code
print(sum(sizes))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout.split()[-1]) < 240_000


@pytest.mark.rest
def test_a_check_and_a_plan_load_no_pint_again_and_markers_for_stated_accents_only() -> None:
    """Answers about units are kept (`compiler/expressions/units/answers.py`)."""
    for command in ("check", "explain"):
        loaded_by(command, SENSORS)
        again = loaded_by(command, SENSORS)
        assert again.isdisjoint(("pint", "numpy", "scipy", "networkx", "pyarrow"))
        assert len(again) < 700
    assert "cedilla.runtime.control.markers.advance" not in loaded_by("check", SENSORS)


def test_no_tool_loads_spark() -> None:
    """Nor the other slow packages. One after the other in one process: the first that does is named."""
    program = f"""
import sys
from cedilla.runtime.hosts.cli.main import main
for arguments in {TOOLS!r}:
    try:
        main(list(arguments))
    except SystemExit as ended:
        assert not ended.code, arguments
    assert sys.modules.keys().isdisjoint(('pyspark', 'py4j', 'pandas', 'numpy', 'rich')), arguments
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
