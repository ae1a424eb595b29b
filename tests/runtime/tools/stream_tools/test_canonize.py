"""Canonization: every rule, every inversion, and whole random streams against the plain decoder."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cedilla.compiler import regions
from cedilla.compiler.changes import Add, Alter, Drop
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import ABSENT
from cedilla.compiler.regions import Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.grammar import DiagnosticError, syntax
from cedilla.grammar.parser import parse_accent
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.tools.stream_tools import replacements as rules
from cedilla.runtime.tools.stream_tools.canonize import canonize
from cedilla.runtime.tools.stream_tools.replacements import (
    INVERSIONS,
    Closing,
    Described,
    NotValid,
    Rank,
    Replaced,
    Tuple,
    rank,
)
from cedilla.runtime.tools.stream_tools.schema import Schema, declared_schema, inferred_schema
from cedilla.runtime.tools.stream_tools.stream_checker import StreamChecker
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.lines import as_lines
from tests.kit.strategies import LIGHT
from tests.kit.stream import Item, complaints, decode
from tests.runtime.tools.stream_tools.random_streams import (
    PROBES,
    SCHEMA,
    STREAM_PROBES,
    described,
    equivalent,
    legal,
    random_stream,
    said,
)

CHOOSY = settings(LIGHT, suppress_health_check=[HealthCheck.filter_too_much])
"""Rules apply to few pairs."""

# --- what a few items say, by brute force ---

DOUBLE = Affine(2, 0)
SHIFT = Affine(1, 1)


NUMBER = Type("double")
ADDS = st.one_of(
    st.builds(Described, described("a", "y"), st.just(Add("x", NUMBER))),
    st.builds(Described, described("a", "x"), st.just(Add("y", NUMBER))),
)
DROPS = st.one_of(
    st.builds(Described, described("a", "y"), st.just(Drop("x"))),
    st.builds(Described, described("a", "x"), st.just(Drop("y"))),
)
ALTERS = st.one_of(
    st.builds(Described, described("a", "y"), st.sampled_from([DOUBLE, SHIFT]).map(lambda f: Alter("x", f))),
    st.builds(Described, described("a", "x"), st.sampled_from([DOUBLE, SHIFT]).map(lambda f: Alter("y", f))),
)
TUPLES = st.sampled_from(PROBES).map(Tuple)
CLOSINGS = st.builds(Closing, described("a", "x", "y"))
KINDS: dict[Rank, st.SearchStrategy[Any]] = {
    Rank.ADD: ADDS,
    Rank.TUPLE: TUPLES,
    Rank.PUNCTUATION: CLOSINGS,
    Rank.ALTER: ALTERS,
    Rank.DROP: DROPS,
}
ACCENTS = ADDS | DROPS | ALTERS


@pytest.mark.parametrize("pair", INVERSIONS, ids=lambda pair: f"{pair[0].name} {pair[1].name}".lower())
@CHOOSY
@given(data=st.data())
def test_every_inversion_is_undone_and_says_the_same(pair: tuple[Rank, Rank], data: st.DataObject) -> None:
    """The six cases of section 5.2 as corrected in theory 2.4, and the cases of punctuation (3.3)."""
    first, second = data.draw(KINDS[pair[0]]), data.draw(KINDS[pair[1]])
    assume(legal(first, second))
    replaced = INVERSIONS[pair](first, second)
    assert replaced is not None
    assert sorted(replaced, key=rank) == list(replaced)
    assert equivalent([first, second], replaced)


def test_every_pair_in_the_wrong_order_has_a_case() -> None:
    """Every valid stream therefore canonizes (theory 2.4)."""
    assert set(INVERSIONS) == {(a, b) for a in Rank for b in Rank if a > b} - {
        (Rank.TUPLE, Rank.TUPLE),
    }


RULES = {
    rules.r1: (ACCENTS, TUPLES),
    rules.r2: (ACCENTS, ACCENTS),
    rules.r3: (ADDS | DROPS, ADDS | DROPS),
    rules.r4: (ADDS, TUPLES),
    rules.r5: (DROPS, TUPLES),
    rules.r6: (ALTERS, TUPLES),
    rules.r7: (ALTERS, ACCENTS),
    rules.r7_back: (ACCENTS, ALTERS),
    rules.r9: (ADDS | DROPS, ADDS | DROPS),
    rules.r10: (ALTERS, ALTERS),
    rules.r11: (ALTERS, ALTERS),
    rules.p_add: (CLOSINGS, ADDS),
    rules.p_drop: (DROPS, CLOSINGS),
    rules.p_alter: (CLOSINGS, ALTERS),
    rules.p_alter_back: (ALTERS, CLOSINGS),
    rules.p_tuple: (CLOSINGS, TUPLES),
}
ON_THE_SAME = (rules.r9, rules.r10, rules.r11)
"""Rules of two accents with one description."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@CHOOSY
@given(data=st.data())
def test_every_rule_says_the_same(rule: Any, data: st.DataObject) -> None:
    """R1 to R11 and P-add, P-drop, P-alter (theory 2.3, 3.1); those that commute hold in both directions."""
    kinds = RULES[rule]
    first, second = data.draw(kinds[0]), data.draw(kinds[1])
    if rule in ON_THE_SAME:
        assume(first.primitive.attribute == second.primitive.attribute)
        second = evolve(second, description=first.description)
    if rule is rules.r10:
        second = evolve(
            second, primitive=Alter(first.primitive.attribute, first.primitive.function.inverse())
        )
    if rule is rules.r9:
        opposite = Drop("x") if isinstance(first.primitive, Add) else Add("x", NUMBER)
        second = evolve(second, primitive=evolve(opposite, attribute=first.primitive.attribute))
    assume(legal(first, second))
    replaced: Replaced | None = rule(first, second)
    assume(replaced is not None)
    assert replaced is not None
    if rule is rules.r3:  # each description's attributes are born before it
        assert all(legal(a, b) for a, b in [(first, second), replaced])
    assert equivalent([first, second], replaced)
    if rule in (rules.r1, rules.r4, rules.r5) and legal(*replaced):
        assert rule(*replaced) == (first, second)


@CHOOSY
@given(accent=ACCENTS, region=described("a", "x", "y"))
def test_r8_divides_and_combines(accent: Described, region: Tree) -> None:
    """R8 with the part where the region's attributes are undefined: nothing is left out."""
    assume(accent.primitive.attribute not in regions.attributes(region))
    parts = rules.r8(accent, region)
    assert all(part.description is not False for part in parts)
    if accent.description is False:
        assert parts == ()
        return
    assert rules.r8_back(parts) == accent
    assert equivalent([accent], parts)


def test_r8_without_the_undefined_part_loses_tuples() -> None:
    """`a < 2` and `a >= 2` do not make up everything where a may be undefined (theory 2.3)."""
    drop = Described(True, Drop("x"))
    below, above = regions.interval("a", None, (2, 0)), regions.interval("a", (2, 0), None)
    printed = [Described(below, Drop("x")), Described(above, Drop("x"))]
    assert not equivalent([drop], printed)
    undefined = Described(regions.complement(regions.defined("a")), Drop("x"))
    assert equivalent([drop], [*printed, undefined])


def test_r3_needs_its_extra_condition() -> None:
    """`[[+x]]`, `[[x < 2, +y]]`: in the other order, x is used before its birth (theory 2.3)."""
    born = Described(True, Add("x", NUMBER))
    uses = Described(regions.interval("x", None, (2, 0)), Add("y", NUMBER))
    assert rules.r3(born, uses) is None
    assert rules.r3(born, Described(regions.values("a", [1]), Add("y", NUMBER))) is not None


# --- misprints of the paper ---


def test_r7_as_printed_fails() -> None:
    """d″ is d' with X's bounds through β; as printed, it would be d with them (theory 2.3)."""
    alter = Described(regions.values("a", [1]), Alter("x", DOUBLE))
    later = Described(regions.intersection(alter.description, regions.interval("x", None, (4, 0))), Drop("y"))
    printed = [Described(alter.description, Drop("y")), alter]  # d cannot name x, so nothing of it changes
    assert not equivalent([alter, later], printed)
    replaced = rules.r7(alter, later)
    assert replaced is not None
    assert replaced[0] == evolve(
        later, description=regions.intersection(alter.description, regions.interval("x", None, (2, 0)))
    )
    assert equivalent([alter, later], replaced)


def test_case_5_as_printed_fails() -> None:
    """In the branch d' → ¬d the paper moves d's bounds through α; disjoint accents commute as they are (R2)."""
    drop = Described(
        regions.intersection(regions.values("a", [1]), regions.interval("y", None, (2, 0))), Drop("x")
    )
    alter = Described(regions.values("a", [2]), Alter("y", DOUBLE))
    moved = regions.intersection(regions.values("a", [1]), regions.interval("y", None, (4, 0)))
    assert not equivalent([drop, alter], [alter, evolve(drop, description=moved)])
    assert rules.drop_then_alter(drop, alter) == (alter, drop)


def test_case_6_as_printed_fails() -> None:
    """The paper divides d instead of d', and leaves an Add after the Alter."""
    alter = Described(regions.values("a", [1]), Alter("x", DOUBLE))
    add = Described(regions.interval("x", None, (4, 0)), Add("y", NUMBER))
    d, e = alter.description, add.description
    outside = Described(regions.difference(d, e), add.primitive)  # d ∧ ¬d', as printed
    inside = Described(regions.intersection(d, e), add.primitive)
    assert not equivalent([alter, add], [outside, alter, inside])
    replaced = rules.alter_then_add(alter, add)
    assert replaced is not None
    assert list(map(rank, replaced)) == [Rank.ADD, Rank.ALTER]
    assert equivalent([alter, add], replaced)


def test_a_pattern_on_a_dropped_attribute_closes_no_tuple_without_it() -> None:
    """`[a = 1, x < 2]` after `−x` never becomes `[a = 1]` (P-drop)."""
    pattern = regions.intersection(regions.values("a", [1]), regions.interval("x", None, (2, 0)))
    drop = Described(True, Drop("x"))
    assert rules.p_drop(drop, Closing(pattern)) == (Closing(pattern), drop)
    assert not equivalent([drop, Closing(pattern)], [Closing(regions.values("a", [1])), drop])


def test_what_no_valid_stream_has_is_refused() -> None:
    row = Tuple({"a": 1, "x": 1})
    with pytest.raises(NotValid):
        rules.in_order([row, Described(True, Add("x", NUMBER))])
    with pytest.raises(NotValid):
        rules.in_order([Described(True, Drop("x")), row])
    with pytest.raises(NotValid):
        rules.in_order([Closing(regions.values("a", [1])), row])


# --- whole streams ---


def canonized(stream: list[Item], schema: Schema = SCHEMA, used: Counter[str] | None = None) -> list[Item]:
    output = io.StringIO()
    lost = [
        diagnostic
        for diagnostic in canonize(as_lines(stream), schema, output, used)
        if diagnostic.code == "RQ213"
    ]
    if lost:
        raise DiagnosticError(lost)
    return [json.loads(line) for line in output.getvalue().splitlines()]


def order(stream: Iterable[Item]) -> list[int]:
    def kind(item: Item) -> int:
        if "$accent" not in item:
            return 2 if "$punctuation" in item else 1
        change = parse_accent(item["$accent"]).primitive
        return {syntax.AddAttribute: 0, syntax.AlterAttribute: 3, syntax.DropAttribute: 4}[type(change)]

    return [kind(item) for item in stream]


def check_canonized(stream: list[Item]) -> None:
    result, meaning = canonized(stream), said(stream)
    kinds = order(result)
    assert kinds == sorted(kinds)
    assert said(result) == meaning
    assert validate(as_lines(result), SCHEMA).findings == {}
    assert list(complaints(result, {"ts", "s", "t"})) == []
    # Again, nothing changes but the spelling.
    assert said(canonized(result)) == meaning
    by_rules = canonized(stream, used=Counter())
    assert order(by_rules) == sorted(order(by_rules))
    assert said(by_rules) == meaning
    assert validate(as_lines(by_rules), SCHEMA).findings == {}


@pytest.mark.rest
@pytest.mark.parametrize("by_added", [False, True])
@CHOOSY
@given(seed=st.integers(0, 10**9))
def test_a_canonical_stream_says_what_the_stream_said(by_added: bool, seed: int) -> None:
    """decode(canonize(s)) = decode(s); in order, valid; presence, units and what is closed are the same at the
    end for every probe; and the rules one by one say the same (theory 2.4, 3.3)."""
    rng = random.Random(seed)
    stream = random_stream(rng, rng.randrange(5, 30), by_added=by_added)
    try:
        check_canonized(stream)
    except DiagnosticError as error:
        wordless = by_added and {d.code for d in error.diagnostics} == {"RQ213"}
        if not wordless:
            raise
        assume(False)


@CHOOSY
@given(seed=st.integers(0, 10**9))
def test_the_engine_reads_a_canonical_stream_as_the_stream(seed: int) -> None:
    """The source's control plane ends at the same place: presence, what is closed, and raw to canonical where it is
    not."""
    stream = random_stream(random.Random(seed), 25, by_added=False)
    states = []
    for items in (stream, canonized(stream)):
        follower = StreamChecker(SCHEMA)
        for line in as_lines(items):
            assert [
                diagnostic.code for diagnostic in follower.take(line)[1] if diagnostic.severity == "error"
            ] == []
        states.append(follower.state)
    first, second = states
    for probe in STREAM_PROBES:
        assert regions.contains(first.closed, probe) == regions.contains(second.closed, probe)
        for name in "pqt":
            may_have = [regions.contains(s.present.get(name, ABSENT), probe) for s in states]
            assert may_have[0] == may_have[1]
            if name in probe and not regions.contains(first.closed, probe):
                raw = [regions.contains(s.original.get(name, Affine(1, 0)), probe) for s in states]
                assert raw[0] == raw[1]


@pytest.mark.rest
def test_the_plain_decoder_agrees_where_nothing_altered_comes_back() -> None:
    for seed in range(20):
        stream = random_stream(random.Random(seed), 40, by_added=True)
        plain = [{n: Fraction(v) for n, v in row.items()} for row in decode(stream)]
        try:
            actual = decode(canonized(stream))
        except DiagnosticError:
            continue
        assert [{n: Fraction(v) for n, v in row.items()} for row in actual] == plain


def test_the_paper_s_sensors() -> None:
    stream: list[Item] = [
        {"ts": 0, "s": 1, "t": 68.0},
        {"$accent": "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"},
        {"ts": 5, "s": 2, "t": 25.0},
        {"$accent": "[[s = 1, +(p: double)]]"},
        {"ts": 6, "s": 1, "t": 68.0, "p": 1013.0},
        {"$punctuation": "[s = 2, t < 10]"},
        {"$punctuation": "[ts < 5]"},
        {"$punctuation": "[ts < 6]"},
        {"$accent": "[[s = 1, t > 60, -(p)]]"},
        {"$accent": "[[s = 1, alter(t, y -> y / 2)]]"},
        {"ts": 7, "s": 1, "t": 34.0},
    ]
    assert canonized(stream) == [
        {"$accent": "[[s = 1, +(p: double)]]"},
        {"ts": 0, "s": 1, "t": 68.0},
        {"ts": 5, "s": 2, "t": 77.0},
        {"ts": 6, "s": 1, "t": 68.0, "p": 1013.0},
        {"ts": 7, "s": 1, "t": 68.0},
        {"$punctuation": "[s = 2, t < 50]"},
        {"$punctuation": "[ts < 6]"},
        {"$accent": "[[s = 2, alter(t, y -> (y - 32) * 5/9)]]"},
        {"$accent": "[[s = 1, alter(t, y -> y / 2)]]"},
        {"$accent": "[[s = 1, t > 30, -(p)]]"},
    ]


def test_a_drop_and_an_add_annihilate_and_the_new_incarnation_keeps_its_units() -> None:
    """R9, offline only (G32): what p went through before its drop is undone where it comes back."""
    stream: list[Item] = [
        {"$accent": "[[+(p: double)]]"},
        {"ts": 0, "s": 1, "t": 1.0, "p": 3.0},
        {"$accent": "[[alter(p, y -> y * 2)]]"},
        {"ts": 1, "s": 1, "t": 1.0, "p": 6.0},
        {"$accent": "[[-(p)]]"},
        {"$accent": "[[s = 1, +(p: double)]]"},
        {"ts": 2, "s": 1, "t": 1.0, "p": 5.0},
    ]
    assert canonized(stream) == [
        {"$accent": "[[+(p: double)]]"},
        {"ts": 0, "s": 1, "t": 1.0, "p": 3.0},
        {"ts": 1, "s": 1, "t": 1.0, "p": 3.0},
        {"ts": 2, "s": 1, "t": 1.0, "p": 5.0},
        {"$accent": "[[alter(p, y -> y * 2)]]"},
        {"$accent": "[[s = 1, alter(p, y -> y / 2)]]"},
        {"$accent": "[[s in {2, 3}, -(p)]]"},
    ]


def test_alters_that_undo_each_other_vanish() -> None:
    """R10 and R11."""
    stream: list[Item] = [
        {"$accent": "[[s = 1, alter(t, y -> y * 2)]]"},
        {"$accent": "[[s = 1, alter(t, y -> y + 1)]]"},
        {"ts": 2, "s": 1, "t": 5.0},
    ]
    assert canonized(stream) == [
        {"ts": 2, "s": 1, "t": 2.0},
        {"$accent": "[[s = 1, alter(t, y -> y * 2 + 1)]]"},
    ]
    assert canonized([*stream, {"$accent": "[[s = 1, alter(t, y -> (y - 1) / 2)]]"}]) == [
        {"ts": 2, "s": 1, "t": 2.0}
    ]


def test_tuples_that_are_not_altered_stay_as_they_are_written() -> None:
    text = '{"s": 1,   "t": 1e1, "ts": 0}'
    output = io.StringIO()
    canonize([Line(text, "s:1")], SCHEMA, output)
    assert output.getvalue() == text + "\n"


def test_only_a_valid_stream_has_a_canonical_form() -> None:
    output = io.StringIO()
    with pytest.raises(DiagnosticError) as caught:
        canonize(as_lines([{"ts": 0, "s": 1, "t": 1.0}, {"$accent": "[[-(tt)]]"}]), SCHEMA, output)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, output.getvalue()) == ("RQ207", "")
    assert diagnostic.notes[-1].startswith("s:2: ")


def test_what_the_wire_has_no_words_for_is_said() -> None:
    """Tuples without `k` cannot be described; with a schema that requires `k` there are none."""
    stream: list[Item] = [
        {"k": 1, "p": 1.0},
        {"$accent": "[[-(p)]]"},
        {"$accent": "[[k = 1, +(p: double)]]"},
    ]
    output = io.StringIO()
    optional = declared_schema("k?: int, p: double")
    (warning,) = canonize(as_lines(stream), optional, output)
    assert (warning.code, warning.severity) == ("RQ213", "warning")
    assert "[[k != 1, -(p)]]" in output.getvalue()
    for schema in (declared_schema("k: int, p: double"), inferred_schema(as_lines(stream))):
        assert canonize(as_lines(stream), schema, io.StringIO()) == ()


@pytest.mark.rest
def test_ten_thousand_items() -> None:
    rng = random.Random(1)
    stream: list[Item] = []
    for k in range(10_000):
        if k % 10 == 0:
            stream.append({"$accent": f"[[id = {k}, alter(t, y -> y * 2)]]"})
        elif k % 10 == 1:
            stream.append({"$accent": f"[[id = {k}, +(p: double)]]"})
        elif k % 10 == 2:
            stream.append({"$punctuation": f"[id = {k - 10}]"})
        else:
            stream.append({"id": rng.choice([k + 5, k - k % 10]), "t": 1.0})
    result = canonized(stream, declared_schema("id: int, t: double"))
    assert len(result) < len(stream)
    assert order(result) == sorted(order(result))
