"""Commands for those who write queries."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cedilla.grammar.diagnostics.codes import codes
from cedilla.runtime.hosts.cli.main import main
from cedilla.runtime.hosts.cli.pages import for_terminal, text_of
from tests.kit import ROOT
from tests.kit.command import cedilla

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
PACKED = [page for page in (ROOT / "docs").rglob("*.md") if "editors" not in page.parts]


def test_the_language_server_names_the_package_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cedilla.runtime.hosts.language_server.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls", None)
    result = cedilla("lsp")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[RQ498]")
    assert "pip install 'cedilla[lsp]'" in result.stderr


# --- rule ---


def test_rule_describes_codes_offline() -> None:
    result = cedilla("rule", "rq102", "RQ305")
    assert result.exit_code == 0
    first, second = result.stdout.split("\n\n")
    assert first.startswith("error[RQ102]: ")
    assert "\nfix: " in first
    assert "\nexample: " in first
    assert "\nmore: cedilla docs " in first
    assert "RQ305" in second


def test_rule_without_a_code_lists_all() -> None:
    assert [line.partition(" ")[0] for line in cedilla("rule").stdout.splitlines()] == list(codes())


def test_rule_refuses_an_unknown_code() -> None:
    result = cedilla("rule", "RQ999")
    assert (result.exit_code, "unknown code `RQ999`" in result.stderr) == (2, True)


# --- docs ---


def test_docs_lists_every_page_with_a_line() -> None:
    lines = cedilla("docs").stdout.splitlines()
    packed = {page.relative_to(ROOT / "docs").as_posix().removesuffix(".md") for page in PACKED}
    assert {line.split()[0] for line in lines} == packed
    assert [line for line in lines if len(line) > 100 or len(line.split()) < 2] == []


def test_the_packages_data_has_every_page_but_those_of_editors() -> None:
    globs = SETUPTOOLS["package-data"]["cedilla.docs"]
    assert {page for pattern in globs for page in (ROOT / "docs").glob(pattern)} == set(PACKED)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("markers", "# "),
        ("docs/markers.md", "# "),
        ("markers#renames", "## Renames"),
        ("docs/markers.md#renames", "## Renames"),
        ("renames", "## Renames"),
        ("left join", "# Left join"),
        ("operators", "# Operators"),
        ("errors", "<!-- "),
        ("run", "## run"),
        ("round", "From `reference/functions`:"),
        ("late", "From `reference/settings`:"),
        ("rq216", "```\nerror[RQ216]: "),
    ],
)
def test_docs_shows_a_page_or_a_part_of_it(name: str, start: str) -> None:
    result = cedilla("docs", name)
    assert (result.exit_code, result.stdout[: len(start)]) == (0, start)


def test_words_lead_to_the_parts_that_have_all_of_them() -> None:
    lines = cedilla("docs", "late", "tuple").stdout.splitlines()
    assert lines[0] == "Nothing is named `late tuple`. These parts have the words:"
    assert lines[2].startswith("- `time#late-tuples`: A late tuple is set aside")
    assert "".join(lines[-2:]).startswith("Further parts: ")
    assert all(len(line) < 170 for line in lines)


def test_a_part_ends_with_the_next_heading_of_its_level() -> None:
    part = cedilla("docs", "markers#renames").stdout
    assert part.count("\n## ") == 0
    assert part.rstrip() in (ROOT / "docs" / "markers.md").read_text("utf-8")


@pytest.mark.parametrize("name", [code.page for code in codes().values()])
def test_the_page_of_a_code_can_be_shown(name: str) -> None:
    assert text_of(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("markrs", "the documentation has no page and no words `markrs`\n = help: did you mean `markers`?"),
        ("markers#renams", "the page `markers` has no heading `renams`\n = help: did you mean `renames`?"),
        ("#renames", "the documentation has no page and no words `#renames`"),
    ],
)
def test_docs_refuses_an_unknown_page_with_near_ones(name: str, message: str) -> None:
    result = cedilla("docs", name)
    assert result.exit_code == 2
    assert f"error[RQ477]: {message}" in result.stderr


def test_links_of_a_terminal_name_pages() -> None:
    page = "[a](markers.md#renames) [b](../tests/x.md) [c](https://d.example) `[e](units.md)` <!-- f -->"
    assert for_terminal(page) == "a (`markers#renames`) b [c](https://d.example) `[e](units.md)` "


def test_docs_uses_the_pager_of_a_terminal() -> None:
    master, follower = pty.openpty()
    command = [sys.executable, "-m", "cedilla.runtime.hosts.cli.main", "docs", "markers#renames"]
    environment = {**os.environ, "PAGER": "sed 's/^/paged: /'", "NO_COLOR": "1", "TERM": "xterm"}
    done = subprocess.run(command, stdout=follower, stdin=follower, env=environment, check=True, cwd=ROOT)
    os.close(follower)
    assert done.returncode == 0
    assert os.read(master, 4096).startswith(b"paged: ")
    os.close(master)


# --- init and test ---


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert cedilla("init").exit_code == 0
    return tmp_path


def test_a_new_project_is_right_and_its_test_passes(project: Path) -> None:
    assert cedilla("check", "pumps.rq", "--strict").exit_code == 0
    assert '"litres": 120.0' in cedilla("simulate", "pumps.rq").stdout
    result = cedilla("test")
    assert (result.exit_code, result.stdout) == (0, "2 of 2 tests pass\n")


def test_init_overwrites_nothing(project: Path) -> None:
    query = project / "pumps.rq"
    query.write_text("mine", "utf-8")
    result = cedilla("init")
    assert (result.exit_code, "error[RQ455]" in result.stderr) == (1, True)
    assert query.read_text("utf-8") == "mine"


def test_a_test_that_fails_shows_the_difference_and_accept_writes_it(project: Path) -> None:
    page = project / "tests" / "test_pumps.md"
    right = page.read_text("utf-8")
    page.write_text(right.replace('"litres": 120.0}', '"litres": 121.0}'), "utf-8")
    result = cedilla("test", page)
    assert result.exit_code == 1
    assert '-{"minute": 0, "litres": 121.0}' in result.stdout
    assert '+{"minute": 0, "litres": 120.0}' in result.stdout
    assert result.stdout.endswith("1 of 2 tests pass\n")
    assert cedilla("test", "--accept").exit_code == 0
    assert page.read_text("utf-8") == right


@pytest.mark.parametrize(("digits", "status"), [("0.1234567890123456789", 0), ("0.12345678901234567891", 1)])
def test_a_test_compares_all_digits_of_a_decimal(project: Path, digits: str, status: int) -> None:
    page = project / "tests" / "test_digits.md"
    page.write_text(
        '```rq\nstream r(p: decimal(38, 20)) from json "in"; emit r to json "out";\n```\n\n## One\n\n'
        '```json in/1.jsonl\n{"p": 0.12345678901234567890}\n```\n\n'
        f'```json r\n{{"p": {digits}}}\n```\n',
        "utf-8",
    )
    assert cedilla("test", page).exit_code == status


def test_a_test_that_fails_by_its_query_is_never_accepted(project: Path) -> None:
    (project / "pumps.rq").write_text('stream pumps(a: int) from json "data/pumps";', "utf-8")
    page = project / "tests" / "test_pumps.md"
    before = page.read_text("utf-8")
    result = cedilla("test", "--accept")
    assert "RQ111" in result.stdout
    assert page.read_text("utf-8") == before


def test_a_page_may_expect_the_code_that_ends_the_query(project: Path) -> None:
    section = '\n## An unknown marker\n\n```json data/pumps/1.jsonl\n{"$accent": "[[nothing]]"}\n```\n'
    page = project / "tests" / "test_pumps.md"
    page.write_text(f"{page.read_text('utf-8')}{section}\n```error\nRQ001\n```\n", "utf-8")
    result = cedilla("test")
    assert (result.exit_code, result.stdout) == (0, "3 of 3 tests pass\n")


@pytest.mark.parametrize("text", ["# Nothing\n", "## One\n\n```json flow\nno object\n```\n"])
def test_a_page_that_tests_nothing_or_no_objects_is_refused(project: Path, text: str) -> None:
    page = project / "tests" / "test_other.md"
    page.write_text(text, "utf-8")
    assert "error[RQ456]" in cedilla("test", page).stderr


@pytest.mark.rest
def test_pytest_runs_the_same_pages(project: Path) -> None:
    page = project / "tests" / "test_pumps.md"
    page.write_text(page.read_text("utf-8").replace('"litres": 120.0}', '"litres": 121.0}'), "utf-8")
    plugin = ["-p", "cedilla.runtime.tools.query_tests.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin],
        cwd=project,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert '-{"minute": 0, "litres": 121.0}' in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_shells_complete_commands_codes_and_paths() -> None:
    def completions(words: str) -> str:
        count = str(len(words.split()) - (not words.endswith(" ")))
        environment = {"_CEDILLA_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
        return CliRunner(env=environment).invoke(main, prog_name="cedilla").output

    assert "plain,simulate" in completions("cedilla sim")
    assert "plain,RQ102" in completions("cedilla rule RQ10")
    assert "file," in completions("cedilla check ")
