"""Rules of operators one by one, item by item (theory 2.1, 2.7, 3.2), where no law says more about them."""

from typing import Any

import pytest

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.stream import Item, decode

SOURCES = """
stream r(ts: long, k: int in {1, 2, 3}, v: double, w: double, n?: string) from json "r";
stream s(ts: long, k: int in {1, 2, 3}, v: double, z: double) from json "s";
"""
STRICT = "set accents = strict;"
TUPLE = {"ts": 12, "k": 1, "v": 2.0, "w": 3.0}
DOUBLED = "alter({}, y -> y * 2)"
AVERAGES = "aggregate[avg by k except ts, w](r)"
JOINED = "r join (project[k, z](s)) on k"

Given = str | Item | tuple[str, str | Item]


class Steps:
    """A query that takes items one after the other: a tuple, or the text of a marker; of `r`, or with its source."""

    def __init__(self, text: str, settings: str = "") -> None:
        plan = compile_query(f"{SOURCES}{settings} q := {text}; emit q to json 'out';").plan
        self.reference = Reference(plan)
        self.output: list[Item] = []

    def take(self, step: Given) -> list[Item]:
        """Returns the items that an item adds to the output."""
        source, item = step if isinstance(step, tuple) else ("r", step)
        if isinstance(item, str):
            item = {"$accent" if item.startswith("[[") else "$punctuation": item}
        (outputs,) = self.reference.step([(source, item)])
        items = outputs["q"].items()
        self.output += items
        return items

    def accents(self, *steps: Given) -> list[str]:
        return [item["$accent"] for step in steps for item in self.take(step) if "$accent" in item]

    def punctuations(self, *steps: Given) -> list[str]:
        return [item["$punctuation"] for step in steps for item in self.take(step) if "$punctuation" in item]

    def tuples(self, *steps: Given) -> list[dict[str, Any]]:
        return [item for step in steps for item in self.take(step) if not any(n[0] == "$" for n in item)]


def cases(rules: dict[str, tuple[str, list[str]]]) -> list[Any]:
    return [
        pytest.param(rule, query, accent, id=f"{rule} {accent}")
        for rule, (query, accents) in rules.items()
        for accent in accents
    ]


SELECTED, KEPT, WINDOWED = "select[v > 1](r)", "project[k, v](r)", "window[5 on ts as wid](r)"
RUNNING = "running[delta(v) as grown, sum(v) as total per k on ts](r)"
SAMPLED = "sample[1 in 2 by v](r)"
GO_ON = {
    "S1": (SELECTED, ["[[k = 1, +(x: int)]]", "[[w < 3, +(x: int)]]"]),
    # The paper's S2 lets no Add of C pass; here it must, or tuples would be defined on C before their Add.
    "S2": ('select[n = "a"](r)', ["[[k = 1, +(n: string)]]"]),
    "S4": (SELECTED, ["[[k = 1, -(w)]]", "[[v > 5, -(w)]]"]),
    "S5": (SELECTED, [f"[[k = 1, {DOUBLED.format('v')}]]"]),
    "S6": (SELECTED, [f"[[v > 5, {DOUBLED.format('w')}]]"]),
    "S1, S4, S5, S6 of a sample": (
        SAMPLED,
        ["[[k = 1, +(x: int)]]", "[[v > 5, -(w)]]", *(f"[[k = 1, {DOUBLED.format(n)}]]" for n in "vw")],
    ),
    "N14": (RUNNING, ["[[k = 1, +(x: int)]]", "[[w < 3, +(x: int)]]", f"[[k = 1, {DOUBLED.format('w')}]]"]),
    "P1": (KEPT, ["[[k = 1, -(v)]]", f"[[k = 1, {DOUBLED.format('v')}]]"]),
    "P4": ("project[k, x](r)", ["[[k = 1, +(x: int)]]"]),
    "J2": (JOINED, ["[[k = 1, +(x: int)]]", "[[w < 3, +(x: int)]]"]),
    "J3": (JOINED, ["[[k = 1, -(v)]]"]),
    "G12": (JOINED, [f"[[k = 1, {DOUBLED.format('v')}]]", f"[[w < 3, {DOUBLED.format('v')}]]"]),
    "W1": (WINDOWED, ["[[k = 1, +(x: int)]]"]),
    "W2": (WINDOWED, ["[[k = 1, -(v)]]"]),
    "W4": (WINDOWED, [f"[[k = 1, {DOUBLED.format('v')}]]"]),
    "A2": (AVERAGES, ["[[k = 1, +(x: double)]]"]),
    "A3": (AVERAGES, ["[[k = 1, -(v)]]"]),
    "A4": (AVERAGES, [f"[[k = 1, {DOUBLED.format('v')}]]"]),
}
END_THERE = {
    "P2": (KEPT, ["[[k = 1, -(w)]]", "[[k = 1, +(x: int)]]", f"[[k = 1, {DOUBLED.format('ts')}]]"]),
    "G19": (KEPT, ["[[w < 3, -(n)]]", f"[[ts > 5, {DOUBLED.format('w')}]]"]),
    "W3": (WINDOWED, [f"[[k = 1, {DOUBLED.format('ts')}]]", f"[[{DOUBLED.format('ts')}]]"]),
    "A1": (AVERAGES, ["[[k = 1, -(w)]]", f"[[k = 1, {DOUBLED.format('ts')}]]", "[[v < 1, -(w)]]"]),
    "A1 of calls": ("aggregate[avg(v) as m by k](r)", ["[[k = 1, +(x: int)]]", "[[k = 1, -(n)]]"]),
}
END_THE_QUERY = {
    "S3": (SELECTED, ["[[-(v)]]", "[[k = 1, -(v)]]"]),
    "S3 of a sample": (SAMPLED, ["[[-(v)]]", "[[k = 1, -(v)]]"]),
    "N14": (RUNNING, ["[[-(k)]]", "[[k = 1, -(ts)]]"]),
    "J2": (JOINED, ["[[k = 1, +(z: double)]]"]),
    "J3": (JOINED, ["[[-(k)]]"]),
    "W2": (WINDOWED, ["[[k = 1, -(ts)]]"]),
    "A3": (AVERAGES, ["[[ts > 5, -(k)]]"]),
}
STRICTLY = {  # what waits unless `set accents = strict`
    "P3": (KEPT, [f"[[w < 3, {DOUBLED.format('v')}]]"]),
    "A4": (AVERAGES, [f"[[w < 3, {DOUBLED.format('v')}]]"]),
}


@pytest.mark.parametrize(("rule", "query", "accent"), cases(GO_ON))
@pytest.mark.parametrize("settings", ["", STRICT], ids=["", "strict"])
def test_accents_that_go_on_as_they_are(rule: str, query: str, accent: str, settings: str) -> None:
    assert Steps(query, settings).accents(accent) == [accent], rule


@pytest.mark.parametrize(("rule", "query", "accent"), cases(END_THERE))
@pytest.mark.parametrize("settings", ["", STRICT], ids=["", "strict"])
def test_accents_that_end_at_an_operator(rule: str, query: str, accent: str, settings: str) -> None:
    items = Steps(query, settings).take(accent)
    # That whole numbers may have decimals from here on is said all the same, by an Alter that changes nothing.
    assert [item for item in items if not item.get("$accent", "").endswith(", y -> y)]]")] == [], rule


@pytest.mark.parametrize(("rule", "query", "accent"), cases(END_THE_QUERY))
def test_accents_that_end_the_query(rule: str, query: str, accent: str) -> None:
    with pytest.raises(DiagnosticError, match=rf"\({rule.partition(' ')[0]}\)"):
        Steps(query).take(accent)


@pytest.mark.parametrize(("rule", "query", "accent"), cases(STRICTLY))
def test_accents_that_wait_or_end_a_strict_query(rule: str, query: str, accent: str) -> None:
    """One switch for all operators (G15, paper 6.2)."""
    assert Steps(query).take(accent) == []
    with pytest.raises(DiagnosticError, match=rf"\({rule}\)"):
        Steps(query, STRICT).take(accent)


@pytest.mark.parametrize(
    ("query", "accent", "announced"),
    [
        (AVERAGES, "[[w < 3, +(x: double)]]", "[[+(x: double)]]"),
        ("aggregate[avg by k except ts](r)", "[[k = 1, w < 3, +(x: double)]]", "[[k = 1, +(x: double)]]"),
        ("project[k, x](r)", "[[w < 3, +(x: int)]]", "[[+(x: int)]]"),
        ("session[5 on ts per k as begin](r)", "[[ts > 5, +(x: int)]]", "[[+(x: int)]]"),
    ],
)
@pytest.mark.parametrize("settings", ["", STRICT], ids=["", "strict"])
def test_an_add_never_waits(query: str, accent: str, announced: str, settings: str) -> None:
    """D1: it is announced where some tuple may have the attribute; so a strict query has nothing against it."""
    assert Steps(query, settings).accents(accent) == [announced]


EXTENDED = "extend[v * 2 as z](r)"


def test_extend_lets_every_accent_through_and_refuses_a_second_attribute_of_a_name() -> None:
    """P1 of all attributes, later ones too; an Add of a computed name ends the query (J2). An Alter is announced where
    the attribute is."""
    query = Steps(EXTENDED)
    for accent in ("[[k = 1, +(x: double)]]", "[[k = 1, w < 3, alter(x, y -> y * 2)]]", "[[k = 1, -(w)]]"):
        assert query.accents(accent.replace("k = 1, w", "w")) == [accent]
    assert query.tuples({"ts": 1, "k": 1, "v": 2.0, "x": 6.0, "n": "a"}) == [
        {"ts": 1, "k": 1, "v": 2.0, "x": 6.0, "n": "a", "z": 4.0}
    ]
    with pytest.raises(DiagnosticError, match=r"\(J2\)"):
        query.take("[[k = 2, +(z: double)]]")


def test_results_that_are_computed_carry_an_alter_where_they_are_affine_in_one_aggregate() -> None:
    """G20 and 2.8: `avg(v) * 2 + 1` goes through g∘α∘g⁻¹, what has two aggregates stays as it is."""
    query = Steps(
        "aggregate[avg(v) * 2 + 1 as f, max(v) - min(v) as width, round(sum(v) / count(), 1) as m by k](r)"
    )
    rows = [{"ts": 1, "k": 1, "v": 1.0, "n": "a", "w": 1.0}, {"ts": 2, "k": 1, "v": 4.0, "n": "a", "w": 1.0}]
    for row in rows:
        query.take(row)
    assert query.accents("[[alter(v, y -> y * 10)]]") == ["[[alter(f, y -> y * 10 - 9)]]"]
    query.take({"ts": 3, "k": 1, "v": 70.0, "n": "a", "w": 1.0})
    assert query.tuples("[k = 1]") == [{"k": 1, "f": 81.0, "width": 6.0, "m": 4.0}]


# --- what tuples show of them ---


def test_what_a_projection_leaves_out_still_evolves() -> None:
    """G18, G19: the Drop is not said, but what the source sends afterwards is judged by it."""
    query = Steps(KEPT)
    assert query.take("[[k = 1, -(w)]]") == []
    query.take(TUPLE)
    assert [code for _, code, _ in query.reference.rejected] == ["RQ304"]
    assert query.tuples({"ts": 1, "k": 1, "v": 2.0}) == [{"k": 1, "v": 2.0}]


def test_a_window_reads_canonical_times_and_gives_them() -> None:
    """W3, G27: the Alter is not said, so times come out as they were at the start."""
    query = Steps("window[5 on ts as wid](r)")
    query.take(f"[[{DOUBLED.format('ts')}]]")
    assert query.tuples(TUPLE) == [{**TUPLE, "ts": 6, "wid": 1}]


def test_a_join_compares_canonical_values_by_the_same_condition() -> None:
    """J4: u = v stays u = v when one input changes its units; each side goes its own way in the output."""
    query = Steps("r join (project[v as u, z](s)) on v = u")
    query.take(("s", {"ts": 1, "k": 1, "v": 2.0, "z": 9.0}))
    query.take(f"[[{DOUBLED.format('v')}]]")
    assert query.tuples({**TUPLE, "v": 2.0}) == []
    assert query.tuples({**TUPLE, "v": 4.0}) == [{**TUPLE, "v": 4.0, "u": 2.0, "z": 9.0}]


def test_groups_are_those_of_canonical_values() -> None:
    """G16: an Alter of a group attribute makes no new group; the group's row is in the new units."""
    query = Steps("aggregate[count() as c by v](r)")
    query.take(TUPLE)
    assert query.accents(f"[[{DOUBLED.format('v')}]]") == [f"[[{DOUBLED.format('v')}]]"]
    query.take({**TUPLE, "v": 4.0})
    assert query.tuples("[v <= 4]") == [{"v": 4.0, "c": 2}]


def test_a_group_closes_in_the_units_of_the_output_and_lets_its_drop_go() -> None:
    """3.2, Aggregate: the row is in the current o, and a Drop that waits for the group comes with it (G13)."""
    query = Steps("aggregate[avg by k, ts except w, n](r)")
    query.take(TUPLE)
    assert query.accents("[[k = 1, alter(v, y -> y * 2)]]") == ["[[k = 1, alter(v, y -> y * 2)]]"]
    assert not any("ts" not in text for text in query.accents("[[k = 1, -(v)]]"))
    (row, *markers) = query.take("[ts < 13]")
    assert row == {"k": 1, "ts": 12, "v": 4.0}
    assert markers[0] == {"$punctuation": "[ts < 13]"}
    assert decode(query.output) == [{"k": 1, "ts": 12, "v": 2.0}]


# --- two inputs ---


def test_what_has_no_attribute_yet_may_be_undefined_on_it() -> None:
    """G39: after the Add of one input, tuples of the other are undefined there, and valid."""
    query = Steps("r union s")
    assert query.accents("[[k = 1, +(x: int)]]") == ["[[k = 1, +(x: int)]]"]
    row = {"ts": 1, "k": 1, "v": 2.0, "z": 3.0}
    assert query.tuples(("s", row), {**TUPLE, "x": 1}) == [row, {**TUPLE, "x": 1}]


def test_an_entry_of_an_input_that_is_closed_since_is_forgotten() -> None:
    """3.2, Union: what waits for s is said where s is closed, and never where r itself is."""
    query = Steps("(project[k, v](r)) union (project[k, v](s))")
    doubled, tripled = "alter(v, y -> y * 2)", "alter(v, y -> y * 3)"
    assert query.accents(f"[[k in {{1, 2}}, {doubled}]]", "[k = 1]") == []
    assert query.accents(("s", f"[[k = 1, {tripled}]]")) == [f"[[k = 1, {tripled}]]"]
    assert query.accents(("s", "[k = 2]")) == [f"[[k = 2, {doubled}]]"]


def test_patterns_are_combined_in_canonical_values() -> None:
    """3.2: `v < 10` after doubling and `v < 6` before it close `v < 5`, said in the units of the output."""
    query = Steps("r union s")
    assert query.accents(f"[[{DOUBLED.format('v')}]]") == []
    assert query.punctuations("[v < 10]", ("s", "[v < 6]")) == ["[v < 5]"]
    assert query.accents(("s", f"[[{DOUBLED.format('v')}]]")) == [f"[[{DOUBLED.format('v')}]]"]
    assert query.punctuations("[v < 11]") == ["[v < 11]"]


# --- what stays of punctuation ---


@pytest.mark.rest
@pytest.mark.long
def test_closed_regions_are_kept_and_no_lists() -> None:
    """1.1, 1.4: a thousand punctuations for a bound that rises are one number."""
    query = Steps("r union s")
    for bound in range(1000):
        query.reference.step([(name, {"$punctuation": f"[ts < {bound}]"}) for name in ("r", "s")])
    (closed,) = {str(state.closed) for state in query.reference.states.values()}
    assert closed == str(query.reference.sinks["q"].closed)
    assert len(closed) < 200
