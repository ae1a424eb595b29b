"""User operators: facts against the law D1 by brute force, and what their signatures say of accents (theory 2.2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import DOUBLE, LONG, Type
from cedilla.compiler.facts.facts import ABSENT, LATENT, PRESENT, Facts, StateFacts
from cedilla.compiler.operators import Join, Project, Union, User
from cedilla.compiler.operators.shared.reactions import reaction
from cedilla.compiler.regions import UNDEFINED
from cedilla.grammar import DiagnosticError
from tests.compiler.worlds import World, check_fold, closed, excludes, history, presence, same, worlds
from tests.kit.strategies import FURTHER, LIGHT, rows, values

HEAD = 'stream a(k: long, t: double) from json "a"; stream b(k: long, u: double) from json "b";\n'


def user(inputs: int = 1, **fields: Any) -> User:
    names = ("l", "r")[:inputs]
    return User(name="o", inputs=names, label="o", function="m:f", **fields)


# --- facts ---


@LIGHT
@given(worlds("ab"))
def test_a_function_of_tuples_follows_its_input(world: World) -> None:
    """Feed(c) = {(1, c)}; what is not returned is folded away, what is computed is there (theory 2.2)."""
    out = user(foundation=("a",)).facts((world.facts,))
    check_fold(world, out, [], {n: (n, same) for n in "abX"}, dict.fromkeys("abX", same))
    returned = user(returns={"a": LONG, "X": LONG, "z": DOUBLE}, computed=("z",)).facts((world.facts,))
    check_fold(world, returned, ["b"], {n: (n, same) for n in "aX"}, dict.fromkeys("aX", same))
    assert returned.types == {"a": LONG, "X": LONG, "z": DOUBLE}
    assert returned.present["z"] is PRESENT
    project = Project(name="p", inputs=("l",), items={"a": "a", "X": "X"}).facts((world.facts,))
    assert returned.closed == project.closed


@LIGHT
@given(worlds("ab", ("X", "Y")))
def test_a_waiting_function_folds_over_all_but_its_groups(world: World) -> None:
    """Feed(g) = {(1, (g, rest))}; Y is accumulated, so its Alters are absorbed (theory 2.2, 2.8)."""
    operator = user(foundation=("a",), accumulate=("b", "Y"))
    out = operator.facts((world.facts,))
    check_fold(world, out, ["b", "X", "Y"], {n: (n, same) for n in "aX"}, dict.fromkeys("aX", same))
    assert not {"b", "Y"} & out.units.keys()
    for cell in rows(values(world.axes, "a")):
        feeders = [(world, c) for c in world.fibre(cell, ["b", "X", "Y"])]
        assert regions.contains(out.present["Y"], cell) == presence(feeders, "Y")
        assert regions.contains(operator.closed_groups((world.facts,)), cell) == closed(feeders)


@pytest.mark.long
@FURTHER
@given(worlds("ab"), worlds("ac"))
def test_two_inputs_feed_every_group(left: World, right: World) -> None:
    """Feed(g) = {(1, (g, b)), (2, (g, c))}; without groups it is a union's (theory 2.2, 2.6)."""
    both = (left.facts, right.facts)
    out = user(2, foundation=("a",), merge=("a", "X"), accumulate=("b", "c")).facts(both)
    for value in {*left.axes["a"].values, *right.axes["a"].values}:
        cell = {} if value is UNDEFINED else {"a": value}
        feeders = [
            (world, c)
            for world, other in ((left, "b"), (right, "c"))
            for c in world.fibre(cell, [other, "X"])
        ]
        # An Alter waits for no input whose domain excludes what the other's has (D2).
        changing = [
            (world, c)
            for world, c in feeders
            if not any(
                excludes(world, right if world is left else left, name, c.get(name, UNDEFINED))
                for name in ("a", "X")
            )
        ]
        for name in ("a", "X"):
            assert regions.contains(out.present[name], cell) == presence(feeders, name)
            if name in out.units:
                assert regions.contains(out.units[name], cell) == history(changing, name)
        assert regions.contains(out.closed, cell) == closed(feeders)
    union = Union(name="u", inputs=("l", "r"))
    assert user(2, merge=("a", "X")).facts(both) == union.facts(both)


def test_a_held_drop_is_not_said() -> None:
    source = Facts({"a": LONG, "X": LONG}, {}, {"a": PRESENT, "X": ABSENT})
    operator = user(foundation=("a",), accumulate=("X",))
    assert operator.facts((source,)).present["X"] is ABSENT
    assert operator.facts((source,), StateFacts({"X": True})).present["X"] is LATENT


def test_what_was_altered_is_a_double() -> None:
    operator = user(returns={"a": LONG})
    assert operator.facts((Facts({"a": DOUBLE}, {}, {"a": PRESENT}),)).types == {"a": DOUBLE}
    wider = user(returns={"a": DOUBLE})
    assert wider.facts((Facts({"a": Type("int")}, {}, {"a": PRESENT}),)).types == {"a": DOUBLE}


# --- accents ---

LEFT = Facts({"k": LONG, "t": DOUBLE}, {}, {"k": PRESENT, "t": PRESENT})
RIGHT = Facts({"k": LONG, "u": DOUBLE}, {}, {"k": PRESENT, "u": PRESENT})
WAITS = {"foundation": ("k",), "merge": ("k",), "accumulate": ("t",)}


@pytest.mark.parametrize(
    ("fields", "kind", "attribute", "mentions", "expected"),
    [
        ({"foundation": ("t",)}, "drop", "t", "", ("aborts", "2.2")),
        ({"foundation": ("t",)}, "alter", "t", "k", ("propagates", "2.2")),
        ({"foundation": ("t",)}, "drop", "k", "", ("propagates", "2.2")),
        ({"foundation": ("t",)}, "add", "new", "", ("propagates", "2.2")),
        ({"returns": {"k": LONG}}, "add", "new", "", ("ignored", "2.2")),
        ({"returns": {"k": LONG}}, "alter", "k", "t", ("accumulates", "2.2")),
        ({"returns": {"k": LONG, "z": LONG}, "computed": ("z",)}, "add", "z", "", ("aborts", "J2")),
        (WAITS, "alter", "t", "k", ("absorbed", "2.8")),
        (WAITS, "drop", "t", "k", ("propagates", "2.2")),
        (WAITS, "alter", "k", "", ("propagates", "2.2")),
        (WAITS, "alter", "k", "t", ("accumulates", "2.2")),
        (WAITS, "add", "new", "other", ("propagates", "2.2")),
        (WAITS, "drop", "new", "other", ("accumulates", "2.2")),
    ],
)
def test_the_signature_says_what_becomes_of_an_accent(
    fields: dict[str, Any], kind: Any, attribute: str, mentions: str, expected: tuple[str, str]
) -> None:
    actual = reaction(user(**fields), kind, attribute, frozenset(mentions.split()), (LEFT,), 0)
    assert (actual.kind, actual.rule) == expected


def test_merged_attributes_are_coordinated() -> None:
    operator = user(2, merge=("k",))
    nothing: frozenset[str] = frozenset()
    actual = [reaction(operator, kind, "k", nothing, (LEFT, RIGHT), 0) for kind in ("add", "drop", "alter")]
    assert [(reacts.kind, reacts.rule) for reacts in actual] == [
        ("coordinates", "U2"),
        ("coordinates", "U3"),
        ("coordinates", "U4"),
    ]
    assert reaction(operator, "add", "u", nothing, (LEFT, RIGHT), 0).kind == "aborts"
    assert reaction(operator, "add", "new", nothing, (LEFT, RIGHT), 0).kind == "propagates"


def test_an_attribute_that_would_be_twice_is_refused() -> None:
    """A join does the same (J2, G11), also if the function computes it; `merge` or `returns` makes room."""
    has_u = Facts({**LEFT.types, "u": DOUBLE}, {}, {**LEFT.present, "u": PRESENT})
    assert user(2, merge=("k",)).conflict((LEFT, RIGHT)) is None
    assert user(2, merge=("k",)).conflict((has_u, RIGHT)) == "u"
    assert user(2, merge=("k", "u")).conflict((has_u, RIGHT)) is None
    assert user(2, merge=("k",), returns={"k": LONG}).conflict((has_u, RIGHT)) is None
    computes = user(returns={"k": LONG, "u": DOUBLE}, computed=("u",))
    assert computes.conflict((LEFT,)) is None
    assert computes.conflict((has_u,)) == "u"
    join = Join(name="j", inputs=("l", "r"), on=(("k", "k"),))
    assert join.conflict((has_u, RIGHT)) == "u"


# --- plans ---


@pytest.mark.parametrize(
    ("declaration", "use", "code"),
    [
        ('operator o(R) foundation {t, x} from "m:f";', "o(a)", "RQ102"),
        ('operator o(R) merge {x} from "m:f";', "o(a)", "RQ102"),
        ('operator o(R) foundation {t} accumulate {t} from "m:f";', "o(a)", "RQ104"),
        ('operator o(R) returns (t: double, t: double) from "m:f";', "o(a)", "RQ104"),
        ('operator o(R, S) foundation {t} accumulate {k} merge {} from "m:f";', "o(a, b)", "RQ102"),
        ('operator o(R, S) from "m:f";', "o(a, b)", "RQ119"),
        ('operator o(R) returns (t: double, fw: version) from "m:f";', "o(a)", "RQ353"),
        ('operator o(R, S, T) merge {k} from "m:f";', "o(a, b, a)", "RQ118"),
        ('operator o(R) from "m:f";', "o(a, b)", "RQ118"),
        ('operator o(R) from "m:f";', "p(a)", "RQ118"),
        ('operator o(R) returns (t: string) from "m:f";', "o(a)", "RQ103"),
        ('operator o(R) returns (t: int) from "m:f";', "o(a)", "RQ103"),
    ],
)
def test_wrong_declarations_and_uses_are_refused(declaration: str, use: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        compile_query(f'{HEAD}{declaration}\nemit {use} to json "o";')
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert caught.value.diagnostics[0].span is not None


def test_what_the_function_needs_cannot_be_dropped() -> None:
    text = HEAD + 'operator o(R) foundation {t} from "m:f"; emit o(a) to json "o";'
    assert compile_query(text).plan.droppable["a"] == frozenset({"k"})


def test_the_module_is_never_imported_by_the_compiler() -> None:
    text = HEAD + 'operator o(R) from "no_such_module:f"; emit o(a) to json "o";'
    assert "no_such_module:f" in compile_query(text).program
