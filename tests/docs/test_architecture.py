"""The page of architecture has the rooms of the runtime in their order, and an epoch with real values."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples import blocks
from tests.kit import ROOT
from tests.kit.imports import rooms

FILE = ROOT / "docs" / "architecture.md"
PAGE = FILE.read_text("utf-8")


def test_the_page_leads_with_the_rooms() -> None:
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    assert set(re.findall(r"(?m)^\| `(\w+)/` \|", table)) == set(rooms("runtime"))


def test_the_picture_has_the_rooms_in_their_order() -> None:
    (chain,) = re.findall(r"(?m)^  (\w+(?: --> \w+){5})$", PAGE)
    assert chain.split(" --> ") == list(reversed(rooms("runtime")))


@pytest.mark.rest
def test_the_epoch_that_is_followed_leaves_the_state_that_the_page_says(tmp_path: Path) -> None:
    """`test_cookbook.py` compares its result."""
    (query,) = blocks(FILE, "rq")
    (lines,) = (block for block in blocks(FILE, "json") if block.info == "json sensors/1.jsonl")
    (tmp_path / "sensors").mkdir()
    (tmp_path / "sensors" / "1.jsonl").write_text(lines.text, "utf-8")
    (tmp_path / "q.rq").write_text(query.text, "utf-8")
    cedilla = str(Path(sys.executable).parent / "cedilla")
    run = [cedilla, "run", "q.rq", "--once", "--engine", "sail", "--checkpoint", "c"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    commit = json.loads((tmp_path / "c" / "commits" / "000000000000.json").read_text("utf-8"))
    source = commit["sources"]["sensors"]
    assert source["units"]["t"]["points"] == [[2, [["1", "0"], ["5/9", "-160/9"]]]]
    assert source["original"]["t"]["points"] == [[2, ["9/5", "32"]]]
    assert source["closed"]["cuts"] == [[60, 0]]
    assert commit["segments"] == {}
    outputs = {path.name for path in (tmp_path / "mean" / "epoch=000000000000").iterdir()}
    assert outputs == {"1-tuples-00000.jsonl", "2-punctuations.jsonl"}
    assert all(name in PAGE for name in outputs)
