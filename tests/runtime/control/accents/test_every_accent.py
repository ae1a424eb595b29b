"""Every kind of accent, and every kind of function, in the places where one that is forgotten goes wrong silently.

`EXAMPLES` has an accent of each class; a new class is demanded.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import frozen

from cedilla.compiler import compile_query
from cedilla.compiler.changes import ALL
from cedilla.compiler.regions.composition import FUNCTIONS as FUNCTION_CLASSES
from cedilla.runtime.control.markers.source_marker_parser import read_accent, read_epoch_change
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit, load_commit
from cedilla.runtime.tools.inspect.status import read_status
from tests.kit.errors import code_of
from tests.runtime.epochs.checkpoint.plan_edits import checkpoint_of, commit_of, edited, ran

QUERY = """
set bad_markers = quarantine;
stream r(s: int in {1, 2}, k: string, j?: string, n: int in {1, 2}, at: timestamp, x: double unit W,
  y: double unit W, h?: double, z?: double)
  from json "r";
emit r to json "out";
"""
WHERE = "[[s = 1, "
NEVER = "[[s = 3, "
ROW = {
    "s": 1,
    "k": "a",
    "n": 1,
    "at": "2026-01-01T00:00:00Z",
    "x": 6.0,
    "y": 3.0,
    "h": 4.0,
    "z": 1.0,
}


@frozen
class Example:
    """An accent of some tuples, or of all of them.

    `text`: of its change. `stays`: a part of the note about a bad one. `back`: the change that undoes it,
    `None` if nothing does. `bad`: a whole accent that is wrong; otherwise one that describes no possible tuple.
    """

    text: str
    stays: str
    back: str | None
    bad: str = ""

    @property
    def accent(self) -> str:
        return f"{'[[' if self.bad else WHERE}{self.text}]]"

    @property
    def wrong(self) -> str:
        return self.bad or f"{NEVER}{self.text}]]"


EXAMPLES = {
    "Add": Example("+(new: double)", "is not added", "-(new)"),
    "Drop": Example("-(z)", "is not dropped", None),
    "Alter": Example("alter(x, y -> y * 2)", "stays in W", "alter(x, y -> y / 2)"),
    "ToUnit": Example("unit(x, kW)", "stays in W", "unit(x, W)"),
    "ToLevel": Example("unit(x, dBm)", "stays in W", "unit(x, W)"),
    "Rename": Example("rename(xx, x)", "comes by the name that it had", "rename(x, x)"),
    "Recode": Example(
        'recode(k, {"a": "b", "b": "c"})', "keeps the codes that it had", 'recode(k, {"b": "a", "c": "b"})'
    ),
    "SourceAlter": Example("alter(h, y -> 8 / y)", "stays in the unit", "alter(h, y -> 8 / y)"),
    "Missing": Example("missing(h, {-9, 0})", "keeps the missing values that it had", None),
    "Swap": Example("swap(x, y)", "keep the places that they had", "swap(x, y)"),
    "Grow": Example("grow(n, {3})", "does not grow", None, bad="[[s = 1, grow(n, {3})]]"),
    "ToZone": Example(
        'zone(at, "Europe/Berlin")', "stay in the zone", 'zone(at, "UTC")', bad='[[zone(at, "Nowhere")]]'
    ),
    "ToSign": Example(
        'decimal(h, ",")', "keep the decimal sign", 'decimal(h, ".")', bad='[[decimal(k, ",")]]'
    ),
    # Functions of the accents above
    "Reciprocal": Example("alter(h, y -> 3 / y)", "stays in the unit", "alter(h, y -> 3 / y)"),
    "ByPoints": Example(
        "alter(h, by points {(0, 0), (5, 100)})",
        "stays in the unit",
        "alter(h, by points {(0, 0), (100, 5)})",
    ),
    "Logarithm": Example(
        "alter(h, y -> 10 * log10(y))", "stays in the unit", "alter(h, y -> pow(10, y / 10))"
    ),
    "Shift": Example("alter(at, y -> y + 1 hour)", "stays in the unit", "alter(at, y -> y - 1 hour)"),
    "Chain": Example("alter(h, y -> -y)", "stays in the unit", "alter(h, y -> y * -1)"),
}
CHANGES = [kind.__name__ for kind in ALL]
FUNCTIONS = [kind.__name__ for kind in FUNCTION_CLASSES]
BY_OTHERS = {"Affine": "Alter", "ValueMapping": "Recode", "Power": "Logarithm"}
"""Functions in the example of another name. A source undoes a logarithm by a power, and refuses powers (RQ340)."""
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
    assert [kind for kind in (*CHANGES, *FUNCTIONS) if BY_OTHERS.get(kind, kind) not in EXAMPLES] == []


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
