"""A missing or damaged file of a checkpoint ends a run before it writes anything; a torn last record does not."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime import run
from cedilla.runtime.connectors.formats.sinks.jsonl import JsonLinesSink
from cedilla.runtime.connectors.formats.source import InputFile
from cedilla.runtime.connectors.records.marker_files import Markers
from cedilla.runtime.connectors.storage import stores
from cedilla.runtime.connectors.storage.files import Files
from cedilla.runtime.connectors.storage.sealed import SealedFiles, seal, unseal
from cedilla.runtime.engines.spark.jobs import Jobs
from cedilla.runtime.epochs.checkpoint.checkpoint import Checkpoint
from cedilla.runtime.epochs.checkpoint.ownership import owned
from cedilla.runtime.epochs.checkpoint.read_files import batch_names, last_batch
from cedilla.runtime.epochs.options.options import Options
from cedilla.runtime.epochs.pipeline.outputs import Outputs
from cedilla.runtime.epochs.state.segments import Segment, check_files
from cedilla.runtime.epochs.state.state_store import StateStore
from tests.kit.command import cedilla
from tests.kit.errors import code_of
from tests.kit.faults import DAMAGES, assert_whole, content, fill_disk, integrity, prepare, snapshot

QUERY = """
stream sensors(ts: long, s: int in {1, 2, 3}, t: double) from json "in/sensors" punctuated on ts;
stream placement(s: int, l: string) from json "in/placement" punctuated on s;
windows := window[10 on ts as wid](sensors join placement on s);
average := aggregate[avg by l, wid except ts, s](windows);
hot := select[t > 50](sensors);
emit average to json "out/average";
emit hot to json "out/hot";
"""
LATE = 5
"""The number of files, of eight, that exist before the checkpoint is damaged."""


class Killed(BaseException):
    """Stands for the end of the process."""


class Project:
    """The query in a folder; some files of its source come later."""

    def __init__(self, spark: SparkSession, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark, self.root = spark, root
        self.notes: list[str] = []
        prepare(root, 3, 40, query=QUERY)
        self._aside = root / "aside"
        self._aside.mkdir()
        for file in sorted((root / "in/sensors").iterdir())[LATE:]:
            file.rename(self._aside / file.name)
        monkeypatch.chdir(root)

    def run(self) -> dict[str, list[str]]:
        """Run on what is there; what is in the outputs then."""
        options = Options(once=True, files_per_epoch=1, checkpoint="ck")
        run("q.rq", options, spark=self.spark, on_report=lambda report: self.notes.extend(report.notes))
        return content(self.root)

    def rest(self, most: int = 8) -> None:
        """The files that come later, or some of them."""
        for file in sorted(self._aside.iterdir())[:most]:
            file.rename(self.root / "in/sensors" / file.name)

    def refused(self) -> str:
        """A run that is refused, and writes nothing; its message."""
        before = [snapshot(self.root / name) for name in ("ck", "out")]
        with pytest.raises(DiagnosticError) as caught:
            self.run()
        assert [snapshot(self.root / name) for name in ("ck", "out")] == before
        return str(caught.value)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(spark, tmp_path, monkeypatch)


def die_in_epoch(monkeypatch: pytest.MonkeyPatch, name: str, epoch: int) -> None:
    """The next process dies in an epoch, when it would call a method of its outputs."""
    original: Callable[..., object] = getattr(Outputs, name)

    def call(outputs: Outputs, number: int, *rest: object) -> object:
        if number == epoch:
            raise Killed
        return original(outputs, number, *rest)

    monkeypatch.setattr(Outputs, name, call)


def test_a_seal_shows_every_flipped_bit_and_every_part() -> None:
    text = json.dumps({"epoch": 7, "files": {"r": [["ä", 1, None]]}})
    sealed = seal("a/b.json", text)
    assert json.loads(sealed).keys() == {"$sealed", "epoch", "files"}
    assert unseal("a/b.json", sealed) == text
    assert unseal("a", seal("a", "{}")) == "{}"
    assert is_refused("a", text)
    for bit in range(8 * len(sealed)):
        data = bytearray(sealed.encode())
        data[bit // 8] ^= 1 << bit % 8
        assert is_refused("a/b.json", data.decode(errors="replace"))
    assert all(is_refused("a/b.json", sealed[:length]) for length in range(len(sealed)))
    assert is_refused("a/c.json", sealed)


def is_refused(name: str, text: str) -> bool:
    """Returns True if the text of a document is noticed as damaged."""
    try:
        json.loads(unseal(name, text))
    except ValueError:
        return True
    return False


@pytest.mark.either_engine
def test_the_doctor_says_what_became_of_files_that_were_read(project: Project) -> None:
    """As the next run will; and that is no damage."""
    project.run()
    folder = project.root / "in/sensors"
    first, second, third, *_ = sorted(folder.iterdir())
    first.rename(folder / "moved.jsonl")
    second.write_text("{}\n")
    third.unlink()
    result = cedilla("doctor", "ck")
    remarks = result.output.splitlines()[1:]
    assert (result.exit_code, len(remarks)) == (0, 3)
    assert "moved.jsonl with tuples of `sensors` is" in remarks[0]
    assert remarks[1].startswith(f"RQ457: file:{second} with")
    assert remarks[2] == "gone, and not needed: 1 file with tuples of `sensors` that a run has read"
    assert len(json.loads(cedilla("doctor", "ck", "--format", "json").output)["inputs"]) == 3


@pytest.mark.either_engine
def test_an_older_segment_or_list_in_the_place_of_a_newer_one_is_noticed(project: Project) -> None:
    """Of all pairs, whatever their lengths; a list of the same batch, before more files came to it."""
    (project.root / "q.rq").write_text(QUERY.replace(" punctuated on ts", ""))
    project.run()
    assert_whole(project.root)
    segments = sorted((project.root / "ck/state").glob("*/epoch=*"))
    pairs = [(old, new) for old in segments for new in segments if old.parent == new.parent and old < new]
    assert len(pairs) > 5
    for old, new in pairs:
        new.rename(project.root / "kept")
        shutil.copytree(old, new)
        assert integrity(project.root).problems
        shutil.rmtree(new)
        (project.root / "kept").rename(new)
    documents = SealedFiles(Files(), str(project.root / "ck"))
    name = batch_names(documents)[-1]
    batch = documents.read(name)
    documents.write(name, json.dumps({**batch, "files": {n: f[:1] for n, f in batch["files"].items()}}))
    assert "RQ479" in str(integrity(project.root).problems)


@pytest.mark.rest
@pytest.mark.either_engine
def test_every_damage_to_a_file_that_a_run_needs_is_found(project: Project) -> None:
    """Each file of a checkpoint in the middle of its life is damaged in each way."""
    project.run()
    project.rest(1)
    project.run()
    root, rng = project.root, random.Random(1)
    whole = integrity(root)
    assert (whole.problems, whole.unnamed, whole.last) == ((), (), LATE)
    (root / "ck").rename(root / "whole")
    unneeded = {"owner", "owner.lock", "ended", "journal.json", f"{LATE - 1:012d}.json"}
    files = [f.relative_to(root / "whole") for f in sorted((root / "whole").rglob("*")) if f.is_file()]
    actual: dict[tuple[str, str], bool] = {}
    for file in files:
        if file.name in unneeded or file.parts[0] == "quarantine" or file.name.startswith((".", "_")):
            continue
        for kind, damage in DAMAGES.items():
            if kind == "duplicate" and file.parts[0] != "state":
                continue  # no record names a copy, and nothing reads it
            shutil.copytree(root / "whole", root / "ck")
            damage(rng, root / "ck" / file)
            after = integrity(root)
            actual[str(file), kind] = bool(after.problems) or after.last == LATE - 1
            shutil.rmtree(root / "ck")
    assert [damage for damage, is_found in actual.items() if not is_found] == []
    assert {name.split("/")[0] for name, _ in actual} >= {
        "state",
        "files",
        "commits",
        "plan.json",
        "paths.json",
    }


@pytest.mark.rest
def test_files_of_outputs_are_not_checked(project: Project) -> None:
    """They belong to those who read them; the run never reads them again."""
    project.run()
    path = next(file for file in sorted((project.root / "out").rglob("*.jsonl")) if file.stat().st_size)
    path.write_text("{}\n")
    assert integrity(project.root).problems == ()
    project.rest()
    project.run()
    assert path.read_text() == "{}\n"


@pytest.mark.either_engine
def test_a_damaged_segment_ends_the_run_before_it_writes(project: Project) -> None:
    project.run()
    (segment, *_) = sorted((project.root / "ck/state").rglob("*.parquet"))
    data = segment.read_bytes()
    segment.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    project.rest()
    assert "RQ478" in project.refused()
    segment.write_bytes(data)
    shutil.copy(segment, segment.with_name("copy.parquet"))
    assert "RQ478" in project.refused()
    segment.with_name("copy.parquet").unlink()
    project.run()
    assert_whole(project.root)


@pytest.mark.either_engine
def test_a_torn_last_record_falls_back_to_the_one_before(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss of power leaves such a record: nothing came after it. Its epoch is computed again, and comes once."""
    with monkeypatch.context() as patch:
        die_in_epoch(patch, "publish", 3)
        with pytest.raises(Killed):
            project.run()
    record = max((project.root / "ck/commits").glob("*.json"))
    record.write_bytes(record.read_bytes()[:-40])
    project.rest()
    again = project.run()
    assert any("000000000003.json is torn: going on after epoch 2" in note for note in project.notes)
    for name in ("ck", "out"):
        shutil.rmtree(project.root / name)
    assert again == project.run()
    assert_whole(project.root)


@pytest.mark.either_engine
@pytest.mark.parametrize("damage", ["truncate", "delete"])
@pytest.mark.parametrize("epoch", [0, LATE - 1])
def test_a_lost_record_whose_epoch_is_in_an_output_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, damage: str, epoch: int
) -> None:
    """The epoch would come twice, or the rows that waited in deleted state would be lost."""
    with monkeypatch.context() as patch, suppress(Killed):
        die_in_epoch(patch, "publish", epoch + 1)
        project.run()
    for record in (project.root / "ck/commits").glob(f"{epoch + 1:012d}.json"):
        record.unlink()
    DAMAGES[damage](random.Random(1), max((project.root / "ck/commits").glob("*.json")))
    project.rest()
    assert any(code in project.refused() for code in ("RQ405", "RQ451", "RQ478", "RQ479"))


@pytest.mark.either_engine
def test_an_output_that_is_ahead_of_its_checkpoint_is_refused(project: Project) -> None:
    """A checkpoint from a backup is one, if its output continued."""
    project.run()
    shutil.copytree(project.root / "ck", project.root / "backup")
    project.rest()
    project.run()
    shutil.rmtree(project.root / "ck")
    (project.root / "backup").rename(project.root / "ck")
    assert "RQ479" in project.refused()


@pytest.mark.either_engine
def test_what_no_record_names_is_deleted_at_the_start(project: Project) -> None:
    project.run()
    left = [project.root / "ck" / name for name in ("state/gone/epoch=000000000001-0-0", "trees")]
    left.append(next((project.root / "ck/state").glob("*/epoch=*")).with_name("epoch=000000000099-0-0"))
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "1.json").write_text("{}")
    assert len(integrity(project.root).unnamed) == 3
    project.rest()
    project.run()
    assert_whole(project.root)
    assert not any(folder.exists() for folder in left[:1])


@pytest.mark.either_engine
def test_the_doctor_says_what_is_whole_and_what_is_not(project: Project) -> None:
    project.run()

    def doctor(*options: str) -> tuple[int, str]:
        result = cedilla("doctor", "ck", *options)
        return result.exit_code, result.output

    status, text = doctor()
    assert (status, "ck is whole: the next run continues after epoch 4" in text) == (0, True)
    extra = project.root / "ck/state/old/epoch=000000000001-0-0"
    extra.mkdir(parents=True)
    assert doctor()[0] == 0
    assert "no record names ck/state/old/epoch=000000000001-0-0" in doctor()[1]
    next((project.root / "ck/state").rglob("*.parquet")).unlink()
    (project.root / "ck/paths.json").write_text("{}  ")
    status, text = doctor()
    assert (status, "RQ451" in text, "ck is not whole" in text) == (1, True, True)
    status, text = doctor("--format", "json")
    assert (status, json.loads(text[: text.rindex("}") + 1])["whole"]) == (1, False)
    result = cedilla("doctor", "in")
    assert (result.exit_code, "RQ411" in result.output) == (1, True)


@pytest.mark.either_engine
def test_an_epoch_is_on_the_disk_before_its_record(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of state and of output, and the folders that name them."""
    synced: list[str] = []
    missing: list[str] = []
    original, create = os.fsync, stores.LocalStore.create

    def fsync(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        original(handle)

    def created(store: stores.LocalStore, path: str, data: bytes) -> None:
        if "/commits/" in path:
            places = [
                *project.root.glob("out/*/_staging/*/*/*"),
                *project.root.glob("ck/state/*/*/*.parquet"),
            ]
            record = int(Path(path).stem)  # the epoch after it is being written
            done = [file for file in places if int(re.findall(r"epoch=(\d+)", str(file))[-1]) <= record]
            wanted = {str(path_) for file in done for path_ in (file, file.parent)}
            missing.extend(wanted - set(synced))
        create(store, path, data)
        if "/commits/" in path:
            assert {str(Path(path).absolute()), str(Path(path).parent.absolute())} <= set(synced)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(stores.LocalStore, "create", created)
    project.run()
    assert missing == []
    assert len(synced) > 2 * LATE


@pytest.mark.rest
@pytest.mark.either_engine
@pytest.mark.parametrize("number", [4, 9, 14])
def test_a_full_disk_is_a_coded_error_and_the_next_run_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stores.LocalStore, "write", fill_disk(number))
        with pytest.raises(DiagnosticError, match="RQ431"):
            project.run()
    project.rest()
    again = project.run()
    assert_whole(project.root)
    for name in ("ck", "out"):
        shutil.rmtree(project.root / name)
    assert again == project.run()


def test_a_run_that_lost_its_checkpoint_writes_over_nothing(bucket: str) -> None:
    """Two runs on one store: the late one goes on staging an epoch, and does not know yet that it has lost."""
    files, home, out = Files(), f"{bucket}/ck", f"{bucket}/out"
    batches = [{"r": [InputFile(f"s3://in/{number}.jsonl", number)]} for number in range(3)]
    with owned(files, home, []) as early, owned(files, home, []) as late:
        old, new = (Checkpoint(files, home, run) for run in (early, late))
        sinks = [JsonLinesSink(files, out, "r") for _ in range(2)]
        for sink, checkpoint, text in zip(sinks, (old, new), ("[k < 1]", "[k < 2]"), strict=True):
            sink.run = checkpoint.run
            sink.stage_markers(5, Markers(punctuations=(text,)))
        new.keep_order(3, batches[1])
        old.keep_order(3, batches[2])
        sinks[0].stage_markers(5, Markers(punctuations=("[k < 3]",)))
        sinks[0].tidy(5)
        sinks[1].publish(5, new.run)
        with pytest.raises(DiagnosticError, match="RQ476"):
            old.check_there()
    assert files.read(f"{out}/epoch=000000000005/2-punctuations.jsonl") == '{"$punctuation": "[k < 2]"}\n'
    kept = last_batch(files, home)
    assert kept is not None
    assert [file.path for file in kept.files["r"]] == ["s3://in/1.jsonl"]


def test_state_in_a_store_is_compared_by_number_and_length_of_its_files(bucket: str, tmp_path: Path) -> None:
    """A store checks contents itself; on a disk they are compared."""
    files = Files()
    for root, is_found in ((bucket, False), (str(tmp_path), True)):
        path = f"{root}/state/epoch=000000000001-0-0"
        files.write(f"{path}/1.parquet", "as written")
        checksum = Files().checksum(Files().list(path)) if is_found else "0"
        segment = Segment(path, {}, length=10, files=1, checksum=checksum)
        check_files(Files(), segment, files.checksum)
        files.write(f"{path}/1.parquet", "otherwise!")
        problem = code_of(lambda segment=segment: check_files(Files(), segment, files.checksum))
        assert problem == ("RQ478" if is_found else None)
        files.write(f"{path}/1.parquet", "longer than before")
        assert code_of(lambda segment=segment: check_files(Files(), segment)) == "RQ478"


@pytest.mark.either_engine
def test_segments_of_two_runs_have_two_names(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs()
    paths: set[str] = set()
    for number in range(2):
        store = StateStore(spark, Files(), str(tmp_path), jobs, number)
        store.append("r", spark.range(1), {"id": LongType()}, 3)
        paths |= {segment.path for segment in store.segments["r"]}
        assert all(segment.epoch == 3 for segment in store.measured(store.segments)["r"])
    jobs.close()
    assert len(paths) == 2
