"""Files in an object store, against a server of this machine that speaks the protocol of S3: a checkpoint, state and
outputs that the control plane writes and reads. Arrow writes the files of the engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.storage.files import Files, name_of
from cedilla.runtime.connectors.storage.stores import RemoteStore
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.commits import Commit
from cedilla.runtime.epochs.state.segments import Segment

PLAN = compile_query('stream r(s: int) from json "s3://in/r";\nemit r to json "s3://out/r";').plan


def names(files: Files, path: str) -> list[str]:
    return [name_of(file.path) for file in files.list(path)]


def test_files_of_a_folder(bucket: str) -> None:
    files, before = Files(), int(time.time()) * 1000
    for path in ("in/b.jsonl", "in/a.jsonl", "in/_c.jsonl", "in/below/d.jsonl", "in/.e/f", "inner/g.jsonl"):
        files.write(f"{bucket}/{path}", path)
    actual = files.list(f"{bucket}/in")
    assert [file.path for file in actual] == [f"{bucket}/in/a.jsonl", f"{bucket}/in/b.jsonl"]
    assert [file.length for file in actual] == [10, 10]
    assert all(before <= file.modified <= before + 60_000 for file in actual)
    assert files.list(f"{bucket}/in/") == actual
    assert files.list(f"{bucket}/in/a.jsonl") == actual[:1]
    assert names(files, f"{bucket}/nothing") == []
    assert [name_of(file.path) for file in files.tree(bucket)] == ["a.jsonl", "b.jsonl", "d.jsonl", "g.jsonl"]
    assert files.folders(f"{bucket}/in", "") == [".e", "below"]
    assert files.folders(bucket, "in") == ["in", "inner"]
    assert [files.exists(f"{bucket}/{path}") for path in ("in", "in/a.jsonl", "i", "in/a")] == [
        True,
        True,
        False,
        False,
    ]
    assert files.read(f"{bucket}/in/below/d.jsonl") == "in/below/d.jsonl"
    assert files.count(f"{bucket}/in/a.jsonl", b"l") == 1
    with files.open(f"{bucket}/in/a.jsonl") as opened:
        opened.seek(-5, 2)
        assert opened.read() == b"jsonl"
    alias = bucket.replace("s3:", "s3a:")
    assert [file.path for file in files.list(f"{alias}/in")] == [f"{alias}/in/a.jsonl", f"{alias}/in/b.jsonl"]
    assert files.absolute(f"{alias}/in/") == files.for_engine(f"{alias}/in") == f"{alias}/in"
    files.delete(f"{bucket}/in")
    files.delete(f"{bucket}/in")
    assert [name_of(file.path) for file in files.tree(bucket)] == ["g.jsonl"]


def test_fingerprints_are_those_of_local_files(bucket: str, tmp_path: Path) -> None:
    """Also of the beginning of a file; there is none of what is gone, or shorter than it was listed."""
    files = Files()
    for length in (1, 16_384, 20_000, 40_000):
        text = "".join(str(n % 7) for n in range(length))
        for folder in (bucket, str(tmp_path)):
            files.write(f"{folder}/{length}", text)
    local, remote = files.list(str(tmp_path)), files.list(bucket)
    prints = files.fingerprints(remote)
    assert prints == files.fingerprints(local)
    assert len({*prints}) == 4
    for one, other in zip(local, remote, strict=True):
        assert files.fingerprint(one, 1) == files.fingerprint(other, 1) == prints[0]
        for file in (one, other):
            assert files.fingerprint(evolve(file, length=file.length + 1)) is None
            assert files.fingerprint(evolve(file, length=100_000)) is None
            files.delete(file.path)
            assert files.fingerprint(file) is None


def test_provisional_rows_are_published_with_their_epoch(bucket: str) -> None:
    """And they are in no listing of the output."""
    files = Files()
    sink = JsonLinesSink(files, f"{bucket}/out", "r")
    staged = f"{bucket}/out/_staging/run=000000/epoch=000000000000"
    for name in ("_1-tuples/a.json", "__1-provisional/a.json"):
        files.write(f"{staged}/{name}", "{}\n")
    sink.publish(0, 0)
    epoch = f"{bucket}/out/epoch=000000000000"
    assert names(files, epoch) == ["1-tuples-00000.jsonl"]
    assert files.read(f"{epoch}/_1-provisional-00000.jsonl") == "{}\n"
    assert not files.exists(staged)


def test_folders_that_other_programs_mark_by_an_empty_object(bucket: str) -> None:
    import s3fs

    s3fs.S3FileSystem(use_listings_cache=False).pipe_file(f"{bucket}/in/", b"")
    files = Files()
    assert files.exists(f"{bucket}/in")
    assert files.list(f"{bucket}/in") == []
    assert files.folders(f"{bucket}/in", "") == []
    files.write(f"{bucket}/in/a.jsonl", "a")
    assert names(files, f"{bucket}/in") == ["a.jsonl"]


def test_others_see_what_is_written_at_once(bucket: str) -> None:
    """Nothing of a listing is remembered."""
    one, other = Files(), Files()
    assert one.list(f"{bucket}/in") == other.list(f"{bucket}/in") == []
    for number in range(3):
        one.write(f"{bucket}/in/{number}", "")
        assert names(other, f"{bucket}/in") == [str(n) for n in range(number + 1)]
    one.write(f"{bucket}/in/0", "changed")
    assert other.read(f"{bucket}/in/0") == "changed"
    other.delete(f"{bucket}/in/1")
    assert names(one, f"{bucket}/in") == ["0", "2"]


def test_a_checkpoint_goes_on(bucket: str) -> None:
    """Each process finds the last record that the one before has put; two are kept."""
    home = f"{bucket}/checkpoint"
    files = {"r": [InputFile("s3a://in/r/1.jsonl", 5)]}
    last = Checkpoint(Files(), home).open(PLAN)
    for epoch in range(4):
        checkpoint = Checkpoint(Files(), home)
        assert evolve(checkpoint.open(PLAN), time=None, run=0) == last
        assert checkpoint.order(epoch, files) == checkpoint.order(epoch, {"r": []}) == files
        segment = Segment(f"{home}/state/r/epoch={epoch:012d}-0", {"k": "long"}, 10, rows=3)
        last = Commit(epoch, epoch, segments={"r": (segment,)})
        checkpoint.commit(last)
    assert names(Files(), f"{home}/commits") == ["000000000002.json", "000000000003.json"]


def staged(files: Files, path: str, epoch: int) -> JsonLinesSink:
    """An output with an epoch as it is before its commit: 4 files, of tuples by the names of the engine."""
    sink = JsonLinesSink(files, path, "r")
    aside = f"{path}/_staging/run=000000/epoch={epoch:012d}"
    for number in range(2):
        files.write(f"{aside}/_1-tuples/part-{number}.json", f'{{"s":{number}}}\n' * 10)
    sink.stage_markers(epoch, Markers(adds=("[[+(t: int)]]",), punctuations=("[s < 1]",)))
    return sink


WHOLE = ["0-adds.jsonl", "1-tuples-00000.jsonl", "1-tuples-00001.jsonl", "2-punctuations.jsonl"]


class Death(BaseException):
    """The end of the process."""


class Dying:
    """A store whose process ends at a call that changes something."""

    def __init__(self, system: Any, calls: int) -> None:
        self._system = system
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        if name in ("call_s3", "cp_file", "pipe_file", "rm_file", "rm"):
            self._calls -= 1
            if self._calls < 0:
                raise Death
        return getattr(self._system, name)


def dying_files(calls: int) -> Files:
    files = Files()
    store = RemoteStore("s3")
    store._system = Dying(store._system, calls)
    files._stores["s3"] = store
    return files


def test_an_epoch_appears_in_the_order_of_its_files(bucket: str) -> None:
    """A process that dies leaves the beginning of the epoch; the next process writes the rest. While some of it is
    missing, the folder of the staged epoch exists, which readers of whole epochs look for."""
    out = f"{bucket}/out"
    staged(Files(), out, 7)
    collected: list[list[str]] = []
    for calls in range(5):
        with pytest.raises(Death):
            JsonLinesSink(dying_files(calls), out, "r").publish(7, 0)
        collected.append(names(Files(), f"{out}/epoch=000000000007"))
        assert Files().folders(f"{out}/_staging/run=000000", "") == ["epoch=000000000007"]
    assert collected == [[], WHOLE[:1], WHOLE[:2], WHOLE[:3], WHOLE]
    files = Files()
    for _ in range(2):
        JsonLinesSink(files, out, "r").publish(7, 0)
        assert names(files, f"{out}/epoch=000000000007") == WHOLE
        assert files.read(f"{out}/epoch=000000000007/{WHOLE[2]}") == '{"s":1}\n' * 10
        assert not files.exists(f"{out}/_staging")


def test_epochs_that_were_given_up_are_tidied_away(bucket: str) -> None:
    files, out = Files(), f"{bucket}/out"
    assert JsonLinesSink(files, out, "r").check_fresh()
    staged(files, out, 1).publish(1, 0)
    sink = staged(files, out, 2)
    assert not sink.check_fresh()
    sink.tidy(1)
    assert files.folders(out, "") == ["epoch=000000000001"]
    assert names(files, f"{out}/epoch=000000000001") == WHOLE


def test_what_a_store_refuses_is_told(bucket: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        Files().write("s3://cedilla-of-nobody/1.json", "x")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "RQ431"
    assert diagnostic.message.startswith("s3://cedilla-of-nobody/1.json: ")


def test_files_of_unordered_tuples_appear_side_by_side(bucket: str) -> None:
    """Between the markers before them and those after them."""
    out = f"{bucket}/out"
    staged(Files(), out, 7)
    for calls, count in enumerate((0, 1, 2, 3, 4)):
        sink = JsonLinesSink(dying_files(calls), out, "r")
        sink.is_ordered = False
        with pytest.raises(Death):
            sink.publish(7, 0)
        kinds = [name[:8] for name in names(Files(), f"{out}/epoch=000000000007")]
        assert kinds == [name[:8] for name in WHOLE[:count]]


def test_what_a_process_has_left_of_a_published_epoch_gets_no_other_name(bucket: str) -> None:
    """A process may die while the store deletes the files of an epoch that is published, one of them before another."""
    out = f"{bucket}/out"
    staged(Files(), out, 7)
    with pytest.raises(Death):
        JsonLinesSink(dying_files(4), out, "r").publish(7, 0)
    files = Files()
    files.delete(f"{out}/_staging/run=000000/epoch=000000000007/_1-tuples/part-0.json")
    JsonLinesSink(files, out, "r").publish(7, 0)
    contents = [files.read(f"{out}/epoch=000000000007/{name}") for name in WHOLE[1:3]]
    assert contents == ['{"s":0}\n' * 10, '{"s":1}\n' * 10]
    assert not files.exists(f"{out}/_staging")
