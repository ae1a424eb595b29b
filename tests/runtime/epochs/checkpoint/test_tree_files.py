"""Large trees of commit records in files of their own, which are written where they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cedilla.compiler import regions
from cedilla.compiler.regions import Level, Tree
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles
from cedilla.runtime.epochs.checkpoint.tree_files import FOLDER, StoredTrees, TreeFiles, load_history
from tests.kit.work import calls

HISTORIES = [tuple(Affine(1, shift) for shift in range(length + 1)) for length in range(200)]


def _trees(root: Path) -> tuple[TreeFiles, SealedFiles]:
    documents = SealedFiles(Files(), str(root))
    (root / FOLDER).mkdir()
    return TreeFiles(documents, 0), documents


def _by_time(count: int) -> Tree:
    return Level("ts", HISTORIES[0], tuple((cut, 1) for cut in range(1, count)), tuple(HISTORIES[:count]))


def test_a_tree_of_ranges_is_written_once(tmp_path: Path) -> None:
    trees, documents = _trees(tmp_path)
    tree = _by_time(150)
    first = trees.during(0).dump("units", tree)
    name = first["base"]
    again: list[Any] = []
    assert calls(lambda: again.append(trees.during(1).dump("units", tree))) < 20
    assert again == [{"base": name}]
    assert [file.name for file in (tmp_path / FOLDER).iterdir()] == [name]
    for record in (first, *again):
        assert StoredTrees(documents).load("units", record, load_history) == tree


def test_a_new_range_is_written(tmp_path: Path) -> None:
    trees, documents = _trees(tmp_path)
    trees.during(0).dump("units", _by_time(150))
    later = regions.update(_by_time(150), regions.interval("ts", (500, 0), None), lambda _: (IDENTITY,))
    record = trees.during(1).dump("units", later)
    assert record["base"].startswith("000000000001")
    assert StoredTrees(documents).load("units", record, load_history) == later


def test_a_new_run_goes_on_with_the_file_of_the_one_before(tmp_path: Path) -> None:
    trees, documents = _trees(tmp_path)
    record = trees.during(0).dump("units", _by_time(150))
    later = TreeFiles(documents, 1)
    tree = later.load("units", {"base": record["base"]}, load_history)
    assert later.during(1).dump("units", tree) == {"base": record["base"]}


def test_a_small_tree_lies_in_the_record(tmp_path: Path) -> None:
    trees, _ = _trees(tmp_path)
    assert trees.during(0).dump("units", _by_time(5))["attribute"] == "ts"
    assert not [*(tmp_path / FOLDER).iterdir()]
