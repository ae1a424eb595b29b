"""The laws of the whole algebra on random queries and streams, without Spark (theory 3.5, O1 to O5)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.strategies import BRIEF, FURTHER, HEAVY
from tests.kit.stream import Item, complaints, decode
from tests.laws.reference_runs import Items, Ran, bag, check, decoded, first_attributes, readable, run
from tests.laws.relational import evaluate_plan
from tests.laws.worlds import ALL, COMPLETED, ORDERED, SOURCES, canonical, sources


@pytest.mark.parametrize("kind", [*ALL, "complete"])
@given(seed=st.integers(0, 2**32))
@BRIEF
def test_every_operator_keeps_the_laws(kind: str, seed: int) -> None:
    check(Random(seed), 1, 30, (kind,))


@given(seed=st.integers(0, 2**32))
@BRIEF
def test_plans_of_up_to_six_operators_keep_the_laws(seed: int) -> None:
    rng = Random(seed)
    check(rng, rng.randint(2, 6), 40)


@given(seed=st.integers(0, 2**32))
@BRIEF
def test_chains_that_look_at_the_order_keep_the_laws(seed: int) -> None:
    """The first, the last, the best and every so many of what is sorted, in any sequence, however the input is cut."""
    rng = Random(seed)
    check(rng, rng.randint(2, 5), 40, ORDERED)


@pytest.mark.rest
@given(seed=st.integers(0, 2**32))
@BRIEF
def test_plans_with_groups_that_no_tuple_came_to_keep_the_laws(seed: int) -> None:
    """The rows are those of the calendar of windows times the domains, however the input is cut."""
    rng = Random(seed)
    check(rng, rng.randint(1, 4), 40, COMPLETED)


@given(seed=st.integers(0, 2**32))
@BRIEF
def test_plans_over_edge_values_keep_the_laws(seed: int) -> None:
    rng = Random(seed)
    check(rng, rng.randint(1, 5), 30, rng.choice([ALL, ORDERED]), edges=2)


@pytest.mark.rest
@given(seed=st.integers(0, 2**32))
@FURTHER
def test_plans_keep_the_laws_in_further_cases(seed: int) -> None:
    check_any_plan(seed)


@pytest.mark.soak
@given(seed=st.integers(0, 2**32))
@HEAVY
def test_plans_keep_the_laws_in_many_cases(seed: int) -> None:
    check_any_plan(seed)


def check_any_plan(seed: int) -> None:
    rng = Random(seed)
    kinds, edges = rng.choice([ALL, ORDERED, COMPLETED]), rng.choice([0, 1, 2])
    check(rng, rng.randint(1, 6), rng.randint(10, 60), kinds, edges)


# --- what the laws have found ---


def steps_of(text: str, source: str, items: list[Item]) -> Ran:
    plan = compile_query(f"{SOURCES}{text} emit q0 to json 'out';").plan
    return run(plan, [[(source, item)] for item in items])


def test_an_alter_beside_a_closed_region_is_said_once() -> None:
    """Boxes that grow into what is closed must not be said again by their neighbours."""
    items: list[Item] = [
        {"$accent": "[[k = 1, alter(v, y -> y * 2)]]"},
        {"$punctuation": "[k = 2, ts <= 0]"},
        {"$accent": "[[alter(v, y -> y * 2)]]"},
        {"k": 3, "ts": 1, "v": 4.0},
    ]
    ran = steps_of("q0 := rename[k as w](s);", "s", items)
    assert [row["v"] for row in decode(ran.output)] == [2]


def test_what_is_closed_and_stored_has_not_lost_its_attributes() -> None:
    """A closed cell has no feeder, but a join further on may still pair its tuples (D1, G13)."""
    plan = compile_query(
        f"{SOURCES} q0 := s join (project[k as k_0, ts as ts_0](r)) on k = k_0; emit q0 to json 'out';"
    ).plan
    items: Items = [
        ("s", {"$punctuation": "[k = 3, ts <= 7]"}),
        ("r", {"k": 3, "ts": 8, "v": 0.5}),
        ("r", {"$punctuation": "[ts < 9]"}),
        ("s", {"k": 3, "ts": 14, "v": 1.0}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert not any("-(" in item.get("$accent", "") for item in output)
    assert list(complaints(output, {"k", "ts", "v", "q", "k_0", "ts_0"})) == []


def test_a_variance_of_stored_tuples_is_not_dropped_before_it_comes() -> None:
    """One tuple has none, but the two of the group do (G13)."""
    text = f"{SOURCES} q0 := aggregate[var(v) as x by k](r union project[k, ts](s)); emit q0 to json 'out';"
    items: Items = [
        ("r", {"k": 3, "ts": 0, "v": 0.5}),
        ("r", {"k": 3, "ts": 1, "v": 0.5}),
        ("r", {"$punctuation": "[]"}),
        ("s", {"$punctuation": "[]"}),
    ]
    output = run(compile_query(text).plan, [[item] for item in items]).output
    assert output[-2] == {"k": 3, "x": 0}
    assert list(complaints(output, {"k", "x"})) == []


def test_what_is_closed_stays_closed_between_whole_numbers() -> None:
    """An Alter lets values lie between whole numbers; a closed range keeps no hole for them (P-alter)."""
    plan = compile_query("stream r(b: int) from json 'r'; emit select[b > 0](r) to json 'out';").plan
    reference = Reference(plan)
    for item in ("[b < 3]", "[b = 3]", "[b >= 4]"):
        reference.step([("r", {"$punctuation": item})])
    reference.step([("r", {"$accent": "[[alter(b, y -> y * 2)]]"})])
    reference.step([("r", {"b": 7})])
    assert [code for _, code, _ in reference.rejected] == ["RQ305"]


def test_an_add_beside_closed_values_does_not_name_its_attribute() -> None:
    """A closed range of an attribute's own values must not get into its Add (G23)."""
    plan = compile_query("stream r(k: int) from json 'r'; q0 := r; emit q0 to json 'out';").plan
    items: Items = [
        ("r", {"$accent": "[[k = 1, +(x: int)]]"}),
        ("r", {"$punctuation": "[x > 3]"}),
        ("r", {"$accent": "[[k != 1, +(x: int)]]"}),
        ("r", {"$accent": "[[k = 2, -(x)]]"}),
        ("r", {"k": 3, "x": 1}),
    ]
    reference = Reference(plan)
    output_items = [text for item in items for o in reference.step([item]) for text in o["r"].items()]
    texts = [item["$accent"] for item in output_items if "$accent" in item]
    assert len(texts) >= 3
    assert not [text for text in texts if "x <" in text or "x >" in text]


def test_an_add_does_not_reckon_with_tuples_that_lack_what_is_required() -> None:
    """The wire has no words for ⊥, so an Add of those without `z`, which there are none of, named the others twice."""
    rng = Random(90091)
    check(rng, rng.randint(1, 5), 30, rng.choice([ALL, ORDERED]), edges=2)


DROPPED_WHILE_LEFT: dict[str, tuple[str, Items]] = {
    "some values are closed, others stored": (
        "session[3 on ts per k as w](s)",
        [
            ("s", {"k": 3, "ts": 2, "v": 1.5, "q": 0.0}),
            ("s", {"$punctuation": "[k = 3, q > 0]"}),
            ("s", {"$accent": "[[k = 3, -(q)]]"}),
            ("s", {"$punctuation": "[]"}),
        ],
    ),
    "some values are closed, others join": (
        "s left join (project[k as k_0, ts as ts_0, v as v_0, q as q_0](s)) on k = k_0",
        [
            ("s", {"k": 3, "ts": 1, "v": 0.5, "q": 0.0}),
            ("s", {"$accent": "[[k = 3, -(q)]]"}),
            ("s", {"$punctuation": "[k = 3, q <= 0]"}),
            ("s", {"k": 3, "ts": 12, "v": 1.5}),
            ("s", {"$punctuation": "[]"}),
        ],
    ),
    "some values have no feeder": (
        "r union (s left join (project[k as k_0, ts as ts_0, v as v_0, q as q_0](s)) on k = k_0)",
        [
            ("s", {"$punctuation": "[k = 2, q > 0]"}),
            ("s", {"k": 1, "ts": 15, "v": 35.125, "q": 1.0}),
            ("r", {"$punctuation": "[]"}),
            ("s", {"$punctuation": "[]"}),
        ],
    ),
}


@pytest.mark.parametrize("case", DROPPED_WHILE_LEFT)
def test_a_drop_waits_while_a_tuple_may_have_a_value(case: str) -> None:
    """A Drop cannot name its attribute (G23): it must not be said because some of the values are gone."""
    text, items = DROPPED_WHILE_LEFT[case]
    plan = compile_query(f"{SOURCES} q0 := {text}; emit q0 to json 'out';").plan
    output = run(plan, [[item] for item in items]).output
    initial = first_attributes(plan.start["q0"])
    assert list(complaints(output, initial)) == []


@pytest.mark.parametrize("join", ["join", "left join"])
def test_a_drop_waits_for_tuples_of_one_input_wherever_those_of_the_other_are(join: str) -> None:
    """A stored tuple of the right input may meet any of the left one; regions of the left do not exclude it."""
    other = "project[k as k_0, q as q_0, ts as ts_0](s)"
    plan = compile_query(f"{SOURCES} q0 := s {join} ({other}) on k = k_0; emit q0 to json 'out';").plan
    items: Items = [
        ("s", {"k": 3, "ts": 16, "v": 7.0, "q": 0.0}),
        ("s", {"$accent": "[[v >= 1.125, alter(ts, y -> y / 1000000)]]"}),
        ("s", {"$accent": "[[k = 3, -(q)]]"}),
        ("s", {"$punctuation": "[k = 3, ts > 9]"}),
        ("s", {"k": 3, "ts": 0.00002, "v": 5.0}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert sum("q_0" in row for row in output) == 2
    assert list(complaints(output, {*plan.start["q0"].types})) == []


def test_readers_know_a_type_before_an_add_is_described_by_its_values() -> None:
    """Between two whole numbers lies no value of a long, but one of the double that it becomes with the Add."""
    plan = compile_query(f"{sources(('zbig',))} q0 := s union r; emit q0 to json 'out';").plan
    items: Items = [
        ("s", {"$punctuation": "[zbig = 9223372036854775808]"}),
        ("s", {"$accent": "[[k = 3, +(q: double)]]"}),
        ("s", {"$accent": "[[q <= 0.625, alter(zbig, y -> y / 4 + 3)]]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert "[[alter(zbig, y -> y)]]" in [item["$accent"] for item in output]
    readable(plan, output, "")


def test_groups_wait_with_the_attribute_that_only_one_input_of_a_union_has() -> None:
    """The input that has it is closed, its groups are not: the Drop waits for them (D1, G13)."""
    text = "q1 := project[ts](s) union r; q0 := aggregate[count() as c by v, ts](q1); emit q0 to json 'out';"
    plan = compile_query(f"{SOURCES}{text}").plan
    items: Items = [
        ("r", {"k": 3, "ts": 14, "v": 33.0}),
        ("r", {"$punctuation": "[]"}),
        ("s", {"$punctuation": "[]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert list(complaints(output, {"v", "ts", "c"})) == []
    assert bag(decoded(output)) == bag([{"v": 33.0, "ts": 14, "c": 1}])


def test_a_description_is_in_the_units_of_its_place() -> None:
    """A later Alter does not bring other tuples under an earlier Drop (theory 2.5)."""
    stream: list[Item] = [
        {"$accent": "[[v > 10, -(q)]]"},
        {"$accent": "[[alter(v, y -> y + 32)]]"},
        {"v": 33.0, "q": 1},
        {"v": 43.0, "q": 1},
    ]
    assert [line.split(":")[0] for line in complaints(stream, {"v", "q"})] == ["item 3"]


def test_arrays_are_grouped_and_counted() -> None:
    text = """
    q1 := aggregate[collect(v) as all by k, ts](r);
    q0 := aggregate[count(distinct all) as c, count() as n by all](q1);
    """
    items: list[Item] = [{"k": k, "ts": 1, "v": 0.5} for k in (1, 2)]
    ran = steps_of(text, "r", [*items, {"k": 3, "ts": 1, "v": 1.0}, {"$punctuation": "[]"}])
    assert bag(decoded(ran.output)) == bag([{"all": [0.5], "c": 1, "n": 2}, {"all": [1.0], "c": 1, "n": 1}])


def test_results_without_a_value_come_last_in_a_sort() -> None:
    text = "q1 := aggregate[sum(v where v > 1) as z by k](r); q2 := sort[z desc](q1); q0 := limit[2](q2);"
    items: list[Item] = [{"k": k, "ts": 1, "v": v} for k, v in ((1, 0.5), (2, 1.5), (3, 2.5))]
    ran = steps_of(text, "r", [*items, {"$punctuation": "[]"}])
    assert bag(decoded(ran.output)) == bag([{"k": 3, "z": 2.5}, {"k": 2, "z": 1.5}])


def test_markers_of_strings_and_of_decimals_of_38_digits_go_on_as_they_are() -> None:
    """Another name is no function of numbers, and no constant is rounded."""
    declared = "stream r(x: decimal(38, 10), v: double, name: string) from json 'r';"
    plan = compile_query(f"{declared} emit project[x, v, name as place](r) to json 'out';").plan
    numbers = "{0.0000000001, 1234567890123456789012345678.0123456789}"
    accent = {"$accent": f"[[x in {numbers}, alter(v, y -> y * 2)]]"}
    reference = Reference(plan)
    steps = [reference.step([("r", m)])[0] for m in (accent, {"$punctuation": '[name >= "north"]'})]
    assert [o["project"].items() for o in steps] == [[accent], [{"$punctuation": '[place >= "north"]'}]]


def test_a_tenth_is_a_tenth_in_a_description_and_in_a_pattern() -> None:
    """A double is the number that it is written as, for `simulate` as for Spark."""
    plan = compile_query("stream r(e: double, v: double) from json 'r'; emit r to json 'out';").plan
    reference = Reference(plan)
    reference.step([("r", {"$accent": "[[e = 0.1, alter(v, y -> y * 2)]]"})])
    (output,) = reference.step([("r", {"e": 0.1, "v": 3.0})])
    assert output["r"].canonical == ({"e": 0.1, "v": 1.5},)
    reference.step([("r", {"$punctuation": "[e <= 0.1]"})])
    reference.step([("r", {"e": 0.1, "v": 3.0})])
    assert [code for _, code, _ in reference.rejected] == ["RQ305"]


def test_an_add_says_nothing_twice_where_only_some_tuples_have_the_attribute_that_describes_it() -> None:
    """No description can say that an attribute is undefined, so one Add says more, and the others leave that out."""
    plan = compile_query(f"{SOURCES} q0 := session[3 on k as w](s) union s; emit q0 to json 'out';").plan
    items: Items = [
        ("s", {"$accent": "[[k = 1, +(q: double)]]"}),
        ("r", {"$accent": "[[k = 3, +(q: double)]]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    readable(plan, output, "")
    assert next(item["$accent"] for item in output) == "[[k = 1, +(q: double)]]"


def test_an_add_does_not_name_its_attribute_where_that_tells_in_which_units_others_are() -> None:
    """One input is closed for tuples with `q`, so these alone are in new units when `q` is added (G23, 3.2)."""
    plan = compile_query(f"{SOURCES} q0 := s union r; emit q0 to json 'out';").plan
    items: Items = [
        ("r", {"$punctuation": "[k = 2, q <= 0]"}),
        ("r", {"$punctuation": "[k = 2, q > 0]"}),
        ("s", {"$accent": "[[alter(ts, y -> y * 2)]]"}),
        ("r", {"$punctuation": "[ts < 4]"}),
        ("r", {"$accent": "[[k = 2, +(q: double)]]"}),
        ("s", {"$accent": "[[k = 2, +(q: double)]]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    # That of `r` is of no tuple that can come.
    assert [item["$accent"] for item in output if "+(q" in item["$accent"]] == ["[[k = 2, +(q: double)]]"]
    readable(plan, output, "")


def test_an_add_of_values_that_are_closed_is_not_said_again_and_again() -> None:
    """The one input has dropped `q`, and the other has closed it before any Add: tuples without `q` may come, and each
    epoch with a marker added and dropped `q` for them."""
    plan = compile_query(
        f"{SOURCES} q0 := s union r; emit q0 to json 'out'; set bad_markers = quarantine;"
    ).plan
    items: Items = [
        ("s", {"$accent": "[[k = 1, +(q: double)]]"}),
        ("r", {"$punctuation": "[ts < 10]"}),
        ("s", {"$accent": "[[k = 1, -(q)]]"}),
        ("r", {"$punctuation": "[k = 1, q <= 0]"}),
        ("r", {"$punctuation": "[k = 1, q > 0]"}),
    ]
    before = run(plan, [[item] for item in items]).output
    again = run(plan, [[item] for item in [*items, *2 * [("s", {"$accent": "[[no accent"})]]]).output
    assert again == before


@pytest.mark.parametrize("value", ["-Infinity", "Infinity", "NaN"])
def test_a_session_that_is_infinitely_far_away_is_before_or_after_no_constant(value: str) -> None:
    """Its start is no bound of what is closed: a reader would find the session beyond the punctuation (G29)."""
    text = "stream r(k: int, x: double) from json 'r'; q0 := session[3 on x as w](r); emit q0 to json 'out';"
    items: list[Item] = [{"k": 1, "x": value}, {"$punctuation": "[k = 2]"}, {"$punctuation": "[x < 5]"}]
    reference = Reference(compile_query(text).plan)
    output = [o for item in items for outputs in reference.step([("r", item)]) for o in outputs["q0"].items()]
    closed = [item["$punctuation"] for item in output if "$punctuation" in item]
    assert all(len(pattern) < 20 for pattern in closed), closed
    assert "[w < 5]" in closed
    last = reference.step([("r", {"$punctuation": "[]"})])[0]["q0"].items()
    assert [str(item["x"]) for item in [*output, *last] if "x" in item] == [str(float(value))]


def test_an_alter_of_what_readers_know_to_be_dropped_is_not_said() -> None:
    """A Drop that grew into what is closed has dropped the attribute there for readers, too (P-dead)."""
    plan = compile_query(f"{SOURCES} q0 := s; emit q0 to json 'out';").plan
    items: Items = [
        ("s", {"$punctuation": "[k in {2, 3}]"}),
        ("s", {"$accent": "[[k = 1, -(q)]]"}),
        ("s", {"$accent": "[[ts >= 10, alter(q, y -> y * 2)]]"}),
        ("s", {"k": 1, "ts": 12, "v": 1.0}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert [item["$accent"] for item in output if "$accent" in item] == ["[[-(q)]]"]
    readable(plan, output, "")


@pytest.mark.parametrize("through", ["s", "distinct[v](s)"])
def test_an_alter_is_not_announced_where_no_tuple_has_the_attribute(through: str) -> None:
    """A description has several texts where units of its attributes differ; each is for tuples of its own."""
    plan = compile_query(f"{SOURCES} q0 := {through}; emit q0 to json 'out';").plan
    items: Items = [
        ("s", {"$punctuation": "[k = 3, q <= 0]"}),
        ("s", {"$accent": "[[k = 2, -(q)]]"}),
        ("s", {"$accent": "[[k != 1, alter(ts, y -> y * 1000000000)]]"}),
        ("s", {"$accent": "[[ts >= 10, alter(q, y -> y * 4 - 1)]]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert any("alter(q" in item.get("$accent", "") for item in output)
    readable(plan, output, "")


def test_arrays_are_sorted_by_their_values_of_which_nan_is_the_last() -> None:
    text = "q1 := aggregate[collect(v / 1) as all by k](r); q2 := sort[all desc](q1); q0 := limit[2](q2);"
    items: list[Item] = [{"k": k, "ts": 1, "v": v} for k, v in ((2, "NaN"), (1, 0.5), (3, "Infinity"))]
    for order in (items, items[::-1]):
        ran = steps_of(text, "r", [*order, {"$punctuation": "[]"}])
        assert sorted(item["k"] for item in ran.output if "k" in item) == [2, 3]


def test_an_add_says_where_units_change_though_nothing_closes_it() -> None:
    """An attribute that all tuples have tells in which units others are: its undefined value is no part of an Add."""
    plan = compile_query(f"{SOURCES} q0 := s union r; emit q0 to json 'out';").plan
    items: Items = [
        *((name, {"$accent": "[[ts >= 10, alter(v, y -> y / 4 + 3)]]"}) for name in "rs"),
        ("s", {"$punctuation": "[v > 20, ts < 10]"}),
        ("s", {"$punctuation": "[v > 8, ts >= 10]"}),
        ("s", {"$accent": "[[k = 2, +(q: double)]]"}),
        ("r", {"$accent": "[[k = 2, +(q: double)]]"}),
    ]
    output = run(plan, [[item] for item in items]).output
    assert "[[k = 2, v <= 20, +(q: double)]]" not in [item.get("$accent") for item in output]
    readable(plan, output, "")


@pytest.mark.parametrize("change", ["alter(v, y -> y * 2)", "-(v)"])
def test_what_cannot_be_said_of_undefined_values_is_not_announced(change: str) -> None:
    """Of k = 1 only tuples with `q` are in new units of `ts`: no description says which the others are (G23, 3.2)."""
    plan = compile_query(f"{SOURCES} q0 := project[k, ts, v, q](s union r); emit q0 to json 'out';").plan
    items: Items = [
        ("r", {"$punctuation": "[k = 1, q <= 0]"}),
        ("r", {"$punctuation": "[k = 1, q > 0]"}),
        ("s", {"$accent": "[[alter(ts, y -> y * 2)]]"}),
        ("r", {"$accent": f"[[ts >= 10, {change}]]"}),
        ("s", {"$accent": f"[[ts >= 20, {change}]]"}),
    ]
    if "alter" in change:
        items += [("s", {"k": k, "ts": 24, "v": 5.0}) for k in (1, 2)]
    output = run(plan, [[item] for item in items]).output
    expected = evaluate_plan(plan, canonical(items))["q0"]
    assert bag(decoded(output)) == bag(expected)
    initial = {"k", "ts", "v", "q"}
    assert list(complaints(output, initial)) == []
    texts = [item["$accent"] for item in output if "$accent" in item]
    assert [text for text in texts if change.split(",", maxsplit=1)[0] in text] == [
        f"[[k >= 2, ts >= 10, {change}]]",
        f"[[k = 1, q in [,], ts >= 20, {change}]]",
    ]


@pytest.mark.parametrize(
    "operator", ["window[4 on m as w]", "session[4 on m as w]", "session[4 on m per k as w]"]
)
def test_a_tuple_whose_computed_time_is_undefined_goes_on_without_a_window(operator: str) -> None:
    """A division by zero ends no query: the tuple is in no window and in no session (docs/language.md)."""
    text = f"q1 := project[k, ts, v / (k - 1) as m](r); q0 := {operator}(q1);"
    rows: list[Item] = [{"k": 1, "ts": 1, "v": 1.0}, {"k": 2, "ts": 2, "v": 5.0}, {"k": 1, "ts": 2, "v": 3.0}]
    ran = steps_of(text, "r", [*rows, {"$punctuation": "[ts < 2]"}, {"$punctuation": "[]"}])
    start = 1 if operator.startswith("window") else 5.0
    assert bag(decoded(ran.output)) == bag(
        [{"k": 1, "ts": 1}, {"k": 2, "ts": 2, "m": 5.0, "w": start}, {"k": 1, "ts": 2}]
    )
