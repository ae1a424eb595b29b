"""The playground's archive is enough to compile and simulate: nothing compiled is imported."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.docs.playground import pack, words
from tests.kit import ROOT
from tests.kit.browser import opened, served_folder
from tests.kit.imports import imports
from tests.kit.tiers import tiered

PAGE = ROOT / "docs" / "playground"
EXAMPLES = json.loads((PAGE / "examples.json").read_text("utf-8"))
QUERY = """\
stream pumps(ts: long, pump: int in {1, 2}, litres: double unit L) from json "pumps" punctuated on ts;
flow := aggregate[avg(litres) as litres by w](window[60 on ts as w](pumps));
emit flow to json "flow";
"""
DATA = """\
# pumps/1.jsonl
{"ts": 0, "pump": 1, "litres": 100.0}
{"$accent": "[[pump = 2, unit(litres, m3)]]"}
{"ts": 1, "pump": 2, "litres": 0.14}
{"ts": 1, "pump": 9, "litres": 0.14}
{"$punctuation": "[ts < 60]"}
"""


Answers = Callable[[str, str], dict[str, str]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What the page answers, by a Python that has the archive and no other package."""
    folder = tmp_path_factory.mktemp("playground")
    pack(folder / "cedilla.zip")
    zipfile.ZipFile(folder / "cedilla.zip").extractall(folder / "lib")
    page = (PAGE / "playground.py").read_text("utf-8").replace("/tmp/playground", f"{folder}/work")
    (folder / "page.py").write_text(
        f"import sys\nsys.path.insert(0, {str(folder / 'lib')!r})\n{page}\nprint(answers(*sys.argv[1:]))\n"
    )

    @cache
    def answers(query: str, data: str) -> dict[str, str]:
        # -S: no other package can be imported; -E: no path of the environment.
        command = [sys.executable, "-S", "-E", str(folder / "page.py"), query, data]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    return answers


@pytest.mark.rest
def test_the_archive_answers_with_nothing_else_installed(answers: Answers) -> None:
    answer = answers(QUERY, DATA)
    assert answer["output"].splitlines() == [
        'set aside (RQ303): {"ts": 1, "pump": 9, "litres": 0.14}',
        '{"w": 0, "litres": 120.0}',
        '{"$punctuation": "[w < 1]"}',
    ]
    assert "Aggregate flow, line 2: 2 in, 1 out" in answer["rows"]
    assert answer["plan"].startswith("emit flow")
    assert "propagates" in answer["accents"]
    assert answer["findings"] == "no errors or warnings"


@pytest.mark.rest
def test_a_link_replaces_no_module(answers: Answers) -> None:
    """The data of a link are those of a stranger."""
    escapes = "# ../lib/cedilla/grammar/__init__.py\nraise SystemExit\n# x.py\nraise SystemExit\n"
    assert answers(QUERY, escapes + DATA) == answers(QUERY, DATA)


MINUTE = '{"minute": "2026-05-04T10:00:00.000000Z", "litres": 120.0}'
OUTPUTS = {
    "unit": [MINUTE],
    "field": [MINUTE, MINUTE.replace("10:00", "10:01").replace("}", ', "celsius": 41.0}')],
    "rename": [MINUTE],
    "version": [MINUTE],
}
SET_ASIDE = {"rename": ["RQ313"]}


@pytest.mark.parametrize("example", tiered(EXAMPLES), ids=[example["name"] for example in EXAMPLES])
def test_an_example_gives_what_its_words_say(answers: Answers, example: dict[str, str]) -> None:
    answer = answers(example["query"], example["data"])
    lines = answer["output"].splitlines()
    assert [line for line in lines if line.startswith('{"minute"')] == OUTPUTS[example["name"]]
    assert re.findall(r"^set aside \((RQ\d+)\)", answer["output"], re.MULTILINE) == SET_ASIDE.get(
        example["name"], []
    )
    assert answer["findings"] == "no errors or warnings"


def test_the_first_example_is_silently_wrong_without_its_accent(answers: Answers) -> None:
    data = "\n".join(line for line in EXAMPLES[0]["data"].splitlines() if "accent" not in line)
    assert '"litres": 95.025' in answers(EXAMPLES[0]["query"], data)["output"]
    assert "silently 95" in EXAMPLES[0]["words"]


def test_the_program_that_packs_imports_nothing_that_a_site_lacks() -> None:
    """`make site` installs the extra `site` only; Pygments comes with it."""
    for file in ("playground.py", "site.py"):
        modules = {name.partition(".")[0] for name in imports(ROOT / "tests" / "docs" / file)}
        assert modules <= {*sys.stdlib_module_names, "cedilla"}, file


def test_the_page_names_files_that_exist() -> None:
    text = (PAGE / "index.html").read_text("utf-8") + (PAGE / "page.js").read_text("utf-8")
    assert 'src="page.js"' in text
    assert 'Worker("worker.js"' in text
    assert (PAGE / "page.js").is_file()
    assert '"playground.py"' in (PAGE / "worker.js").read_text("utf-8")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The page on a server; its worker answers with what it was asked, without Python."""
    shutil.copytree(PAGE, tmp_path / "playground")
    (tmp_path / "playground" / "worker.js").write_text(
        "onmessage = ({ data }) => postMessage({ state: 'ready', answers: { output: data.data, plan: data.query } });",
        "utf-8",
    )
    (tmp_path / "playground" / "words.json").write_text(json.dumps(words()), "utf-8")
    (tmp_path / "favicon.ico").write_bytes(b"")
    with served_folder(tmp_path) as address:
        yield address


@pytest.mark.parametrize("width", tiered([1200, 420]))
def test_the_page_asks_after_each_change_and_shows_the_answer_of_a_tab(
    browser: Browser, address: str, width: int
) -> None:
    tab = opened(browser, address, width)
    tab.goto(f"{address}playground/index.html")
    expect(tab.locator("#state")).to_have_text("ready")
    expect(tab.locator("#answer")).to_contain_text("# pumps/1.jsonl")
    expect(tab.locator(".editor .statement").first).to_have_text("stream")
    tab.fill("#query", "emit <b>r</b>;")
    tab.click("#tab-plan")
    expect(tab.locator("#answer")).to_have_text("emit <b>r</b>;")
    expect(tab.locator("[aria-selected=true]")).to_have_text("plan")
    assert not tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert tab.wrong == []  # type: ignore[attr-defined]


def test_an_address_carries_the_query_and_an_example(browser: Browser, address: str) -> None:
    tab = opened(browser, address)
    tab.goto(f"{address}playground/index.html")
    tab.select_option("#example", "version")
    expect(tab.locator("#words")).to_contain_text("firmware 2.0")
    assert tab.url.endswith("#example=version")
    tab.fill("#query", "emit <b>x & y</b>; # %20+")
    expect(tab.locator("#words")).to_contain_text("Your own query")
    other = opened(browser, tab.url)
    expect(other.locator("#query")).to_have_value("emit <b>x & y</b>; # %20+")
    expect(other.locator("#data")).to_have_value(EXAMPLES[3]["data"])
    tab.select_option("#example", "field")
    expect(tab.locator("#answer")).to_contain_text("celsius")


def test_panes_keep_their_width_when_a_line_is_long(browser: Browser, address: str) -> None:
    tab = opened(browser, f"{address}playground/index.html")
    widths = "[...document.querySelectorAll('section')].map(s => s.clientWidth)"
    before = tab.evaluate(widths)
    tab.fill("#data", "x" * 5_000)
    expect(tab.locator("#answer")).to_contain_text("xxx")
    assert tab.evaluate(widths) == before


def test_what_is_written_before_the_examples_are_there_is_not_replaced(
    browser: Browser, address: str
) -> None:
    tab = browser.new_page()

    def late(route: Route) -> None:
        tab.wait_for_timeout(500)
        route.continue_()

    tab.route("**/examples.json", late)
    tab.goto(f"{address}playground/index.html")
    tab.fill("#data", "mine")
    expect(tab.locator("#answer")).to_have_text("mine")


def test_a_page_that_cannot_start_says_why_and_what_to_do(browser: Browser, tmp_path: Path) -> None:
    """One that was opened as a file, and a site without Pyodide or the archive."""
    tab = browser.new_page()
    tab.goto((PAGE / "index.html").as_uri())
    expect(tab.locator("#state")).to_contain_text("from a server only")
    expect(tab.locator("#state")).to_contain_text("make serve")
    shutil.copytree(PAGE, tmp_path / "playground")
    with served_folder(tmp_path) as address:
        tab.goto(f"{address}playground/index.html")
        expect(tab.locator("#state")).to_contain_text("no Pyodide")
        expect(tab.locator("#state")).to_contain_text("install Node and run `make site`")
        (tmp_path / "playground" / "pyodide").mkdir()
        (tmp_path / "playground" / "pyodide" / "pyodide.mjs").write_text(
            "export const loadPyodide = async () => ({});"
        )
        tab.goto(f"{address}playground/index.html")
        expect(tab.locator("#state")).to_contain_text("no playground/cedilla.zip")
