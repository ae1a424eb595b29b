"""A folder that is looked at again costs what is new: files that were there are not looked up."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cedilla.runtime.connectors.storage import folder_tree, stores
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.folder_tree import FolderTree


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose lengths and times are looked up."""
    names: list[str] = []
    entry: Callable[..., Any] = stores._entry

    def noted(local: str, *rest: Any, **more: Any) -> Any:
        names.append(Path(local).name)
        return entry(local, *rest, **more)

    monkeypatch.setattr(stores, "_entry", noted)
    monkeypatch.setattr(folder_tree, "_PAUSE", 1e9)  # a look at all files comes once
    return names


def grown(folder: Path, *names: str) -> None:
    """A folder with more files, which has not changed for long."""
    for name in names:
        (folder / name).write_text("{}\n")
    moment = len([*folder.iterdir()])
    os.utime(folder, (moment, moment))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "day").mkdir()
    grown(tmp_path / "day", "a", "b", "c")
    grown(tmp_path, "1", "2")
    return tmp_path


def names_of(tree: FolderTree) -> list[str]:
    return [Path(file.path).name for file in tree.look()]


def test_a_folder_that_has_not_changed_is_not_listed(
    folder: Path, looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = FolderTree(Files(), str(folder))
    first = tree.look()
    assert len(looked_up) == 6  # five files and a folder
    monkeypatch.setattr(os, "scandir", None)
    assert tree.look() is first
    assert len(looked_up) == 6


def test_of_a_folder_that_has_changed_only_new_files_are_looked_up(
    folder: Path, looked_up: list[str]
) -> None:
    tree = FolderTree(Files(), str(folder))
    tree.look()
    looked_up.clear()
    grown(folder / "day", "d")
    (folder / "1").unlink()
    assert names_of(tree) == ["2", "a", "b", "c", "d"]
    assert looked_up == ["d"]
    (folder / "_new").write_text("{}\n{}\n")
    (folder / "_new").replace(folder / "2")  # another file under the name of an old one
    assert [file.length for file in tree.look() if file.path.endswith("/2")] == [6]


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the folders that are listed."""
    names, scandir = list[str](), os.scandir

    def noted(path: Path) -> Any:
        names.append(path.name)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    return names


@pytest.mark.parametrize(("is_disk", "count"), [(True, 1), (False, 2)])
def test_names_are_listed_once_for_a_new_file_by_a_clock_that_is_known(
    folder: Path,
    looked_up: list[str],
    listed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    is_disk: bool,
    count: int,
) -> None:
    """The time of a folder in a network comes from the clock of a server, which may be behind this one."""
    monkeypatch.setattr(folder_tree, "_is_disk", lambda device: is_disk)
    monkeypatch.setattr(folder_tree, "_STEP", 60)
    monkeypatch.setattr(folder_tree, "_MANY", 0)
    tree = FolderTree(Files(), str(folder))
    tree.look()
    listed.clear()
    (folder / "day" / "d").write_text("{}\n")
    assert names_of(tree).count("d") == 1
    tree.look()
    assert listed == ["day"] * count  # and never the folder above it, which has not changed


def test_a_disk_of_this_machine_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, proc = Path("/").stat().st_dev, Path("/proc").stat().st_dev
    mounts = [
        f"22 27 {os.major(device)}:{os.minor(device)} / / rw - {kind} x rw"
        for device, kind in ((root, "ext4"), (proc, "nfs4"))
    ]
    monkeypatch.setattr(Path, "read_text", lambda path: "\n".join(mounts))
    is_disk = folder_tree._is_disk.__wrapped__
    assert (is_disk(root), is_disk(proc), is_disk(12345)) == (True, False, False)


def test_a_folder_that_changes_right_now_is_listed_again(
    folder: Path, looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time has steps: what comes in the one of the last look does not change it."""
    monkeypatch.setattr(folder_tree, "_TICK", 60)
    (folder / "3").write_text("{}\n")
    tree = FolderTree(Files(), str(folder))
    tree.look()
    status = folder.stat()
    (folder / "4").write_text("{}\n")
    os.utime(folder, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "4" in names_of(tree)


def test_an_empty_file_and_a_link_are_looked_up_until_they_have_something(
    folder: Path, looked_up: list[str], tmp_path: Path
) -> None:
    (folder / "3").touch()
    grown(folder)
    tree = FolderTree(Files(), str(folder))
    lengths = {Path(file.path).name: file.length for file in tree.look()}
    assert lengths["3"] == 0
    (folder / "3").write_text("{}\n")  # the folder does not change
    lengths = {Path(file.path).name: file.length for file in tree.look()}
    assert lengths["3"] == 3
    (folder / "link").symlink_to(folder / "1")
    grown(folder)
    tree.look()
    (folder / "1").write_text("{}\n{}\n")
    assert [file.length for file in tree.look() if file.path.endswith("link")] == [6]


def test_what_changes_inside_of_an_old_file_is_seen_by_the_next_whole_look(
    folder: Path, looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = FolderTree(Files(), str(folder))
    tree.look()
    (folder / "1").write_text("{}\n{}\n")
    assert next(iter(tree.look())).length == 3
    monkeypatch.setattr(tree, "_next_whole", 0.0)
    assert next(iter(tree.look())).length == 6


def test_a_folder_that_goes_away_and_comes_back_is_seen(folder: Path, looked_up: list[str]) -> None:
    tree = FolderTree(Files(), str(folder / "day"))
    first = [*tree.look()]
    (folder / "day").rename(folder / "night")
    assert [*tree.look()] == []
    (folder / "night").rename(folder / "day")
    assert [*tree.look()] == first


@pytest.mark.parametrize("seed", range(20))
def test_a_listing_is_the_one_before_with_what_has_changed(tmp_path: Path, seed: int) -> None:
    """Whatever comes, goes, is replaced or changes its kind: a tree that is asked again has what a new one has."""
    rng, tree, held = random.Random(seed), FolderTree(Files(), str(tmp_path)), dict[str, FoundFile]()
    mark: object = tree.look().mark
    for step in range(40):
        for _ in range(rng.randrange(3)):
            change(rng, tmp_path, step)
        listing = tree.look()
        if listing.mark is not mark:
            assert listing.before is mark
            held = {path: file for path, file in held.items() if path not in listing.gone}
            held |= {file.path: file for file in listing.changed}
            mark = listing.mark
        assert held == listing.files == {file.path: file for file in Files().tree(str(tmp_path))}


def change(rng: random.Random, root: Path, step: int) -> None:
    """Something that programs do to a folder; a name has a new number on the disk where its content is new."""
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    at = rng.choice(folders) / rng.choice("abcd_")
    kept = root.parent / f"kept{step}-{rng.random()}"  # numbers on the disk are not used again
    if at.exists() and rng.random() < 0.8:
        outside = [folder for folder in folders if not folder.is_relative_to(at)]
        at.rename(kept if rng.random() < 0.6 else rng.choice(outside) / f"moved{step}")
    elif not at.exists() and rng.random() < 0.3:
        at.mkdir()
    elif not at.exists():
        at.write_text("{}\n" * rng.randrange(3))
