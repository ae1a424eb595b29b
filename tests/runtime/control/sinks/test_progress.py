"""What an output must announce, and no less (theory D2)."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from cedilla.compiler import compile_query, regions
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from tests.kit.stream import Item
from tests.kit.work import calls


def announced(query: str, lines: Sequence[tuple[str, str | Item]], together: bool = False) -> list[str]:
    """Returns the markers of the output of a query. `lines`: tuples and texts of markers, each with its source."""
    reference = Reference(compile_query(query).plan)
    items = [(source, line if isinstance(line, dict) else _marker(line)) for source, line in lines]
    steps = [items] if together else [[item] for item in items]
    outputs = [output for step in steps for out in reference.step(step) for output in out.values()]
    return [text for out in outputs for item in out.items() for name, text in item.items() if name[0] == "$"]


def _marker(text: str) -> Item:
    return {"$accent" if text.startswith("[[") else "$punctuation": text}


ATTRIBUTES = "(ts: long, k: int in {1, 2}, t: double)"
HOT = f"""
stream north{ATTRIBUTES} from json "north";
stream south{ATTRIBUTES} from json "south";
emit select[t > 5](north) union south to json "o";
"""


@pytest.mark.parametrize(
    "south", [["[[alter(t, y -> y * 2)]]"], ["[[k = 1, alter(t, y -> y * 2)]]"]], ids=str
)
def test_a_part_that_cannot_be_described_does_not_swallow_the_rest(south: list[str]) -> None:
    """Both inputs have altered k = 1. South alone has altered k = 2, where its tuples with t <= 5 alone would be
    described by their own attribute (G23)."""
    north = ("north", "[[k = 1, alter(t, y -> y * 2)]]")
    assert announced(HOT, [north, *(("south", text) for text in south)]) == [
        "[[k = 1, alter(t, y -> y * 2)]]"
    ]


PUMPS = """
stream pumps(ts: long, pump: int in {1, 2}, litres: double) from json "pumps";
emit project[ts, bar](pumps) to json "o";
"""
REPLACED = [
    "[[pump = 1, +(bar: double)]]",
    "[[pump = 1, alter(bar, y -> y * 100)]]",
    "[[pump = 2, +(bar: double)]]",
    "[pump = 1]",
    "[[pump = 2, alter(bar, y -> y * 1000)]]",
]


@pytest.mark.parametrize(
    "query", [PUMPS, PUMPS.replace("project[ts, bar]", "aggregate[avg by ts except pump]")]
)
def test_an_output_follows_the_feeders_that_are_left(query: str) -> None:
    """Pump 1 is closed, whose function the output has announced and pump 2 never had."""
    one_by_one, together = (
        [
            text
            for text in announced(query, [("pumps", line) for line in REPLACED], at_once)
            if "alter" in text
        ]
        for at_once in (False, True)
    )
    assert one_by_one == ["[[alter(bar, y -> y * 100)]]", "[[alter(bar, y -> y * 10)]]"]
    assert together == ["[[alter(bar, y -> y * 1000)]]"]


def test_an_output_never_returns_to_a_function_that_it_has_left() -> None:
    lines = [*REPLACED[:2], "[[pump = 1, alter(bar, y -> y * 10)]]", *REPLACED[2:4]]
    old, new = "[[pump = 2, alter(bar, y -> y * 100)]]", "[[pump = 2, alter(bar, y -> y * 3)]]"
    markers_out = announced(PUMPS, [("pumps", line) for line in [*lines, old, new]])
    assert markers_out[1:] == [
        "[[alter(bar, y -> y * 100)]]",
        "[[alter(bar, y -> y * 10)]]",
        "[[alter(bar, y -> (y * 3) / 10)]]",
    ]


def test_what_an_output_has_left_is_forgotten_where_it_is_closed_or_begins_again() -> None:
    plan = compile_query(PUMPS.replace("project[ts, bar](pumps)", "pumps")).plan
    reference = Reference(plan)

    def left(*lines: str) -> object:
        for line in lines:
            reference.step([("pumps", _marker(line))])
        (sink,) = reference.sinks.values()
        return sink.earlier.get("bar", ())

    begin, first, *_ = REPLACED
    assert left(begin, first) == ()
    twice, tenfold = (first.replace("100", "2"), first.replace("100", "10"))
    assert regions.contains(left(twice), {"pump": 1}) == (Affine(100, 0),)
    assert regions.contains(left(tenfold), {"pump": 1}) == (Affine(100, 0), Affine(200, 0))
    assert left("[[pump = 1, -(bar)]]", begin) == ()
    assert left(first, twice) != ()
    others = [text.replace("pump = 1", "pump = 2") for text in (begin, first, twice)]
    assert regions.contains(left(*others, "[pump = 1]"), {"pump": 1}) == (Affine(100, 0),)
    assert regions.contains(left(others[1]), {"pump": 1}) == ()
    assert regions.contains(left(), {"pump": 2}) == (Affine(100, 0), Affine(200, 0))


WINDOWS = """
stream r(ts: long in [5, 100), k: int in {1, 2}, x: double) from json "r";
w := window[10 on ts as w](r);
"""
OF_WINDOWS = [
    "w",
    "window[10 on ts as [begin, end]](r)",
    "window[10 every 5 on ts as w](r)",
    "project[floor(ts / 10) as w, k, x](r)",
    "aggregate[avg by w except ts, k](w)",
    "project[w, x](w)",
    "window[2 on w as v](w)",
    "select[x > 5](w)",
    "r",
]
EQUAL = [
    ("ts in [5, 10)", "ts < 10"),
    ("ts < 30", "ts in [5, 30)"),
    ("ts >= 90", "ts in [90, 100)"),
    ("", "ts < 100"),
]


@pytest.mark.parametrize("relation", OF_WINDOWS)
def test_equal_regions_are_announced_alike(relation: str) -> None:
    """Values outside of a declared domain are in no tuple: windows are covered without them."""
    markers_out = 0
    for texts in EQUAL:
        for change in ("alter(x, y -> y * 2)", "+(u: double)"):
            markers = ["[[" + ", ".join(filter(None, (text, change))) + "]]" for text in texts]
            query = f"{WINDOWS} emit {relation} to json 'o';"
            first, second = (announced(query, [("r", marker)]) for marker in markers)
            assert first == second
            markers_out += len(first)
    assert markers_out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[[ts in [5, 10), alter(x, y -> y * 2)]]", "[[w < 1, alter(x, y -> y * 2)]]"),
        ("[[ts >= 90, alter(x, y -> y * 2)]]", "[[w >= 9, alter(x, y -> y * 2)]]"),
        ("[ts < 10]", "[w < 1]"),
        ("[ts < 9]", None),
        ("[ts >= 90]", "[w >= 9]"),
        ("[ts >= 5]", "[]"),
    ],
)
def test_a_window_is_covered_by_the_values_that_it_can_have(line: str, says: str | None) -> None:
    query = f"{WINDOWS} emit aggregate[avg by w except ts, k](w) to json 'o';"
    assert announced(query, [("r", line)]) == [text for text in [says] if text is not None]


ROOMS = """
stream r(ts: long, s: int in {1, 2, 3, 4, 5, 6}, t: double, n: string, d?: double) from json "r";
emit r to json "o";
"""
IN_MANY_UNITS = [f"[[s = {s}, alter(t, y -> y * {s + 1})]]" for s in (1, 2, 3)]


def test_a_closed_region_is_written_as_readers_see_it() -> None:
    """In canonical values it is four regions. Readers see one range."""
    lines = [*IN_MANY_UNITS, "[t > 100]"]
    assert announced(ROOMS, [("r", line) for line in lines]) == lines


def test_a_range_meets_only_what_is_closed_in_the_same_units() -> None:
    """For s = 1 all above 50 degrees are closed: in its unit, above 100."""
    lines = [*IN_MANY_UNITS[:1], "[t > 100]"]
    for part in ("[s = 1, t in (45, 55]]", "[s = 2, t in (45, 55]]"):
        assert announced(ROOMS, [("r", line) for line in [*lines, part]]) == [*lines, part]
    whole = "[s = 1, t in (90, 100]]"
    assert announced(ROOMS, [("r", line) for line in [*lines, whole]])[2:] == ["[s = 1, t > 90]"]


def test_a_closed_time_does_not_read_what_is_closed_in_other_units() -> None:
    """An epoch's cost does not grow with the accents in force, though a select has closed a range of their values."""
    query = ROOMS.replace("s: int in {1, 2, 3, 4, 5, 6}", "s: int").replace(
        "emit r", "emit select[t > 10](r)"
    )

    def cost(sensors: int) -> int:
        reference = Reference(compile_query(query).plan)
        marks = [_marker(f"[[s = {s}, alter(t, y -> y * 2)]]") for s in range(sensors)]
        reference.step([("r", mark) for mark in marks])
        reference.step([("r", _marker("[ts < 1]"))])
        return calls(lambda: reference.step([("r", _marker("[ts < 2]"))]))

    assert cost(400) < 2 * cost(100)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (['[[n != "b", n != "c", alter(t, y -> y + 1)]]'], ['[[n != "b", n != "c", alter(t, y -> y + 1)]]']),
        (["[[ts in [,], alter(t, y -> y + 1)]]"], ["[[alter(t, y -> y + 1)]]"]),
        (["[[d in [,], alter(t, y -> y + 1)]]"], ["[[d in [,], alter(t, y -> y + 1)]]"]),
        (['[n != "b"]'], ['[n != "b"]']),
        (["[ts < 5]", "[[ts >= 3, alter(t, y -> y + 1)]]"], ["[ts < 5]", "[[alter(t, y -> y + 1)]]"]),
    ],
)
def test_markers_are_written_as_people_write_them(lines: list[str], says: list[str]) -> None:
    assert announced(ROOMS, [("r", line) for line in lines]) == says


PLANTS = """
stream inland(s: int in {1, 2}, ts: long in [0, 4), t: double) from json "inland";
stream coast(s: int in {3}, ts: long in [2, 9), t: double) from json "coast";
emit inland union coast to json "o";
"""


def test_a_cell_does_not_wait_for_an_input_that_cannot_have_its_tuples() -> None:
    """No tuple of the coast has s = 1 or s = 2, by its declared domain."""
    lines = [
        ("inland", "[[alter(t, y -> y * 2)]]"),
        ("coast", "[[ts < 4, alter(t, y -> y * 2)]]"),
        ("coast", "[[ts >= 4, alter(t, y -> y * 2)]]"),
    ]
    assert announced(PLANTS, lines) == [
        "[[s in {1, 2}, alter(t, y -> y * 2)]]",
        "[[s = 3, ts in [2, 4), alter(t, y -> y * 2)]]",
        "[[s = 3, ts >= 4, alter(t, y -> y * 2)]]",
    ]


def test_an_alter_is_announced_where_the_attribute_is() -> None:
    """The paper calls a stream invalid whose Alter describes tuples without its attribute."""
    lines = ["[[s = 1, +(p: double)]]", "[[alter(p, y -> y * 2)]]", "[[s = 2, +(p: double)]]"]
    assert announced(ROOMS, [("r", line) for line in lines]) == [
        lines[0],
        "[[s = 1, alter(p, y -> y * 2)]]",
        lines[2],
    ]


TIMES = """
stream r(ts: long in [0, 6), k: int in {1, 2}, x: double) from json "r" punctuated on ts;
emit aggregate[count() as n by w, k](window[2 on ts as w](r)) to json "o";
"""


def test_what_is_added_again_is_added_nowhere_else_beyond_a_domain() -> None:
    """A reader that knows no domain has y of g = 3 since the first Add, and would refuse another one there (RQ205)."""
    attributes = "(k: int in {1, 2}, g: int in {1, 2}, ts: long in [0, 4))"
    query = f"""
        stream r{attributes} from json "r";
        stream s{attributes} from json "s";
        emit r union s to json "o";
    """
    lines = [
        ("r", "[[+(y: double)]]"),
        ("s", "[[g = 2, ts < 2, +(y: double)]]"),
        ("r", "[[k = 2, -(y)]]"),
        ("s", "[[ts >= 2, +(y: double)]]"),
    ]
    says = announced(query, lines)
    checker = StreamChecker(declared_schema("k: int, g: int, ts: long"), is_strict=True)
    for text in says:
        assert checker.take(Line(json.dumps(_marker(text)), "o:1"))[1] == []


def test_the_times_of_all_are_real_once_an_alter_has_made_some_so() -> None:
    """A type belongs to the stream: 3.5 may come for k = 2, although only k = 1 was altered (docs/markers.md)."""
    half = ("r", "[[k = 1, alter(ts, y -> y / 2)]]")
    upto, below = ("r", "[k = 2, ts <= 3]"), ("r", "[k = 2, ts < 4]")
    assert announced(TIMES, [upto]) == announced(TIMES, [below]) == ["[k = 2, w < 2]"]
    assert announced(TIMES, [half, upto]) == ["[k = 2, w < 1]"]
    assert announced(TIMES, [half, below]) == ["[k = 2, w < 2]"]
