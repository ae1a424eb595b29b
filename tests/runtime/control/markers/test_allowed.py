"""`set changes`: a query takes the kinds of changes that it allows, and ends at others (RQ570)."""

from __future__ import annotations

import pytest

from cedilla.compiler import compile_query
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.grammar.syntax.change_policy import KINDS, policy_of
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.markers.allowed import NotAllowed
from cedilla.runtime.control.markers.stated_accents import starting_states
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.reference import Reference
from tests.kit.accents import EXAMPLES, STREAM
from tests.kit.errors import code_of

every = pytest.mark.parametrize("kind", EXAMPLES)


def under(policy: str, *accents: str, more: str = "") -> Reference:
    """The reference after some accents, each in an epoch of its own."""
    reference = Reference(compile_query(f"set changes = {policy};{STREAM}{more}").plan)
    for accent in accents:
        reference.step([("r", {"$accent": accent})])
    return reference


def refused(policy: str, *accents: str, more: str = "") -> NotAllowed:
    with pytest.raises(DiagnosticError) as error:
        under(policy, *accents, more=more)
    (diagnostic,) = error.value.diagnostics
    assert isinstance(diagnostic, NotAllowed)
    return diagnostic


def after(policy: str, *accents: str) -> SourceState:
    return under(policy, *accents).states["r"]


def word(kind: str) -> str:
    return EXAMPLES[kind].text.partition("(")[0]


def test_every_kind_has_an_example() -> None:
    assert {word(kind) for kind in EXAMPLES} == {*KINDS}


@every
def test_a_kind_is_refused_without_its_word_and_taken_with_it(kind: str) -> None:
    """The hint's policy leads to the state that the query has without one."""
    accent = EXAMPLES[kind].accent
    others = ", ".join(other for other in KINDS if other != word(kind))
    error = refused(f"allow {{{others}}}", accent)
    assert (error.code, error.kind.partition("(")[0]) == ("RQ570", word(kind))
    assert f"the change {word(kind)}(" in error.message
    assert f"`set changes = {error.wider};`" in (error.help or "")
    assert after(error.wider, accent) == after("any", accent)
    assert after(f"allow {{{word(kind)}}}", accent) == after("any", accent)


@every
def test_a_bad_accent_is_bad_before_it_is_refused(kind: str) -> None:
    wrong = EXAMPLES[kind].wrong
    assert code_of(lambda: under("allow {}", wrong)) == code_of(lambda: under("any", wrong)) != "RQ570"


def test_attributes_of_a_kind() -> None:
    policy = "allow {unit(x), alter(x), alter(h)}"
    assert after(policy, "[[unit(x, kW)]]") == after("any", "[[unit(x, kW)]]")
    assert after(policy, "[[alter(h, y -> 8 / y)]]") == after("any", "[[alter(h, y -> 8 / y)]]")
    assert refused(policy, "[[unit(y, kW)]]").wider == "allow {unit(x, y), alter(h, x)}"
    assert refused(policy, "[[unit({x, y}, kW)]]").wider == "allow {unit(x, y), alter(h, x)}"
    assert refused("allow {swap(x)}", "[[swap(x, y)]]").wider == "allow {swap(x, y)}"


def test_what_changes_nothing_is_taken() -> None:
    """A unit that its tuples have, a value of the domain, tuples that are closed."""
    policy = "allow {}"
    for accent in ("[[unit(x, W)]]", "[[grow(n, {1})]]", '[[zone(at, "UTC")]]'):
        assert after(policy, accent) == after("any", accent)
    closed = under(policy)
    closed.step([("r", {"$punctuation": "[s = 1]"}), ("r", {"$accent": "[[s = 1, unit(x, kW)]]"})])


def test_accents_of_the_query_are_allowed() -> None:
    stated = "accent r [[s = 1, unit(x, kW)]];"
    assert under("allow {}", more=stated).states == under("any", more=stated).states
    assert refused("allow {}", "[[s = 2, unit(x, kW)]]", more=stated).wider == "allow {unit(x)}"


def test_a_right_accent_is_never_set_aside() -> None:
    assert refused("allow {+}", "[[unit(x, kW)]]", more="set bad_markers = quarantine;").code == "RQ570"


def test_of_a_fleet_the_first_that_is_not_allowed() -> None:
    """Markers that are applied as a group are refused at their own positions."""
    plan = compile_query(f"set changes = allow {{unit}};{STREAM}").plan
    units = [f'[[k = "d{n}", unit(x, kW)]]' for n in range(20)]
    renames = [f'[[k = "d{n}", rename(xx, x)]]' for n in range(20)]
    lines = [MarkerLine("accent", text, number) for number, text in enumerate([*units, *renames])]
    effects = advance(plan, starting_states(plan), {"r": lines})
    (stop,) = effects.failures
    assert (stop.diagnostics[0].code, stop.marker.text, effects.accents) == ("RQ570", renames[0], 20)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("allow { drop, unit(y, x),unit(h)}", "allow {-, unit(h, x, y)}"),
        ("allow {≀, −, add}", "allow {alter, -, +}"),
        ("allow {unit(x), unit}", "allow {unit}"),
        ("allow{}", "allow {}"),
        ("any", "any"),
    ],
)
def test_a_policy_has_one_text(value: str, text: str) -> None:
    plan = compile_query(f"set changes = {value};{STREAM}").plan
    assert plan.settings["changes"] == text
    assert str(policy_of(text) or "any") == text


@pytest.mark.parametrize(
    ("value", "code", "hint"),
    [
        ("allow {renames}", "RQ004", "did you mean `rename`?"),
        ("alow {rename}", "RQ004", "allow {+, unit(t), rename}"),
        ("strict", "RQ004", "`any`, or kinds of changes"),
        ("allow {unit(xx)}", "RQ102", "x"),
        ("allow {unit(new), +(other)}", "RQ102", "x"),
    ],
)
def test_bad_policies(value: str, code: str, hint: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        compile_query(f"set changes = {value};{STREAM}")
    (diagnostic, *_) = error.value.diagnostics
    assert diagnostic.code == code
    assert hint in (diagnostic.help or "")


def test_an_attribute_that_may_be_added_may_be_named() -> None:
    for value in ("allow {unit(new), +(new)}", "allow {unit(new), +}"):
        assert compile_query(f"set changes = {value};{STREAM}").plan.settings["changes"] == value


def test_other_settings_have_no_policy() -> None:
    assert code_of(lambda: compile_query(f"set late = allow {{+}};{STREAM}")) == "RQ004"
