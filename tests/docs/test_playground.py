"""The playground's archive is enough to compile and simulate: nothing compiled is imported."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.docs.playground import pack
from tests.kit import ROOT
from tests.kit.browser import opened, served_folder
from tests.kit.tiers import tiered

PAGE = ROOT / "docs" / "playground"
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


def test_the_archive_answers_with_nothing_else_installed(tmp_path: Path) -> None:
    pack(tmp_path / "cedilla.zip")
    script = (
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "page = open(sys.argv[3]).read().replace('/tmp/playground', sys.argv[2] + '/work')\n"
        "exec(compile(page, 'playground.py', 'exec'))\n"
        "print(answers(sys.argv[4], sys.argv[5]))\n"
    )
    arguments = [
        str(tmp_path / "cedilla.zip"),
        str(tmp_path / "lib"),
        str(PAGE / "playground.py"),
        QUERY,
        DATA,
    ]
    # -S: no other package can be imported; -E: no path of the environment.
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout)
    assert answers["output"].splitlines() == [
        'set aside (RQ303): {"ts": 1, "pump": 9, "litres": 0.14}',
        '{"w": 0, "litres": 120.0}',
        '{"$punctuation": "[w < 1]"}',
    ]
    assert "Aggregate flow, line 2: 2 in, 1 out" in answers["rows"]
    assert answers["plan"].startswith("emit flow")
    assert "propagates" in answers["accents"]
    assert answers["findings"] == "nothing to complain about"


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
    tab.fill("#query", "emit <b>r</b>;")
    tab.click("#tab-plan")
    expect(tab.locator("#answer")).to_have_text("emit <b>r</b>;")
    expect(tab.locator("[aria-selected=true]")).to_have_text("plan")
    assert not tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert tab.wrong == []  # type: ignore[attr-defined]
