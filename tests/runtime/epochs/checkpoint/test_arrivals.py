"""The new files of a folder, for every engine: the checkpoint records them."""

import json
from pathlib import Path

from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.storage.files import Files, FoundFile
from cedilla.runtime.epochs.checkpoint.arrivals import Arrivals, Found
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.known_folders import KnownFolder, KnownFolders
from cedilla.runtime.epochs.checkpoint.read_files import seen


class Named(Files):
    """Files of which there are only names."""

    def fingerprint(self, file: FoundFile, length: int | None = None) -> str:
        return file.path


def arrivals(root: Path) -> Arrivals:
    """Returns the arrivals of a new process."""
    return Arrivals(Checkpoint(Named(), str(root)))


def found_files(*names: str, length: int = 1) -> Found:
    return Found([FoundFile(name, int(name), length) for name in names])


def take(root: Path, **sources: Found) -> tuple[int, dict[str, list[str]]] | None:
    """A batch that is kept, and the paths of its files."""
    batch = arrivals(root).batch(sources)
    if batch is None:
        return None
    number, files = batch
    Checkpoint(Files(), str(root)).order(number, files)
    return number, {name: [file.path for file in listed] for name, listed in files.items()}


def test_a_batch_has_the_files_that_none_has_had(tmp_path: Path) -> None:
    assert arrivals(tmp_path).last is None
    assert take(tmp_path, r=Found()) is None
    assert take(tmp_path, r=found_files("2", "1"), s=found_files("1")) == (0, {"r": ["1", "2"], "s": ["1"]})
    assert take(tmp_path, r=found_files("1"), s=found_files("1")) is None
    assert take(tmp_path, r=found_files("1", "2", "3"), s=found_files("1")) == (1, {"r": ["3"], "s": []})
    assert arrivals(tmp_path).last == 1
    # Another engine finds all of them again.
    assert take(tmp_path, r=found_files("1", "2", "3"), s=found_files("1", "2")) == (2, {"r": [], "s": ["2"]})


def test_a_file_that_has_no_bytes_yet_is_taken_later(tmp_path: Path) -> None:
    assert take(tmp_path, r=found_files("1", length=0)) is None
    assert take(tmp_path, r=found_files("1")) == (0, {"r": ["1"]})


def test_markers_stand_where_their_folder_has_them(tmp_path: Path) -> None:
    both = Found(found_files("1", "3").data, found_files("2").data)
    batch = arrivals(tmp_path).batch({"r": both})
    assert batch is not None
    assert [(file.path, file.is_markers) for file in batch[1]["r"]] == [
        ("1", False),
        ("2", True),
        ("3", False),
    ]


def test_files_are_added_to_a_batch_behind_its_own(tmp_path: Path) -> None:
    before = arrivals(tmp_path)
    batch = before.batch({"r": found_files("5"), "s": found_files("1")})
    assert batch is not None
    checkpoint = Checkpoint(Files(), str(tmp_path))
    files = checkpoint.order(*batch)
    assert before.added({"r": []}) == {"r": []}
    added = before.added({"r": found_files("4", "5", "3").data})
    assert [file.path for file in added["r"]] == ["3", "4"]
    checkpoint.keep_order(0, {**files, "r": [*files["r"], *added["r"]]})
    kept = Checkpoint(Files(), str(tmp_path)).order(0, {"r": [], "s": []})
    assert {name: [file.path for file in listed] for name, listed in kept.items()} == {
        "r": ["5", "3", "4"],
        "s": ["1"],
    }
    for state in (before, arrivals(tmp_path)):
        assert state.batch({"r": found_files("3", "4", "5"), "s": found_files("1")}) is None


def test_a_batch_that_was_never_kept_is_made_again(tmp_path: Path) -> None:
    take(tmp_path, r=found_files("1"))
    assert arrivals(tmp_path).batch({"r": found_files("1", "2")}) is not None
    assert take(tmp_path, r=found_files("1", "2")) == (1, {"r": ["2"]})


def test_many_batches_have_few_records(tmp_path: Path) -> None:
    """Eight records of as many batches each become one; each file is in one of them."""
    for number in range(75):
        assert take(tmp_path, r=found_files(*map(str, range(number + 1)))) == (number, {"r": [str(number)]})
    spans = [
        tuple(map(int, name.removesuffix(".json").split("-")))
        for name in sorted(path.name for path in (tmp_path / "files").iterdir())
    ]
    assert spans == [(0, 63), (64, 71), (72, 72), (73, 73)]
    assert [file.path for _, read in seen(Files(), str(tmp_path), None) for file in read] == [
        *map(str, range(74))
    ]


def test_a_record_that_a_crash_has_left_beside_the_longer_one_is_not_read(tmp_path: Path) -> None:
    for number in range(9):
        take(tmp_path, r=found_files(str(number)))
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["000000000000-000000000007.json"]
    (tmp_path / "files" / "000000000003-000000000003.json").write_text(json.dumps({"r": ["3"]}))
    assert [len(paths) for _, paths in seen(Files(), str(tmp_path), None)] == [8]
    assert take(tmp_path, r=found_files("3", "9")) == (9, {"r": ["9"]})


def test_files_of_topics_are_where_the_checkpoint_is() -> None:
    """A batch that was not done goes on in a checkpoint that has moved."""
    name = "topics/s/topic=t/partition=000003/00000000000000000005-00000000000000000009.jsonl"
    moved = KnownFolders("new/ck").locate("s", InputFile(f"old/ck/{name}", 7))
    assert moved == InputFile(f"new/ck/{name}", 7)


def test_a_folder_whose_name_begins_like_another_is_not_it() -> None:
    folders = KnownFolders("ck", {"r": KnownFolder("file:/b/r", "file:/a/r")})
    assert folders.record("r", "file:/b/r/1") == "file:/a/r/1"
    assert folders.record("r", "file:/b/r2/1") == "file:/b/r2/1"
    assert folders.locate("r", InputFile("file:/a/r/1")) == InputFile("file:/b/r/1")
    assert folders.place("r", "file:/a/r2/1") is None


def test_partitions_of_topics_are_in_no_order(tmp_path: Path) -> None:
    """Only files of folders are noted where their names deny it."""
    before = arrivals(tmp_path)
    names = [f"ck/topics/s/topic=t/partition={n:06d}/{0:020d}-{5:020d}.jsonl" for n in (3, 1)]
    before.batch({"s": Found([FoundFile(name, n, 1) for n, name in enumerate(names)]), "r": found_files("7")})
    assert before.notes == []
    before.batch({"r": Found([FoundFile("a9", 1, 1), FoundFile("a8", 2, 1)])})
    assert len(before.notes) == 1
