"""What ends a run that no input explains: the first error of the system, with a help for its number, or no memory."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.connectors.records.foreign import Unreadable, damage_told
from cedilla.runtime.connectors.storage import stores
from cedilla.runtime.connectors.storage.engine_failures import writing
from cedilla.runtime.connectors.storage.stores import LocalStore
from cedilla.runtime.epochs.ingest import intake
from cedilla.runtime.epochs.pipeline import program
from cedilla.runtime.epochs.pipeline.failures import failures_told
from tests.kit.command import cedilla
from tests.kit.errors import error_of
from tests.kit.faults import assert_coded, finish, prepare, start
from tests.kit.query import Query
from tests.kit.tiers import tiered

QUERY = 'stream r(k: long, x: double) from json "r"; emit distinct[k](r) to json "o"; emit r to json "p";'
HELP = {
    errno.ENOSPC: "space on the disk at ",
    errno.EMFILE: "`ulimit -n 65536`",
    errno.ENFILE: "`sysctl fs.file-max`",
    errno.EDQUOT: "the quota of this user",
    errno.EFBIG: "`ulimit -f`",
    errno.EROFS: "mounted for reading only",
    errno.EACCES: "`ls -ld`",
    errno.EPERM: "`ls -ld`",
    errno.EIO: "`dmesg`",
    errno.ESTALE: "mount it again",
    errno.ENAMETOOLONG: "a shorter name",
    errno.ELOOP: "lead in a circle",
    errno.ENOTDIR: "in the place of a folder",
    errno.EISDIR: "in the place of a file",
    errno.EXDEV: "the rights and the space there",
}


def query_of(spark: SparkSession, root: Path, files: int = 1) -> Query:
    run = Query(spark, root, QUERY)
    for number in range(files):
        run.write("r", [{"k": number, "x": 1.5}, "no json"])
    return run


# --- the first error, by its number ---


def refusing(number: int, from_: int, refused: list[str]) -> Callable[..., None]:
    """Returns a `LocalStore.write` that the system refuses from a call on; `refused` takes the paths."""
    original, count = LocalStore.write, 0

    def write(store: LocalStore, path: str, content: bytes, *, durable: bool = True) -> None:
        nonlocal count
        count += 1
        if count >= from_:
            refused.append(path)
            raise OSError(number, os.strerror(number), path)
        original(store, path, content, durable=durable)

    return write


@pytest.mark.either_engine
@pytest.mark.parametrize("from_", tiered([4, *range(1, 4), *range(5, 8)], 2))
def test_a_full_disk_names_what_it_refused_first(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_: int
) -> None:
    """Not the note of the failure, which the disk does not take, either."""
    run, refused = query_of(spark, tmp_path), list[str]()
    with monkeypatch.context() as patch:
        patch.setattr(stores.LocalStore, "write", refusing(errno.ENOSPC, from_, refused))
        error = error_of(run.run)
    assert (error.code, error.message) == ("RQ431", f"{refused[0]}: No space left on device")
    assert (error.help or "").startswith("space on the disk at ")
    run.run()
    assert len(run.output("r")) == 1


@pytest.mark.either_engine
@pytest.mark.parametrize("number", tiered(HELP, 2))
def test_the_help_belongs_to_the_number_of_the_error(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    run = query_of(spark, tmp_path)
    monkeypatch.setattr(stores.LocalStore, "write", refusing(number, 4, []))
    error = error_of(run.run)
    assert (error.code, os.strerror(number) in error.message) == ("RQ431", True)
    assert HELP[number] in (error.help or "")


def raising(problem: BaseException) -> Callable[..., object]:
    def fail(*arguments: object, **named: object) -> object:
        raise problem

    return fail


@pytest.mark.either_engine
@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "RQ323", "`ulimit -n 65536`"),
        (OSError(errno.EIO, "Input/output error", "/data/x"), "RQ431", "`dmesg`"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "RQ322", "`--files-per-epoch N`"),
        (MemoryError(), "RQ322", "`--records-per-epoch N`"),
        (pa.ArrowMemoryError("malloc of size 64 failed"), "RQ322", "`--files-per-epoch N`"),
        (RuntimeError("can't start new thread"), "RQ322", "`ulimit -u`"),
    ],
)
def test_an_error_anywhere_in_a_run_has_a_code(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    code: str,
    words: str,
) -> None:
    """With the last committed epoch, if no file explains it."""
    run = query_of(spark, tmp_path)
    run.run()
    run.write("r", [{"k": 7, "x": 1.5}])
    monkeypatch.setattr(intake, "read", raising(problem))
    error = error_of(run.run)
    assert (error.code, words in (error.help or "")) == (code, True)
    assert error.notes == (() if code == "RQ431" else ("epoch 0 is the last that is committed",))
    assert code in (tmp_path / "checkpoint" / "error.json").read_text()


@pytest.mark.either_engine
def test_what_fails_while_a_run_ends_does_not_hide_why(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = query_of(spark, tmp_path)
    monkeypatch.setattr(intake, "read", raising(MemoryError()))
    monkeypatch.setattr(
        program.Executor, "_give_up", raising(OSError(errno.EIO, "Input/output error", "/data/x"))
    )
    monkeypatch.setattr(program.Checkpoint, "note_failure", raising(OSError(errno.EIO, "Input/output error")))
    error = error_of(run.run)
    assert (error.code, error.notes) == (
        "RQ322",
        (
            "then another error came: RQ431, /data/x: Input/output error",
            "no epoch is committed",
            "then another error came: RQ323, the operating system refuses: Input/output error",
        ),
    )


def test_a_command_without_an_engine_has_the_same_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "1.jsonl"
    path.write_text('{"k": 1}\n')
    for problem, code in (
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path)), "RQ431"),
        (MemoryError(), "RQ322"),
    ):
        monkeypatch.setattr("cedilla.runtime.tools.stream_tools.places.stream_files", raising(problem))
        done = cedilla("validate", tmp_path, "--schema", "k: long")
        assert (done.exit_code, f"error[{code}]" in done.stderr) == (1, True)


def test_an_error_of_the_system_is_no_damage_of_a_file() -> None:
    """Neither is a lack of memory."""
    for problem in (OSError(errno.EIO, "Input/output error"), MemoryError(), pa.ArrowMemoryError("malloc")):
        with pytest.raises(type(problem)), damage_told():
            raise problem
    for problem in (OSError("Couldn't deserialize thrift"), pa.ArrowInvalid("no"), KeyError("v")):
        with pytest.raises(Unreadable), damage_told():
            raise problem


# --- the words of engines ---

WORDS = {
    "java.lang.OutOfMemoryError: Java heap space\n\tat x": ("RQ322", "`--conf spark.driver.memory=4g`"),
    "[X] java.lang.OutOfMemoryError: unable to create native thread": ("RQ322", "`ulimit -u`"),
    "Resources exhausted: Failed to allocate 64 bytes for HashJoin": ("RQ322", "`--files-per-epoch N`"),
    "numpy._core._exceptions._ArrayMemoryError: MemoryError": ("RQ322", "`ulimit -v`"),
    "Python worker exited unexpectedly (crashed)": ("RQ322", "the system kills workers"),
    "java.io.IOException: No space left on device": ("RQ431", "space on the disk at "),
    "IO error: Too many open files (os error 24)": ("RQ431", "`ulimit -n 65536`"),
    "something else": ("RQ325", "run the query again"),
}


@pytest.mark.parametrize("text", WORDS)
def test_words_of_engines_have_codes(text: str, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught, failures_told(), writing(str(tmp_path)):
        raise PySparkException(text)
    (error,) = caught.value.diagnostics
    code, words = WORDS[text]
    assert (error.code, words in (error.help or "")) == (code, True)


def test_a_panic_of_an_engine_has_a_code() -> None:
    """It is no `Exception` in Python."""
    panic = type("PanicException", (BaseException,), {})
    for text, code in (("OS can't spawn worker thread: os error 11", "RQ322"), ("not a plan", "RQ325")):
        with pytest.raises(DiagnosticError) as caught, failures_told():
            raise panic(text)
        assert caught.value.diagnostics[0].code == code


# --- processes ---


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None] | None]:
    """Mounts a disk of 1 MiB at a folder. Yields `None`; where this user cannot mount, what limits files instead."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield partial(resource.setrlimit, resource.RLIMIT_FSIZE, (6000, 6000))
        return
    try:
        yield None
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.faults
def test_a_disk_that_fills_is_named_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """The disk of an output, while those of the checkpoint and of the engine have space."""
    prepare(tmp_path, 7)
    with small_disk(tmp_path / "out") as limit:
        ballast = tmp_path / "out" / ".ballast"
        if limit is None:
            ballast.write_bytes(b"x" * (980 << 10))
        status, errors = start(tmp_path, before=limit).ended()
        assert_coded(status, errors)
        assert "error[RQ431]" in errors
        assert "error.json" not in errors
        if limit is None:
            assert f"space on the disk at {tmp_path}/out: 0.0 MiB of 1.0 MiB are free" in errors
            ballast.unlink()
        finish(tmp_path)


@pytest.mark.faults
@pytest.mark.parametrize("gigabytes", [2.0, 3.0, 3.5, 4.0, 5.0])
def test_without_memory_there_is_one_message(tmp_path: Path, gigabytes: float) -> None:
    """From the start of the engine on; it may also be enough."""
    prepare(tmp_path, 7)
    size = int(gigabytes * (1 << 30))
    status, errors = start(
        tmp_path, before=partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
    ).ended()
    assert "Traceback" not in errors
    assert "panicked" not in errors
    assert errors.count("error[RQ322]") == (status != 0)
