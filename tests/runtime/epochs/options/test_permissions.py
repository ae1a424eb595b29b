"""A query does nothing on this machine that its user has not allowed: modules, places, control signs, secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from cedilla import Options, compile_query, run, simulate
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.parquet.delta_log import DeltaLog
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.epochs.checkpoint.stored_plan import StoredPlans
from cedilla.runtime.epochs.options.permissions import ALLOWED, check_modules, check_permitted
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.stream import read_output

QUERY = 'stream r(k: long, s?: string) from json "{source}" punctuated on k;\nemit r to json "{sink}";\n'

Call = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, beside which there is more: only what is in it is allowed."""
    monkeypatch.delenv(ALLOWED)
    folder = tmp_path / "home"
    for data in (folder / "r", tmp_path / "beside"):
        data.mkdir(parents=True)
        (data / "1.jsonl").write_text('{"k": 1}\n')
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def call(home: Path) -> Call:
    return cedilla


# --- places ---


OUTSIDE = {
    "absolute": "{tmp}/beside",
    "above": "../beside",
    "up and down": "r/../../beside",
    "with a scheme": "file:{tmp}/beside",
    "by a link": "linked",
    "a file by a link": "linked/1.jsonl",
    "of another kind": "local:{tmp}/beside",
    "in memory": "memory://beside",
}


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("which", ["source", "sink", "markers"])
def test_a_query_reads_and_writes_nothing_outside_of_its_folder(home: Path, kind: str, which: str) -> None:
    (home / "linked").symlink_to(home.parent / "beside")
    path = OUTSIDE[kind].format(tmp=home.parent)
    text = QUERY.format(source=path if which == "source" else "r", sink=path if which == "sink" else "out")
    if which == "markers":
        text = text.replace(" punctuated", f' markers "{path}" punctuated')
    assert code_of(lambda: run(text, Options(once=True, engine="sail"))) == "RQ484"
    if which != "sink":
        assert code_of(lambda: simulate(text)) == "RQ484"
    assert sorted(path.name for path in home.parent.iterdir()) == ["beside", "home"]


LINKS = {
    "a file": ("r/2.jsonl", "../../beside/1.jsonl"),
    "a folder": ("r/more", "../../beside"),
    "a file of a folder": ("r/more/2.jsonl", "../../../beside/1.jsonl"),
    "the folder around it": ("r/more", ".."),
}


@pytest.mark.parametrize("kind", LINKS)
def test_links_in_a_folder_lead_nowhere_else(home: Path, kind: str) -> None:
    """A sender of files may write links."""
    link, target = LINKS[kind]
    text = QUERY.format(source="r", sink="out")
    (home / link).parent.mkdir(exist_ok=True)
    (home / link).symlink_to(target)
    assert code_of(lambda: run(text, Options(once=True, engine="sail"))) == "RQ484"
    if "folder" not in kind or "file" in kind:  # the reference does not follow links to folders
        assert code_of(lambda: simulate(text)) == "RQ484"
    if kind != "the folder around it":
        allowed = Options(once=True, engine="sail", allow_paths=[str(home.parent / "beside")])
        run(text, allowed)
        simulate(text, allowed)
        assert [row["k"] for row in read_output(home / "out")] == [1, 1]


def test_links_inside_of_the_working_directory_are_read(home: Path) -> None:
    (home / "kept").mkdir()
    (home / "kept" / "1.jsonl").write_text('{"k": 7}\n')
    (home / "r" / "2.jsonl").symlink_to("../kept/1.jsonl")
    text = QUERY.format(source="r", sink="out")
    run(text, Options(once=True, engine="sail"))
    simulate(text)
    assert sorted(row["k"] for row in read_output(home / "out")) == [1, 7]


@pytest.mark.parametrize(
    "path", ["{beside}/1.parquet", "file://{beside}/1.parquet", "../../beside/1.parquet"]
)
def test_the_log_of_a_table_names_no_file_outside_of_it(home: Path, path: str) -> None:
    log = DeltaLog(Files(), "r", str(home / "r"))
    with pytest.raises(DiagnosticError, match="RQ484"):
        log._listed_file(path.format(beside=home.parent / "beside"), 0, 1)
    allowed = DeltaLog(Files([str(home.parent / "beside")]), "r", str(home / "r"))
    assert allowed._listed_file(path.format(beside=home.parent / "beside"), 0, 1).path.endswith("/1.parquet")
    assert log._listed_file("part-1.parquet", 0, 1).path.endswith("r/part-1.parquet")


def test_the_folder_of_the_query_is_its_own(home: Path) -> None:
    beside = home.parent / "beside"
    (beside / "in").mkdir()
    (beside / "in" / "1.jsonl").write_text('{"k": 7}\n')
    (beside / "q.rq").write_text(QUERY.format(source=beside / "in", sink=beside / "out"))
    run(beside / "q.rq", Options(once=True, engine="sail"))
    assert read_output(beside / "out") == [{"k": 7}]


def test_places_that_the_user_names_are_the_users_own(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside, out = home.parent / "beside", home.parent / "out"
    text = QUERY.format(source="/nowhere", sink="/nowhere/out")
    options = Options(
        sources={"r": beside}, sinks={"r": out}, once=True, engine="sail", checkpoint=home.parent / "c"
    )
    run(text, options)
    assert read_output(out) == [{"k": 1}]
    simulate(text, Options(sources={"r": beside}))
    assert capsys.readouterr().out == '{"k": 1}\n'


@pytest.mark.parametrize("root", ["{tmp}/beside", "{tmp}", "../beside", "file:{tmp}", "{tmp}/also"])
def test_allow_path_lets_a_query_read_elsewhere(call: Call, home: Path, root: str) -> None:
    (home.parent / "also").symlink_to("beside")
    (home / "q.rq").write_text(QUERY.format(source=home.parent / "beside", sink="out"))
    refused = call("simulate", "q.rq")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error[RQ484]: stream `r` reads ")
    assert "q.rq:1:1" in refused.stderr
    allowed = call("simulate", "q.rq", "--allow-path", root.format(tmp=home.parent))
    assert (allowed.exit_code, allowed.stdout) == (0, '{"k": 1}\n')


@pytest.mark.parametrize("root", ["{tmp}/bes", "{tmp}/beside/..x", "{tmp}/home"])
def test_a_name_that_only_begins_alike_allows_nothing(call: Call, home: Path, root: str) -> None:
    (home / "q.rq").write_text(QUERY.format(source=home.parent / "beside", sink="out"))
    refused = call("simulate", "q.rq", "--allow-path", root.format(tmp=home.parent))
    assert refused.stderr.startswith("error[RQ484]")


TABLE = """
table t(k: long) from json "{source}";
stream r(k: long in t.k) from json "r";
emit r join t on k to json "out";
"""


@pytest.mark.parametrize(
    "command",
    [
        ("trace", "q.rq", "[k = 1]", "--on", "r", "[k = 2]"),
        ("validate", "r", "--query", "q.rq", "--source", "r"),
        ("canonize", "r", "--query", "q.rq", "--source", "r"),
        ("suspect", "r", "--query", "q.rq", "--source", "r"),
        ("verify", "q.rq", "--engine", "sail"),
        ("plan", "q.rq", "checkpoint"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_reads_a_table_elsewhere(call: Call, home: Path, command: tuple[str, ...]) -> None:
    (home / "q.rq").write_text(TABLE.format(source=home.parent / "beside"))
    assert "error[RQ484]" in call(*command).output
    if command[0] not in ("verify", "plan"):
        assert "RQ484" not in call(*command, "--allow-path", str(home.parent)).output


def test_commands_about_the_text_read_nothing_and_refuse_nothing(call: Call, home: Path) -> None:
    (home / "q.rq").write_text(TABLE.format(source="/etc"))
    for command in ("check", "explain", "compile", "fmt"):
        assert call(command, "q.rq").exit_code == 0


@pytest.mark.parametrize("path", ["http://host/in", "https://host/in", "HTTPS://host/in"])
def test_the_web_is_neither_read_nor_written(home: Path, path: str) -> None:
    """Also where the user names it: a listing of files it has none."""
    options = Options(once=True, engine="sail", allow_paths=[path])
    assert code_of(lambda: run(QUERY.format(source=path, sink="out"), options)) == "RQ485"
    assert code_of(lambda: run(QUERY.format(source="r", sink=path), options)) == "RQ485"
    text = QUERY.format(source="r", sink="out")
    assert code_of(lambda: simulate(text, Options(sources={"r": path}))) == "RQ485"
    assert code_of(lambda: run(text, Options(once=True, engine="sail", checkpoint=path))) == "RQ485"


@pytest.mark.parametrize(
    "path", ["s3://b/in", "s3a://b/in", "gs://b/in", "abfs://c@a.net/in", "hdfs://h:8020/in"]
)
def test_stores_are_read_as_before(path: str) -> None:
    check_permitted(compile_query(QUERY.format(source=path, sink=f"{path}/out")).plan)


# --- modules ---


USER = (
    'stream r(k: long) from json "r";\n'
    'operator twice(R) foundation {{k}} returns (k: long, j: long) from "{module}:twice";\n'
    'emit twice(r) to json "out";\n'
)
MODULE = """
from pathlib import Path

Path("loaded").touch()


def twice(r):
    return r.selectExpr("k", "2 * k AS j")
"""


@pytest.mark.parametrize(
    "command", ["check", "explain", "compile", "fmt", "trace", "simulate", "plan", "verify", "run"]
)
def test_no_command_loads_a_module_that_nobody_allowed(call: Call, home: Path, command: str) -> None:
    (home / "twice.py").write_text(MODULE)
    (home / "q.rq").write_text(USER.format(module="twice"))
    more = {"trace": ["[k = 1]"], "plan": ["checkpoint"], "run": ["--once"]}.get(command, [])
    result = call(command, "q.rq", *more)
    assert not (home / "loaded").exists()
    if command in ("run", "verify"):
        assert result.exit_code == 1
        assert "error[RQ483]: `twice` loads the module `twice`" in result.stderr
        assert "q.rq:3:6" in result.stderr
        assert "--allow-module twice" in result.stderr


@pytest.mark.parametrize("allowed", [["twice"], "twice", ("other", "twice")])
def test_a_module_that_the_caller_names_is_loaded(
    home: Path, allowed: str | list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "twice", raising=False)
    (home / "twice.py").write_text(MODULE)
    (home / "q.rq").write_text(USER.format(module="twice"))
    assert code_of(lambda: run("q.rq", Options(once=True, engine="sail"))) == "RQ483"
    run("q.rq", Options(once=True, engine="sail", allow_modules=allowed))
    assert (home / "loaded").exists()
    assert read_output(home / "out") == [{"k": 1, "j": 2}]


@pytest.mark.parametrize(
    ("module", "allowed", "loads"),
    [
        ("a.b", ["a.b"], True),
        ("a.b", ["a"], True),
        ("ab", ["a"], False),
        ("a", ["a.b"], False),
        ("os", [], False),
        ("os", ["os.path"], False),
        ("a", ["A"], False),
    ],
)
def test_a_package_allows_its_modules_and_no_others(module: str, allowed: list[str], loads: bool) -> None:
    plan = compile_query(USER.format(module=module)).plan
    if loads:
        check_modules(plan, allowed)
    else:
        assert code_of(lambda: check_modules(plan, allowed)) == "RQ483"


@pytest.mark.rest
def test_files_beside_a_query_shadow_no_module_but_the_one_named(home: Path) -> None:
    """Modules that the process loads later are not searched in the folder of the query first."""
    (home / "twice.py").write_text(MODULE)
    (home / "q.rq").write_text(USER.format(module="twice"))
    (home / "wave.py").write_text('from pathlib import Path\nPath("shadowed").touch()\n')
    program = (
        "from cedilla import Options, run\n"
        "run('q.rq', Options(once=True, engine='sail', allow_modules='twice'))\n"
        "import wave\n"
    )
    (home.parent / "program.py").write_text(program)
    subprocess.run([sys.executable, home.parent / "program.py"], cwd=home, check=True)
    assert (home / "loaded").exists()
    assert not (home / "shadowed").exists()


def test_a_stored_plan_is_compiled_and_loads_no_module(home: Path) -> None:
    data = StoredPlans.start(compile_query(USER.format(module="twice")).plan).dump()
    (stored,) = StoredPlans.load(json.loads(json.dumps(data))).plans
    assert [operator.name for operator in stored.plan.operators] == ["twice"]
    assert not (home / "loaded").exists()


# --- control signs ---


HOSTILE = "\x1b]0;owned\x07\x1b[2J\rtext\x9b2J\u202egnp\u2066"
SIGNS = ("\x1b", "\x07", "\r", "\x9b", "\u202e", "\u2066")
HOSTILE_QUERY = (
    f'stream r(k: long, s?: string) from json "r" punctuated on k;\n'
    f'q := select[s = "{HOSTILE}"](r);\nemit q to json "out{HOSTILE}";\n'
)


@pytest.mark.rest
def test_nothing_that_a_stream_or_a_query_says_moves_the_terminal(call: Call, home: Path) -> None:
    lines = [
        {"k": 1, "s": HOSTILE},
        {"k": HOSTILE},
        {"$accent": f"[[k = {HOSTILE}\nerror[RQ999]: forged, alter(k, y -> y)]]"},
    ]
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    (home / "r" / "1.jsonl").write_text(text)
    (home / f"{HOSTILE}.rq").write_text(HOSTILE_QUERY)
    (home / "q.rq").write_text(HOSTILE_QUERY)
    (home / "wrong.rq").write_text(HOSTILE_QUERY.replace("s =", "z ="))
    commands = [
        ("check", "q.rq"),
        ("check", "wrong.rq"),
        ("check", "wrong.rq", "--format", "json"),
        ("check", f"{HOSTILE}.rq"),
        ("explain", "q.rq"),
        ("explain", "q.rq", "--full"),
        ("explain", "q.rq", "--trace"),
        ("explain", "q.rq", "--spark"),
        ("explain", "q.rq", "--format", "json"),
        ("explain", "q.rq", "--format", "mermaid"),
        ("compile", "q.rq"),
        ("simulate", "q.rq", "--set", "invalid=quarantine"),
        ("validate", "r", "--schema", "k: long, s?: string"),
        ("validate", "r", "--schema", "k: long, s?: string", "--format", "json"),
        ("suspect", "r"),
        ("trace", "q.rq", f"[[k = {HOSTILE}, alter(k, y -> y)]]"),
        ("run", "q.rq", "--once", "--engine", "sail", "--checkpoint", "ck"),
        ("status", "ck"),
        ("status", "ck", "--format", "json"),
    ]
    for command in commands:
        result = call(*command)
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        signs = [sign for sign in SIGNS if sign in result.output]
        assert not signs, (command, signs, result.output)
        assert "\nerror[RQ999]" not in result.output


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_rows_are_read_with_all_their_signs_and_none_is_raw(call: Call, home: Path, form: str) -> None:
    folder = home / "o" / "epoch=000000000000"
    folder.mkdir(parents=True)
    row = {"k": 1, "s": f"{HOSTILE}\n", "u": "https://u:SECRET@host"}
    (folder / "1-tuples-0.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n")
    result = call("read", "o", "--format", form)
    assert not [sign for sign in SIGNS if sign in result.stdout]
    assert "SECRET" in result.stdout, "data is what it is"
    if form == "jsonl":
        assert json.loads(result.stdout) == row
    else:
        assert len(result.stdout.splitlines()) == 2


def test_what_is_printed_and_canonized_is_the_same_data(call: Call, home: Path) -> None:
    row = {"k": 1, "s": HOSTILE}
    (home / "r" / "1.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n")
    (home / "q.rq").write_text(QUERY.format(source="r", sink="-"))
    for command in (
        ("simulate", "q.rq"),
        ("canonize", "r", "--schema", "k: long, s?: string"),
        ("run", "q.rq", "--once", "--engine", "sail"),
    ):
        result = call(*command)
        assert not [sign for sign in SIGNS if sign in result.stdout]
        assert json.loads(result.stdout) == row


@pytest.mark.rest
@pytest.mark.parametrize("view", [[], ["--full"]])
def test_colours_of_explain_are_its_own(home: Path, view: list[str]) -> None:
    """A terminal gets bold and dim, and nothing of the query."""
    (home / "q.rq").write_text(HOSTILE_QUERY)
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "explain", "q.rq", *view]
    shown = _on_a_terminal(command, home, environment)
    assert "\x1b[1m" in shown
    for style in ("\x1b[1m", "\x1b[2m", "\x1b[0m", "\r\n"):
        shown = shown.replace(style, "")
    assert not [sign for sign in SIGNS if sign in shown]


def _on_a_terminal(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(ours)
    return shown.decode()


# --- secrets ---


@pytest.mark.parametrize(
    "address", ["s3://KEY:SECRET@bucket/in", "s3://KEY:SEC/SECRET@bucket/in", "hdfs://u:SECRET@h/in"]
)
def test_a_secret_of_a_path_is_shown_nowhere(call: Call, home: Path, address: str) -> None:
    (home / "q.rq").write_text(QUERY.format(source=address, sink=f"{address}/out"))
    (home / "plain.rq").write_text(QUERY.format(source="r", sink="out"))
    (home / "wrong.rq").write_text(
        QUERY.format(source=address, sink="out").replace("from json", "from jsonn")
    )
    commands = [
        ("check", "q.rq"),
        ("check", "wrong.rq"),
        ("check", "wrong.rq", "--format", "json"),
        ("explain", "q.rq"),
        ("explain", "q.rq", "--full"),
        ("explain", "q.rq", "--trace"),
        ("explain", "q.rq", "--format", "json"),
        ("explain", "q.rq", "--format", "dot"),
        ("compile", "q.rq"),
        ("trace", "q.rq", "[k = 1]"),
        ("simulate", "q.rq"),
        ("plan", "q.rq", "ck"),
        ("run", "q.rq", "--once", "--checkpoint", "ck"),
        ("run", "plain.rq", "--once", "--checkpoint", address),
        ("run", "plain.rq", "--once", "--sink", f"r={address}", "--checkpoint", "ck"),
        ("status", address),
        ("doctor", address),
        ("ui", address),
        ("replay", address, "--code", "RQ311"),
        ("trace", "[k = 1]", "--checkpoint", address),
        ("plan", "plain.rq", address),
        ("read", address),
        ("validate", address),
    ]
    for command in commands:
        result = call(*command)
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert "SECRET" not in result.output, (command, result.output)
    assert "://***@" in call("explain", "q.rq").output
    refused = call("run", "q.rq", "--once", "--checkpoint", "ck")
    assert "error[RQ486]" in refused.output
    assert not (home / "ck").exists()


@pytest.mark.parametrize(
    "query",
    [
        r'stream r(a: int) from json "i\u0000"; emit r to json "o";',
        r'use "a\u0000.rq"; stream r(a: int) from json "in"; emit r to json "o";',
        r'stream r(a: int) from json "in"; accent r from file "a\u0000"; emit r to json "o";',
    ],
)
def test_no_path_has_a_null_character(home: Path, query: str) -> None:
    (home / "in").mkdir()
    (home / "q.rq").write_text(query)
    assert "error[RQ011]" in cedilla("simulate", "q.rq").output


def test_no_output_has_a_null_character_in_its_path(home: Path) -> None:
    plan = compile_query(r'stream r(a: int) from json "in"; emit r to json "o\u0000";').plan
    assert code_of(lambda: check_permitted(plan)) == "RQ011"
