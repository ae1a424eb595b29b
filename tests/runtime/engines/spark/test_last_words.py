"""What a run says that has no memory left to say it: another process does, and leaves out the traces of panics."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cedilla.runtime.engines.spark.last_words_process import PLACE, Filter, Words
from cedilla.runtime.hosts.terminal.program import last_words
from cedilla.runtime.hosts.terminal.run_console import RunConsole

PROGRAM = """
import os, signal, sys
from cedilla.runtime.engines.spark.last_words import LastWords
words = LastWords(lambda epoch: [f"no memory after {epoch}", f"killed after {epoch}"])
with words.ready():
    print("Python's own", file=sys.stderr)
    words.epoch(3)
    for line in sys.argv[2:]:
        os.write(2, line.encode() + b"\\n")
    match sys.argv[1]:
        case "abort":
            os.abort()
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "taken back":
            words.take_back()
            os.write(2, b"written directly\\n")
            os._exit(3)
print("afterwards", file=sys.stderr)
"""
ALLOCATION = [
    "memory allocation of 1224 bytes failed",
    "stack backtrace:",
    "   0: core::fmt",
    "      at x.rs:1",
]
PANIC = [
    "thread 'tokio-1' (12) panicked at worker.rs:514:13:",
    "no space for one more thread (os error 11)",
    "note: x",
]
OTHER = ["thread 'tokio-1' panicked at plan.rs:1:1:", "not a plan", "stack backtrace:", "   0: core::fmt"]


@pytest.mark.parametrize(
    ("end", "lines", "expected"),
    [
        ("abort", ALLOCATION, ["Python's own", "no memory after 3"]),
        ("kill", [], ["Python's own", "killed after 3"]),
        ("kill", ["E0000 grpc: no"], ["Python's own", "E0000 grpc: no", "killed after 3"]),
        ("none", PANIC, ["Python's own", "afterwards"]),
        ("none", OTHER, ["Python's own", *OTHER, "afterwards"]),
        ("taken back", [], ["Python's own", "written directly"]),
    ],
)
def test_the_words_after_an_end_are_the_only_ones(end: str, lines: list[str], expected: list[str]) -> None:
    command = [sys.executable, "-c", PROGRAM, end, *lines]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    assert sorted(done.stderr.splitlines()) == sorted(expected)
    assert done.returncode == {"abort": -6, "kill": -9, "taken back": 3}.get(end, 0)


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_messages_are_left_out_wherever_their_blocks_end(size: int) -> None:
    lines = ["before", *PANIC, "between", *ALLOCATION, *OTHER, "after"]
    text = "\n".join(lines).encode()
    filter_ = Filter()
    blocks = [text[at : at + size] for at in range(0, len(text), size)]
    kept = b"".join([*(line for block in blocks for line in filter_.lines(block)), *filter_.end()])
    assert kept.decode().split("\n") == ["before", "between", *OTHER, "after"]
    assert filter_.has_seen


def test_another_panic_is_not_taken_for_one() -> None:
    filter_ = Filter()
    assert b"".join(filter_.lines("\n".join([*OTHER, ""]).encode())).decode().split("\n")[:-1] == OTHER
    assert not filter_.has_seen


def test_an_epoch_sends_its_number_only() -> None:
    """The texts are made once, so that an epoch renders nothing; a line of a log has the time of the end."""
    texts = [json.dumps({"time": "start", "notes": [f"after {epoch}"]}) for epoch in (None, PLACE)]
    words = Words()
    words.take(json.dumps([texts[0], "killed", texts[1], f"killed after {PLACE}"]).encode() + b"\n4")
    assert json.loads(words.text(no_memory=True) or "")["notes"] == ["after None"]
    words.take(b"2\n")
    assert words.text(no_memory=False) == "killed after 42"
    entry = json.loads(words.text(no_memory=True) or "")
    assert (entry["notes"], entry["time"] > "2020") == (["after 42"], True)
    words.take(b"null\n")
    assert words.text(no_memory=True) is None


def test_the_words_have_a_code_and_the_last_commit() -> None:
    """In the form of the log of the run."""
    no_memory, killed = last_words(RunConsole(), 3)
    assert no_memory.startswith("error[RQ322]: there is not enough memory: ")
    assert killed.startswith("error[RQ327]: the process of the run was killed\n = note: epoch 3 is the last")
    entries = [json.loads(text) for text in last_words(RunConsole("json"), None)]
    assert [(entry["code"], entry["notes"]) for entry in entries] == [
        ("RQ322", ["no epoch is committed"]),
        ("RQ327", ["no epoch is committed"]),
    ]
