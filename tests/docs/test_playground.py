"""The playground's archive is enough to compile and simulate: nothing compiled is imported."""

import json
import subprocess
import sys
from pathlib import Path

from tests.docs.playground import pack
from tests.kit import ROOT

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
