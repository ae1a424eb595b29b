"""Runs that are killed, damaged, doubled, moved and fed with rubbish give what an undisturbed run gives, or a code.

`make test-rest` tries a few, `make soak MARKS=faults` all, on new seeds (`SEED=n` for those of an
earlier time). docs/reliability.md has the figures.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cedilla.runtime.connectors.storage import stores
from tests.kit.faults import (
    assert_coded,
    assert_whole,
    content,
    damage,
    fill_disk,
    finish,
    prepare,
    rows,
    snapshot,
    start,
    wait_a_part,
)
from tests.kit.lines import read_lines
from tests.kit.processes import java_below
from tests.kit.rotations import Producer, Reckoning
from tests.kit.seeds import SEED, soak_seeds

KILLS = 10
"""SIGKILLs for each of the twenty projects of the soak."""


def seeds(count: int, *, rest: int = 0) -> list[Any]:
    """Returns the seeds of a fault: `rest` for `make test-rest`, `count` for the soak."""
    few = [pytest.param(seed, marks=pytest.mark.rest) for seed in range(rest)]
    return [*few, *(pytest.param(seed, marks=pytest.mark.faults) for seed in soak_seeds(count))]


_CALM: dict[int, dict[str, list[str]]] = {}
"""By seed: what a run that goes through gives."""


@pytest.fixture
def undisturbed(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, dict[str, list[str]]]:
    """A project, and what a run that goes through gives."""
    seed: int = request.getfixturevalue("seed")
    for name in ("calm", "project"):
        (tmp_path / name).mkdir()
        prepare(tmp_path / name, seed, files=6 if seed >= SEED else 3)
    if seed not in _CALM:
        finish(tmp_path / "calm")
        _CALM[seed] = content(tmp_path / "calm")
    return tmp_path / "project", _CALM[seed]


Calm = tuple[Path, dict[str, list[str]]]


@pytest.mark.parametrize("seed", seeds(20, rest=1))
def test_killed_again_and_again_it_gives_what_an_undisturbed_run_gives(undisturbed: Calm, seed: int) -> None:
    """At any moment, with accents in flight; now and then the whole project moves in between."""
    root, expected = undisturbed
    root, kills = kill_runs(root, seed, 2 if seed < SEED else KILLS, 3.0)
    finish(root)
    assert content(root) == expected
    assert_whole(root)
    print(f"seed {seed}: {kills} kills")


@pytest.mark.java
@pytest.mark.parametrize("seed", seeds(4))
def test_killed_again_and_again_on_spark_it_gives_what_an_undisturbed_run_gives(
    undisturbed: Calm, seed: int
) -> None:
    """From its start on, which is half of the time; Java ends with the process that has started it."""
    root, expected = undisturbed
    root, kills = kill_runs(root, seed, KILLS, 14.0, engine="spark")
    finish(root)
    assert content(root) == expected
    assert_whole(root)
    print(f"seed {seed}: {kills} kills on Spark")


def kill_runs(root: Path, seed: int, most: int, seconds: float, engine: str = "sail") -> tuple[Path, int]:
    """Kills runs of a project, each up to some `seconds` after its start, until one ends by itself or `most` are
    killed. Returns where the project is then, and the number of kills."""
    rng = random.Random(seed)
    for kills in range(most):
        run = start(root, engine=engine)
        wait_a_part(rng, run, seconds)
        if not run.kill():
            return root, kills
        if rng.random() < 0.2:
            root = root.rename(root.with_name(f"moved-{kills}"))
    return root, most


def bring(root: Path) -> None:
    for file in (root / "aside").iterdir():
        file.rename(root / "in/sensors" / file.name)


@pytest.mark.parametrize("seed", seeds(20, rest=2))
def test_a_damaged_file_is_a_code_before_anything_is_written_or_changes_nothing(
    seed: int, tmp_path: Path
) -> None:
    """In the middle of its life; half of the runs before were killed."""
    rng, root, calm = random.Random(seed), tmp_path / "project", tmp_path / "calm"
    for folder in (root, calm):
        folder.mkdir()
        prepare(folder, seed, files=6 if seed >= SEED else 3)
        # Half of the files come later.
        files = sorted((folder / "in/sensors").iterdir())
        (folder / "aside").mkdir()
        for file in files[len(files) // 2 :]:
            file.rename(folder / "aside" / file.name)
    finish(calm)
    bring(calm)
    finish(calm)
    expected = content(calm)
    run = start(root)
    while run.is_alive() and not [*root.glob("ck/commits/*.json")]:
        time.sleep(0.01)
    if rng.random() < 0.5:
        wait_a_part(rng, run, 2.0)
        run.kill()
    else:
        run.ended()
    for number in range(1 if seed < SEED else 5):
        copy = tmp_path / f"damaged-{number}"
        shutil.copytree(root, copy, symlinks=True)
        what = damage(rng, copy / "ck")
        bring(copy)
        before = [snapshot(copy / name) for name in ("ck", "out")]
        status, errors = start(copy).ended()
        first_code = next((line for line in errors.splitlines() if "RQ" in line), errors)
        print(f"seed {seed}: {what}: {'equal' if status == 0 else first_code}")
        if status == 0:
            # Rejected lines are an output: a run reads none of them, and a damaged file of them stays damaged.
            rejected = "quarantine" not in what
            wanted = {n: lines for n, lines in expected.items() if rejected or n.startswith("out")}
            assert content(copy, rejected=rejected) == wanted, what
            assert_whole(copy)
        else:
            assert_coded(status, errors)
            assert [snapshot(copy / name) for name in ("ck", "out")] == before, what
        shutil.rmtree(copy)


@pytest.mark.parametrize("seed", seeds(20, rest=1))
def test_of_two_runs_at_once_one_is_refused_and_nothing_is_lost(undisturbed: Calm, seed: int) -> None:
    """Up to six seconds apart."""
    root, expected = undisturbed
    first = start(root)
    time.sleep(random.Random(seed).uniform(0, 6))
    ends = [run.ended() for run in (first, start(root))]
    for status, errors in ends:
        assert status == 0 or ("RQ475" in errors and "Traceback" not in errors), errors
    assert 0 in [status for status, _ in ends]
    assert content(root) == expected
    assert_whole(root)


ROWS = 'stream r(k: long) from json "in/r";\nemit r to json "out/r";\n'


@pytest.mark.parametrize("rough", [False, True], ids=["moves", "rough"])
@pytest.mark.parametrize("seed", seeds(10, rest=1))
def test_whatever_a_producer_does_to_files_each_row_is_read_once_or_a_code_is_said(
    tmp_path: Path, seed: int, rough: bool
) -> None:
    """Files are rotated, renamed, copied, cut and overwritten between runs, of which some are killed; those that only
    move, after a kill, too."""
    rng = random.Random(seed)
    (tmp_path / "q.rq").write_text(ROWS)
    producer = Producer(tmp_path / "in/r", rng)
    reckoning = Reckoning(producer)
    for _ in range(3 if seed < SEED else 8):
        producer.change(rough=rough)
        messages = ""
        if rng.random() < 0.5:
            run = start(tmp_path)
            wait_a_part(rng, run, 3.0)
            run.kill()
            messages = run.said()
            if not rough:
                producer.change(rough=False, again=True)
        status, errors = start(tmp_path).ended()
        codes = set(re.findall(r"RQ\d{3}", messages + errors)) - {KILLED}
        assert rough or not codes, (errors, producer.done)
        if status != 0:
            assert_coded(status, errors)
            assert codes & {"RQ452"}, errors
            return
        lines = read_lines(*sorted((tmp_path / "out/r").glob("epoch=*/*")))
        reckoning.check(Counter(item["k"] for item in lines if "k" in item), is_told=bool(codes))
        assert_whole(tmp_path)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _fill(number: int) -> None:
    """Fills the disk of this process before its `number`th write."""
    setattr(stores.LocalStore, "write", fill_disk(number))  # noqa: B010


@pytest.mark.parametrize("seed", seeds(20, rest=2))
def test_a_full_disk_is_a_code_and_the_next_run_goes_on(undisturbed: Calm, seed: int) -> None:
    """Of the engine, whose files are limited, or of Cedilla's own documents."""
    root, expected = undisturbed
    rng = random.Random(seed)
    full = partial(_limit, rng.randrange(1500, 9000)) if seed % 2 else partial(_fill, rng.randrange(3, 60))
    status, errors = start(root, before=full).ended()
    if status != 0:
        assert_coded(status, errors)
    finish(root)
    assert content(root) == expected
    assert_whole(root)


KILLED = "RQ327"
"""What the last words of a killed run say."""

RUBBISH = (
    "\x00\x1b[31mred\x1b[0m",
    "{" * 2000,
    "[" * 2000 + "]" * 2000,
    '{"ts": 1e400, "s": 1, "t": 1}',
    '{"ts": 99999999999999999999999, "s": 1, "t": 1}',
    '{"ts": 1, "s": 7, "t": 1}',
    '{"ts": 1, "s": 1, "t": "' + "9" * 5000 + '"}',
    '{"ts": true, "s": null, "t": {}}',
    '{"$accent": 1}',
    '{"$accent": "[[s = 1, alter(t, y -> y * 1e99999999999999999999)]]"}',
    '{"$accent": "[[" }',
    '{"$punctuation": "[ts < ' + "9" * 3000 + 'x]"}',
    '{"$punctuation": "[nothing = 1]"}',
    '"' + "\\ud800" * 50 + '"',
)


@pytest.mark.parametrize("seed", seeds(20, rest=2))
def test_what_a_hostile_producer_sends_is_set_aside_or_a_code(tmp_path: Path, seed: int) -> None:
    """In the middle of a file; once its sender has mended it, the rows are those of a stream without it. A marker that
    ends a run ends an epoch, too."""
    root, calm = tmp_path / "project", tmp_path / "calm"
    for folder in (root, calm):
        folder.mkdir()
        prepare(folder, seed, files=6 if seed >= SEED else 3)
    finish(calm)
    expected = rows(calm)
    rng = random.Random(seed)
    file = rng.choice(sorted((root / "in/sensors").iterdir()))
    lines, moment = file.read_text().splitlines(), file.stat().st_mtime
    at = rng.randrange(len(lines))
    # Lines before the one that ends a run are read: a sender mends in place, and takes none away.
    good = "\n".join([*lines[:at], *["no tuple"] * 3, *lines[at:], ""])
    bad = [*lines[:at], *rng.choices(RUBBISH, k=3), *lines[at:], ""]
    file.write_text("\n".join(bad), "utf-8", "surrogatepass")
    os.utime(file, (moment, moment))
    status, errors = start(root).ended()
    assert "\x1b" not in errors
    if status != 0:
        assert_coded(status, errors)
        file.write_text(good)
        os.utime(file, (moment, moment))
        finish(root)
    assert rows(root) == expected
    assert_whole(root)


@pytest.mark.java
@pytest.mark.parametrize("seed", seeds(3))
def test_a_killed_jvm_is_a_code_and_the_next_run_goes_on(undisturbed: Calm, seed: int) -> None:
    """Another engine continues."""
    root, expected = undisturbed
    run = start(root, engine="spark")
    commits = root / "ck/commits"
    while run.is_alive() and not [*commits.glob("*.json")]:
        time.sleep(0.05)
    for java in java_below(run.pid):
        os.kill(java, signal.SIGKILL)
    status, errors = run.ended()
    if status != 0:
        assert_coded(status, errors)
    finish(root)
    assert content(root) == expected
    assert_whole(root)
