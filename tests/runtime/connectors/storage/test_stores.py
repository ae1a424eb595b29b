"""Files without an engine: local folders, what stands for them in a URI, and what cannot be reached."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from urllib.parse import quote

import pytest
from pyspark.sql import SparkSession

from cedilla.compiler import compile_query
from cedilla.runtime.connectors.formats.listing import listed_files
from cedilla.runtime.connectors.records.lines import files_of
from cedilla.runtime.connectors.storage import stores
from cedilla.runtime.connectors.storage.files import Files, FoundFile, name_of
from cedilla.runtime.connectors.storage.written import written
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from tests.kit.errors import code_of, error_of, error_text

PLAN = compile_query('stream r(s: int) from json "in";\nemit r to json "out";').plan
ODD = "a b%20c#d?e=ö"
"""A name of which every sign means itself."""


def put(path: Path, text: str = "x", microseconds: int = 1_000_000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(microseconds * 1000, microseconds * 1000))
    return path


def test_files_and_the_folders_up_to_a_root_are_made_durable_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(stores, "_sync_one", synced.append)
    root = tmp_path / "out"
    inside = [root / "run=1" / "epoch=2" / name for name in ("a.json", "b.json")]
    Files().sync([*map(str, inside), f"file:{tmp_path}/elsewhere/c.json"], str(root))
    expected = {*inside, root / "run=1" / "epoch=2", root / "run=1", root, tmp_path / "elsewhere" / "c.json"}
    assert (len(synced), {*synced}) == (len(expected), expected)


def test_paths_follow_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other"):
        put(tmp_path / name / "f.json", name)
        monkeypatch.chdir(tmp_path / name)
        assert Files().read("f.json") == Files().read(f"file:{tmp_path}/{name}/f.json") == name
        assert Files().absolute("x/../f.json") == f"file:{tmp_path}/{name}/f.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that are seen, those that are not, and links."""
    root = tmp_path / ODD
    put(root / "b.jsonl", "12345", 1_700_000_000_123_000)
    put(root / "a.jsonl", "", 1_700_000_000_999_999)
    put(root / "below" / "c.jsonl", "123", 2_000_000)
    for hidden in (".d", "_d", "_epoch=1/d", ".e/d", "below/_d"):
        put(root / hidden)
    put(tmp_path / "elsewhere" / "far.jsonl", "1234567", 5_000_000)
    (root / "link.jsonl").symlink_to(tmp_path / "elsewhere" / "far.jsonl")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "nowhere.jsonl").symlink_to(tmp_path / "nothing")
    return root


def test_a_listing_is_that_of_spark(spark: SparkSession, folder: Path) -> None:
    """Names, lengths, and milliseconds of modification; links are what they point to."""
    # Spark passes over what has no bytes.
    files = Files([str(folder.parent)])
    files_seen = [file for file in files.tree(str(folder)) if file.length]
    listed = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(str(folder))
    times = {
        row["path"]: row["modified"]
        for row in listed.selectExpr("path", "unix_millis(modificationTime) AS modified").collect()
    }
    assert sorted((file.path, file.length) for file in files_seen) == sorted(
        (file.path, file.length) for file in listed_files(files, str(folder))
    )
    assert {file.path: file.modified for file in files_seen} == {
        file.path: times[file.path] for file in files_seen
    }
    assert [name_of(file.path) for file in files_seen] == [
        "b.jsonl",
        "link.jsonl",
        "c.jsonl",
        "far.jsonl",
    ]


def test_a_listing_has_visible_files_by_name(folder: Path) -> None:
    files = Files()
    actual = files.list(str(folder))
    assert [(name_of(f.path), f.modified, f.length) for f in actual] == [
        ("a.jsonl", 1_700_000_000_999, 0),
        ("b.jsonl", 1_700_000_000_123, 5),
        ("link.jsonl", 5000, 7),
    ]
    assert files.list(f"{folder}/b.jsonl") == [actual[1]]
    assert files.list(f"{folder}/nothing") == files.list(f"{folder}/_d") == []
    assert files.folders(str(folder), "") == [".e", "_epoch=1", "below", "linked"]
    assert files.folders(str(folder), "_epoch=") == ["_epoch=1"]


FORMS: dict[str, Callable[[Path], str]] = {
    "as it is": str,
    "with a slash": lambda path: f"{path}/",
    "one slash": lambda path: f"file:{path}",
    "three slashes": lambda path: f"file://{path}",
    "up and down": lambda path: f"{path}/below/../../{path.name}/.",
    "relative": os.path.relpath,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_place_has_several_forms(form: str, folder: Path) -> None:
    """Of before, too: what records of old hold goes on."""
    files, path = Files(), FORMS[form](folder)
    assert files.absolute(path) == f"file:{folder}"
    assert files.list(path) == files.list(str(folder))
    assert files.exists(path)
    assert not files.exists(f"{path}-")
    assert files.for_engine(path).removeprefix("file://") == str(folder)


@pytest.mark.parametrize("form", FORMS)
def test_spark_reads_and_writes_where_files_are_seen(spark: SparkSession, form: str, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    (folder / "below").mkdir()
    files, path = Files(), FORMS[form](folder)
    spark.range(3).coalesce(1).write.mode("append").json(files.for_engine(path))
    (file,) = files.list(path)
    assert files.read(file.path).split() == ['{"id":0}', '{"id":1}', '{"id":2}']
    assert spark.read.json(files.for_engine(path)).count() == 3
    (listed,) = listed_files(files, path)
    assert listed.path == file.path


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remains of a killed process are invisible."""
    files, path = Files(), f"{tmp_path}/new/commits/1.json"
    files.write(path, "one")
    files.write(path, "ä" * 10)
    assert files.read(path) == "ä" * 10

    def killed(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        files.write(path, "half")
    assert files.read(path) == "ä" * 10
    assert [name_of(file.path) for file in files.list(f"{tmp_path}/new/commits")] == ["1.json"]


def test_a_record_that_was_not_finished_is_passed_over(tmp_path: Path) -> None:
    """Earlier versions wrote it beside the others, under a name that is seen."""
    checkpoint = Checkpoint(Files(), str(tmp_path))
    checkpoint.open(PLAN)
    checkpoint.commit(Commit(epoch=0))
    put(tmp_path / "commits" / "000000000001.json.writing", '{"epo')
    assert Checkpoint(Files(), str(tmp_path)).open(PLAN).epoch == 0


def test_a_folder_is_moved_once(tmp_path: Path) -> None:
    files = Files()
    put(tmp_path / "staging" / "1.jsonl")
    put(tmp_path / "staging" / "2.jsonl")
    files.publish(f"{tmp_path}/staging", f"{tmp_path}/epoch=1")
    files.publish(f"{tmp_path}/staging", f"{tmp_path}/epoch=1")
    assert [name_of(file.path) for file in files.list(f"{tmp_path}/epoch=1")] == ["1.jsonl", "2.jsonl"]
    assert not (tmp_path / "staging").exists()
    put(tmp_path / "staging" / "3.jsonl")
    assert code_of(lambda: files.publish(f"{tmp_path}/staging", f"{tmp_path}/epoch=1")) == "RQ431"


def test_a_rename_does_not_write_over(tmp_path: Path) -> None:
    put(tmp_path / "a", "a")
    put(tmp_path / "b", "b")
    assert code_of(lambda: Files().rename(f"{tmp_path}/a", f"{tmp_path}/b")) == "RQ431"
    Files().rename(f"{tmp_path}/a", f"file:{tmp_path}/c")
    assert (tmp_path / "c").read_text() == "a"


def test_what_is_deleted_is_gone_but_not_what_links_point_to(folder: Path, tmp_path: Path) -> None:
    files = Files()
    for name in ("a.jsonl", "link.jsonl", "linked", "nowhere.jsonl", "below", "nothing"):
        files.delete(f"{folder}/{name}")
    assert [file.path for file in files.tree(str(folder))] == [f"file:{folder}/b.jsonl"]
    assert not (folder / "nowhere.jsonl").is_symlink()
    assert (tmp_path / "elsewhere" / "far.jsonl").exists()
    files.delete(str(folder))
    assert not files.exists(str(folder))


def test_the_bytes_of_a_file_come_in_blocks(tmp_path: Path) -> None:
    files, content = Files(), os.urandom(9_000_000)
    files.write(f"{tmp_path}/large", content)
    blocks = list(files.blocks(f"{tmp_path}/large"))
    assert b"".join(blocks) == content
    assert len(blocks) > 1
    assert list(files.blocks(str(put(tmp_path / "empty", "")))) == []


@pytest.mark.parametrize("around", range(-3, 3))
def test_signs_are_counted_wherever_blocks_end(tmp_path: Path, around: int) -> None:
    block = 4 << 20
    content = b"</r>\n" + b"x" * (block + around - 9) + b"</r>\n</r>\n</r>" + b"\n" * block
    path = str(tmp_path / "1.xml")
    Files().write(path, content)
    assert Files().count(path, b"</r>\n") == content.count(b"</r>\n") == 4
    assert Files().count(path, b"\n") == content.count(b"\n")


def test_a_folder_that_others_have_filled_on_their_own_disks_is_noticed(tmp_path: Path) -> None:
    """If a job's tasks write on other machines, their folder is made here, and stays empty."""
    (tmp_path / "out").mkdir()
    error = error_of(lambda: written(None, Files(), f"{tmp_path}/out"))  # type: ignore[arg-type]
    assert (error.code, error.message) == (
        "RQ432",
        f"the engine has written {tmp_path}/out, but the files are not there",
    )


def test_a_scheme_that_nobody_knows_is_refused() -> None:
    error = error_of(lambda: Files().exists("ftq://host/in"))
    assert (error.code, error.message) == ("RQ430", "nothing is known of ftq: paths")
    assert error.help is not None
    assert "s3:" in error.help


@pytest.mark.parametrize(
    ("scheme", "module", "extra"), [("s3a", "s3fs", "s3"), ("gs", "gcsfs", "gcs"), ("abfs", "adlfs", "azure")]
)
def test_a_library_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, scheme: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(import_module("fsspec.registry")._registry, scheme, raising=False)
    error = error_of(lambda: Files().list(f"{scheme}://store/in"))
    assert (error.code, error.message) == ("RQ430", f"{scheme}: paths need a library that is not installed")
    assert error.help == f"pip install 'cedilla[{extra}]'"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_what_is_forbidden_is_told(tmp_path: Path) -> None:
    put(tmp_path / "shut" / "1.json")
    (tmp_path / "shut").chmod(0)
    try:
        for act in (Files().exists, Files().read, Files().delete, lambda path: Files().write(path, "x")):
            error = error_of(lambda act=act: act(f"{tmp_path}/shut/1.json"))
            assert (error.code, error.message) == ("RQ431", f"{tmp_path}/shut/1.json: Permission denied")
    finally:
        (tmp_path / "shut").chmod(0o700)


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    path = f"{put(tmp_path / 'file')}/below"
    assert code_of(lambda: Files().write(path, "x")) == "RQ431"
    assert not Files().exists(path)


def test_uris_are_not_escaped(tmp_path: Path) -> None:
    """`%20` is three signs, like in Hadoop."""
    put(tmp_path / "a b" / "1.jsonl")
    assert Files().list(f"file://{quote(str(tmp_path / 'a b'))}") == []
    assert Files().list(f"file://{tmp_path}/a b") == [FoundFile(f"file:{tmp_path}/a b/1.jsonl", 1000, 1)]


def test_what_is_neither_file_nor_folder_is_told_by_its_own_name(tmp_path: Path) -> None:
    """By a run, and by what reads local files; hidden names are ignored."""
    root = put(tmp_path / "in" / "1.jsonl").parent
    os.mkfifo(root / "_pipe")
    (root / "_loop").symlink_to("_loop")
    assert len(Files().tree(str(root))) == len(files_of(str(root))) == 1
    (root / "_pipe").rename(root / "pipe")
    for path in (root, root / "pipe"):
        for listed in (Files().tree, files_of):
            assert "in/pipe is a named pipe, and" in error_text(partial(listed, str(path)))
            assert code_of(partial(listed, str(path))) == "RQ465"
    (root / "pipe").unlink()
    (root / "loop").symlink_to("loop")
    for listed in (Files().tree, files_of):
        assert "in/loop is a link that leads in a circle, and" in error_text(partial(listed, str(root)))
