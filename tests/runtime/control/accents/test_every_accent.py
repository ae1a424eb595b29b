"""Every kind of accent, and every kind of function, in the places where one that is forgotten goes wrong silently.

`tests/kit/accents.py` has an accent of each class; a new class is demanded.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cedilla.compiler import compile_query
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit, load_commit
from cedilla.runtime.tools.inspect.status import read_status
from tests.kit.accents import EXAMPLES, KINDS, ROW, STREAM
from tests.kit.errors import code_of
from tests.runtime.epochs.checkpoint.plan_edits import checkpoint_of, commit_of, edited, ran

QUERY = f"set bad_markers = quarantine;\n{STREAM}"
every = pytest.mark.parametrize("kind", EXAMPLES)


def after(*texts: str) -> Reference:
    return ran(compile_query(QUERY).plan, [("r", {"$accent": text}) for text in texts])


def of_kind(text: str) -> set[str]:
    """The names of the classes of an accent and of its function."""
    plan, state = (reference := after()).plan, reference.states["r"]
    change = read_epoch_change(state, text) or read_accent(plan.sources[0], state, text).primitive
    function = getattr(change, "function", getattr(change, "code", None))
    return {type(change).__name__, type(function).__name__}


def test_every_kind_of_accent_and_of_function_has_an_example() -> None:
    assert [kind for kind in KINDS if kind not in EXAMPLES] == []


@every
def test_an_example_is_of_its_kind(kind: str) -> None:
    assert kind in of_kind(EXAMPLES[kind].accent)


@every
def test_a_bad_marker_says_what_stays(kind: str) -> None:
    reference = after()
    before = reference.states["r"]
    reference.step([("r", {"$accent": EXAMPLES[kind].wrong})])
    ((warning, _),) = reference.warnings
    assert warning.code == "RQ235"
    assert EXAMPLES[kind].stays in warning.notes[-1]
    assert reference.states["r"] == before.next_epoch()


def in_force(folder: Path, *texts: str) -> tuple[str, ...]:
    """The lines of accents in force that `status` shows."""
    (stream,) = read_status(str(checkpoint_of(folder, after(*texts)))).sources
    return stream.accents


@every
def test_what_status_shows_is_an_accent_again(kind: str, tmp_path: Path) -> None:
    shown = in_force(tmp_path / "sent", EXAMPLES[kind].accent)
    assert shown
    assert in_force(tmp_path / "pasted", *map(as_accent, shown)) == shown


def as_accent(line: str) -> str:
    """A line of `status` as a marker."""
    change, _, where = line.removesuffix(" everywhere").partition(" where ")
    return f"[[{f'{where}, ' if where else ''}{change}]]"


@every
def test_a_commit_keeps_it(kind: str) -> None:
    commit = commit_of(after(EXAMPLES[kind].accent), 1)
    again = load_commit(json.loads(json.dumps(dump_commit(commit))))
    assert again.sources == commit.sources


@every
def test_a_removed_statement_is_undone_or_refused(kind: str) -> None:
    example = EXAMPLES[kind]
    stated = f"{QUERY}accent r {example.accent};\n"
    if kind == "Grow":
        assert code_of(lambda: compile_query(stated)) == "RQ236"
        return
    changes, continued = edited(ran(compile_query(stated).plan, []), QUERY)
    (change,) = changes.items
    if example.back is None:
        assert (change.effect, change.why) == (
            "new checkpoint",
            "no accent undoes it for the tuples that come",
        )
        return
    assert f"{example.accent.removesuffix(f'{example.text}]]')}{example.back}]]" in change.why
    never = after()
    assert [outputs["r"].canonical for outputs in continued.step([("r", ROW)])] == [
        outputs["r"].canonical for outputs in never.step([("r", ROW)])
    ]
