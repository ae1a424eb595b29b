"""Files that were moved, rotated, copied or overwritten since they were read: every content is read once, or a code."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from attrs import define, evolve, field

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.connectors.storage.folder_tree import FolderTree, Listing
from cedilla.runtime.epochs.checkpoint.arrivals import Arrivals, Found
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder, KnownFolders
from cedilla.runtime.epochs.checkpoint.read_files import KnownFiles, ReadFile
from cedilla.runtime.epochs.checkpoint.recognition import Recognition
from tests.kit.errors import code_of
from tests.kit.rotations import Producer, Reckoning
from tests.kit.tiers import tiered


@define
class Source:
    """A folder of a stream, and what runs over one checkpoint read of it."""

    root: Path
    restarts: bool = False
    """True: each look is that of a new process."""
    moment: int = 0
    arrivals: Arrivals = field(init=False)
    tree: FolderTree = field(init=False)
    told: list[str] = field(init=False, factory=list[str])
    """Notes, and the codes of warnings, of the last look."""
    messages: list[str] = field(init=False, factory=list[str])
    """Those of its warnings."""

    def __attrs_post_init__(self) -> None:
        self.folder.mkdir()
        self.restart()

    @property
    def folder(self) -> Path:
        return self.root / "in"

    def restart(self) -> None:
        """A new process."""
        checkpoint = Checkpoint(Files(), str(self.root / "ck"))
        at = f"file:{self.folder}"
        checkpoint.folders = KnownFolders(checkpoint.path, {"r": KnownFolder(at, at)})
        self.arrivals = Arrivals(checkpoint)
        self.tree = FolderTree(checkpoint.files, str(self.folder))

    def write(self, name: str, text: str) -> None:
        """Writes a file at a moment of its own."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.moment += 1
        os.utime(path, (self.moment, self.moment))

    def move(self, before: str, after: str) -> None:
        (self.folder / after).parent.mkdir(exist_ok=True)
        (self.folder / before).rename(self.folder / after)

    def copy(self, before: str, after: str) -> None:
        """Copies a file without its time."""
        self.write(after, (self.folder / before).read_text())

    def touch(self, name: str) -> None:
        self.moment += 1
        os.utime(self.folder / name, (self.moment, self.moment))

    def found(self) -> Found:
        """The files that are there, and what has changed since the last look of this process."""
        self.tree._next_whole = 0.0  # also what was written into old ones
        return Found(self.tree.look(), is_whole=True)

    def look(self) -> list[str]:
        """Returns the contents of the files that a look finds new."""
        if self.restarts:
            self.restart()
        arrivals = self.arrivals
        batch = arrivals.batch({"r": self.found()})
        self.told = [*arrivals.changes, *(warning.code for warning in arrivals.warnings)]
        self.messages = [warning.message for warning in arrivals.warnings]
        arrivals.changes.clear()
        arrivals.warnings.clear()
        if batch is None:
            return []
        arrivals.checkpoint.order(*batch)
        return [Path(file.path.removeprefix("file:")).read_text() for file in batch[1]["r"]]


@pytest.fixture(params=[False, True], ids=["one-process", "restarts"])
def source(tmp_path: Path, request: pytest.FixtureRequest) -> Source:
    return Source(tmp_path, request.param)


def test_a_log_that_is_rotated_is_read_once(source: Source) -> None:
    """Again and again; the oldest one goes."""
    for number in range(6):
        for older in range(2, 0, -1):
            if (source.folder / f"app.{older}.jsonl").exists():
                source.move(f"app.{older}.jsonl", f"app.{older + 1}.jsonl")
        if number:
            source.move("app.jsonl", "app.1.jsonl")
        source.write("app.jsonl", f"line {number}\n")  # all of one length
        assert source.look() == [f"line {number}\n"]
        assert source.look() == []
        assert all("which was read and has moved" in note for note in source.told)


def test_several_rotations_between_two_looks_lose_nothing(source: Source) -> None:
    source.write("app.jsonl", "a\n")
    assert source.look() == ["a\n"]
    source.move("app.jsonl", "app.3.jsonl")
    source.write("app.2.jsonl", "b\n")
    source.write("app.1.jsonl", "c\n")
    source.write("app.jsonl", "d\n")
    assert source.look() == ["b\n", "c\n", "d\n"]


def test_a_file_that_comes_where_one_has_moved_away_is_new(source: Source) -> None:
    """However much later, and whether the other one still exists."""
    source.write("app.jsonl", "a\n")
    source.look()
    source.move("app.jsonl", "old/app.jsonl")
    source.write("x.jsonl", "x\n")
    assert source.look() == ["x\n"]
    (source.folder / "old/app.jsonl").unlink()
    source.write("app.jsonl", "b\n")
    assert (source.look(), source.told) == (["b\n"], [])


def test_a_rotation_by_copy_is_read_once(source: Source) -> None:
    """`copytruncate`: the copy has another time, and the log is cut."""
    source.write("app.jsonl", "a\n")
    source.look()
    source.copy("app.jsonl", "app.1.jsonl")
    source.write("app.jsonl", "")
    assert source.look() == []
    source.write("app.jsonl", "b\n")
    assert (source.look(), source.look()) == (["b\n"], [])


def test_files_that_change_places_are_known(source: Source) -> None:
    source.write("1.jsonl", "a\n")
    source.write("2.jsonl", "bb\n")
    source.look()
    for before, after in (("1.jsonl", "3.jsonl"), ("2.jsonl", "1.jsonl"), ("3.jsonl", "2.jsonl")):
        source.move(before, after)
    assert source.look() == []
    assert len(source.told) == 1


def test_a_new_file_of_the_same_moment_as_the_one_before_is_read(source: Source) -> None:
    """A listing does not tell them apart, but the older one is found under its new name."""
    source.write("app.jsonl", "a\n")
    source.look()
    source.move("app.jsonl", "app.1.jsonl")
    source.moment -= 1
    source.write("app.jsonl", "b\n")
    assert (source.look(), source.look()) == (["b\n"], [])


def test_a_copy_beside_its_original_is_a_file_of_its_own(source: Source) -> None:
    """Two files may have the same rows."""
    source.write("1.jsonl", "a\n")
    source.look()
    source.copy("1.jsonl", "2.jsonl")
    shutil.copy2(source.folder / "1.jsonl", source.folder / "3.jsonl")
    assert (sorted(source.look()), source.told) == (["a\n", "a\n"], [])


def test_times_alone_change_nothing(source: Source) -> None:
    """A copy that does not keep them, `touch`, a checkout; known times are recorded with the next batch."""
    for name in ("1.jsonl", "2.jsonl"):
        source.write(name, f"{name}\n")
    source.look()
    for name in ("1.jsonl", "2.jsonl"):
        source.touch(name)
    assert (source.look(), source.told) == ([], [])
    source.write("3.jsonl", "c\n")
    assert source.look() == ["c\n"]
    source.restart()
    assert [read.modified for read in source.arrivals._known["r"].by_path.values()] == [3000, 4000, 5000]


@pytest.mark.parametrize("text", ["c\n", "cc\n", "c", "", "a\nb\n"])
def test_what_is_overwritten_in_place_is_told_and_not_read(source: Source, text: str) -> None:
    """Of the same length, longer, shorter, empty, or with lines behind the others; under a new name it is read."""
    source.write("1.jsonl", "a\n")
    source.write("2.jsonl", "b\n")
    source.look()
    source.write("1.jsonl", text)
    assert (source.look(), source.told) == ([], ["RQ457"])
    source.move("1.jsonl", "3.jsonl")
    if text and not text.startswith("a\n"):
        assert (source.look(), source.told) == ([text], [])


def test_a_large_file_that_changes_only_in_its_middle_is_taken_for_the_same(source: Source) -> None:
    """Its ends and its length are compared, because a look must not read all that was ever read."""
    lines = [f"{number:07}\n" for number in range(10_000)]
    source.write("1.jsonl", "".join(lines))
    source.look()
    lines[5_000] = "changed\n"
    source.write("1.jsonl", "".join(lines))
    assert (source.look(), source.told) == ([], [])
    lines[-1] = "changed\n"
    source.write("1.jsonl", "".join(lines))
    assert (source.look(), source.told) == ([], ["RQ457"])


def test_it_is_told_once_in_a_run(tmp_path: Path) -> None:
    source = Source(tmp_path)
    for name in ("1.jsonl", "2.jsonl", "3.jsonl"):
        source.write(name, "a\n")
    source.look()
    source.write("1.jsonl", "b\n")
    source.write("2.jsonl", "b\n")
    assert (source.look(), source.told) == ([], ["RQ457"])
    assert source.messages == [
        f"file:{source.folder}/1.jsonl with tuples of `r` is not what it was when it was read: "
        "it has 2 bytes as before, and other ones; so are 1 more"
    ]
    assert (source.look(), source.told) == ([], [])
    source.write("1.jsonl", "c\n")
    assert (source.look(), source.told) == ([], ["RQ457"])


def test_a_move_that_a_look_saw_half_is_understood_by_the_next_one(tmp_path: Path) -> None:
    """A folder cannot be listed at once."""
    source = Source(tmp_path)
    source.write("app.jsonl", "a\n")
    source.write("other.jsonl", "o\n")
    source.look()
    source.move("app.jsonl", "_hidden")
    source.write("app.jsonl", "b\n")
    assert (source.look(), source.told) == ([], ["RQ457"])
    source.move("_hidden", "app.1.jsonl")
    assert source.look() == ["b\n"]


def test_other_files_by_all_known_names_are_refused(source: Source) -> None:
    """Another disk is mounted there, or the files were made again; the lengths do not matter."""
    source.write("1.jsonl", "a\n")
    source.write("2.jsonl", "b\n")
    source.look()
    source.write("1.jsonl", "c\n")
    source.write("2.jsonl", "d\n")
    with pytest.raises(DiagnosticError, match="RQ452"):
        source.look()


def test_a_log_that_grew_before_it_was_rotated_is_refused(source: Source) -> None:
    """To read it would double its first rows, to skip it would lose the last ones."""
    source.write("app.jsonl", "a\n")
    source.write("other.jsonl", "o\n")
    source.look()
    source.write("app.1.jsonl", "a\nb\n")
    source.write("app.jsonl", "c\n")
    with pytest.raises(DiagnosticError, match=r"RQ452.*app\.1\.jsonl.*begins with all that .*app\.jsonl had"):
        source.look()
    source.move("app.1.jsonl", "_app.1.jsonl")
    source.write("app.1b.jsonl", "b\n")
    assert source.look() == ["b\n"]


@pytest.mark.parametrize("text", ["a\n", "a\nb\n"])
def test_bytes_of_a_file_that_is_gone_are_read_with_a_warning(source: Source, text: str) -> None:
    """Nothing tells a move that lost the time, or an addition, from a new file that begins alike."""
    source.write("1.jsonl", "a\n")
    source.look()
    (source.folder / "1.jsonl").unlink()
    source.write("2.jsonl", text)
    assert (source.look(), source.told) == ([text], ["RQ458"])
    assert (source.look(), source.told) == ([], [])


def test_a_file_that_vanishes_while_it_is_listed_is_told(tmp_path: Path) -> None:
    source = Source(tmp_path)
    source.write("1.jsonl", "aa\n")
    source.write("2.jsonl", "b\n")
    tree = source.tree

    class Moving(FolderTree):
        def look(self) -> Listing:
            listed = tree.look()
            source.write("1.jsonl", "a\n")
            source.move("2.jsonl", "3.jsonl")
            source.tree = tree
            return listed

    source.tree = Moving(tree.files, tree.path)
    assert source.look() == []
    assert [note.partition(" was ")[2] for note in source.told] == [
        "moved, deleted or cut while it was listed: it is not read yet"
    ] * 2
    assert sorted(source.look()) == ["a\n", "b\n"]


def test_records_of_an_older_form_know_files_by_place_length_and_time(source: Source) -> None:
    """They have no fingerprints; the first look at a changed time adds one."""
    source.write("1.jsonl", "a\n")
    source.write("2.jsonl", "b\n")
    source.look()
    records = source.arrivals._known["r"].by_path.values()
    source.arrivals._known["r"] = KnownFiles({r.path: evolve(r, fingerprint=None) for r in records})
    source.touch("1.jsonl")
    source.move("2.jsonl", "old/2.jsonl")
    assert source.arrivals.batch({"r": source.found()}) is None
    assert source.arrivals._known["r"].by_path[f"file:{source.folder}/1.jsonl"].fingerprint is not None


def test_a_new_file_costs_the_same_beside_many_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look after a new file asks what that brought, and what the last look has left open."""
    source, asked = Source(tmp_path), list[int]()
    of_look = Recognition._asked

    def counted(self: Recognition) -> list[FoundFile]:
        files = [*of_look(self)]
        asked.append(len(files))
        return files

    monkeypatch.setattr(Recognition, "_asked", counted)
    for number in range(100):
        source.write(f"{number}.jsonl", f"{number}\n")
    for number in range(3):
        source.look()
        source.write(f"new{number}.jsonl", f"{number} more\n")
    assert source.look() == ["2 more\n"]
    of_tuples = [count for count in asked if count]
    assert of_tuples == [100, 101, 2, 2]


def test_files_of_the_same_bytes_are_known_once_each() -> None:
    """In the order of their first records, by the bytes of the last ones."""
    files = KnownFiles()
    files.update(ReadFile(f"{n}", 5, n, "same") for n in range(3))
    assert [file.path for file in files.with_bytes(5, "same")] == ["0", "1", "2"]
    files.update([ReadFile("1", 5, 9, "same"), ReadFile("0", 5, 9, "other"), ReadFile("3", 5, 9, "same")])
    assert [file.path for file in files.with_bytes(5, "same")] == ["1", "2", "3"]
    assert [file.path for file in files.with_bytes(5, "other")] == ["0"]


# --- at random -----------------------------------------------------------------------------------------------


def check_at_random(source: Source, seed: int, *, rough: bool) -> None:
    """Each row is read once, or a look says a code; one that can be understood says none."""
    producer = Producer(source.folder, random.Random(seed))
    reckoning, read = Reckoning(producer), Counter[int]()
    for _ in range(8):
        producer.change(rough=rough)
        texts = list[str]()
        refused = code_of(lambda: texts.extend(source.look()))  # noqa: B023
        for text in texts:
            read.update(json.loads(line)["k"] for line in text.splitlines())
        codes = [note for note in source.told if note.startswith("RQ")]
        assert rough or (refused is None and not codes), producer.done
        if refused is not None:
            assert refused == "RQ452"
            return
        reckoning.check(read, is_told=bool(codes))


@pytest.mark.parametrize("rough", [False, True], ids=["moves", "rough"])
@pytest.mark.parametrize("block", tiered(range(20)))
def test_whatever_a_producer_does_each_row_is_read_once_or_a_code_is_said(
    tmp_path: Path, block: int, rough: bool
) -> None:
    for seed in range(block * 20, block * 20 + 20):
        root = tmp_path / str(seed)
        root.mkdir()
        check_at_random(Source(root, restarts=seed % 2 == 0), seed, rough=rough)
