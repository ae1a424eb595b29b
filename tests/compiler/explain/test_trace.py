"""`explain --evolution` predicts the effects of an accent that is applied; `trace` shows its position."""

import re

import pytest

from cedilla.compiler.compile import compile_query
from cedilla.compiler.explain.explanation import explain_text
from cedilla.compiler.explain.impact import impacts
from cedilla.compiler.explain.impact_text import evolution_text
from cedilla.grammar.diagnostics import DiagnosticError
from cedilla.runtime.tools.inspect.trace import marker_name, trace
from tests.compiler.explain.impact_checks import check_impact, traced
from tests.kit import ROOT
from tests.kit.tiers import tiered

GOLDEN = (ROOT / "tests" / "compiler" / "golden" / "explain.txt").read_text(encoding="utf-8")


def texts() -> list[str]:
    """The queries whose plans are golden: every operator is in one of them."""
    result: list[str] = []
    for block in GOLDEN.split("====\n"):
        head = block.partition("----\n")[0].strip()
        lines = [line for line in head.splitlines() if line and not line.startswith("##")]
        if not lines:
            continue
        directive, *rest = lines
        path = directive.removeprefix("explain --full").strip()
        is_path = path and "=" not in path
        result.append((ROOT / path).read_text(encoding="utf-8") if is_path else "\n".join(rest))
    return result


@pytest.mark.long
@pytest.mark.parametrize("text", tiered(texts(), 8))
def test_a_fate_is_what_applying_the_accent_comes_to(text: str) -> None:
    plan = compile_query(text).plan
    all_impacts = list(impacts(plan))
    assert all_impacts
    for impact in all_impacts:
        if not impact.mentions:
            check_impact(plan, impact)


SUMS = """
stream r(k: int, t: double unit degF, v: double) from json "r" punctuated on k;
emit aggregate[{}](r) to json "out";
"""


@pytest.mark.parametrize(
    ("calls", "marker", "outcome", "functions"),
    [
        ("sum(t) as s by k", "[[unit(t, degC)]]", "absorbed (2.8)", ()),
        ("sum(t) as s by k", "[[alter(t, y -> y * 2)]]", "propagates (A4)", ("s",)),
        ("sum(t) as s, max(t) as m by k", "[[unit(t, degC)]]", "propagates (A4)", ("m",)),
        ("sum by k except v", "[[unit(t, degC)]]", "absorbed (2.8)", ()),
        ("count(t) as n by k", "[[alter(t, y -> y * 2)]]", "absorbed (2.8)", ()),
        ("sum(t * 2) as s by k", "[[alter(t, y -> y + 1)]]", "absorbed (2.8)", ()),
    ],
)
def test_a_trace_says_of_an_alter_what_its_function_does(
    calls: str, marker: str, outcome: str, functions: tuple[str, ...]
) -> None:
    """An offset counts once for each value, so no sum goes through it (2.8)."""
    (step,) = traced(SUMS.format(calls), ("r", marker))
    assert step.relations[-1].does == (outcome,)
    altered = [re.search(r"(?:alter|unit)\((\w+)", text) for text in step.outputs[0].says.alters]
    assert tuple(match[1] for match in altered if match) == functions


def test_an_alter_with_an_offset_has_a_row_of_its_own_where_it_ends() -> None:
    plan = compile_query(SUMS.format("sum(t) as s, max(t) as m by k")).plan
    actual = {
        (impact.offset, outcome.verdict, outcome.attributes)
        for impact in impacts(plan)
        if (impact.kind, impact.attribute, impact.mentions) == ("alter", "t", ())
        for outcome in impact.outcomes
    }
    assert actual == {(False, "propagates", ("s", "m")), (True, "propagates", ("m",))}
    alone = compile_query(SUMS.format("sum(t) as s by k")).plan
    assert re.search(
        r"with an offset +absorbed +not in aggregate +Aggregate aggregate", evolution_text(alone)
    )
    assert "with an offset, as from degF to degC, not at all" in " ".join(explain_text(alone).split())


COVERED = """
stream r(ts: long, s: int in {1, 2, 3}, t: double) from json "r" punctuated on ts;
windows := window[10 on ts as wid](r);
emit aggregate[avg(t) as m by wid](windows) to json "out";
"""


def test_a_trace_says_what_is_missing_until_nothing_is() -> None:
    accents = [("r", f"[[s = {s}, alter(t, y -> y * 2)]]") for s in (2, 1, 3)]
    waits = [step.relations[-1].waits for step in traced(COVERED, *accents)]
    assert waits == [("waits for windows in [s in {1, 3}]",), ("waits for windows in [s = 3]",), ()]
    assert traced(COVERED, *accents)[-1].outputs[0].says.alters == ("[[alter(m, y -> y * 2)]]",)


def test_punctuation_covers_what_no_accent_does() -> None:
    first, second, third = traced(
        COVERED, ("r", "[[s = 2, alter(t, y -> y * 2)]]"), ("r", "[s = 1]"), ("r", "[s = 3]")
    )
    assert first.relations[-1].waits == ("waits for windows in [s in {1, 3}]",)
    assert second.outputs[0].says.alters == ()
    assert third.outputs[0].says.alters == ("[[alter(m, y -> y * 2)]]",)


def test_a_trace_of_punctuation_shows_the_groups_that_pass() -> None:
    (step,) = traced(COVERED, ("r", "[ts < 25]"))
    source, windows, groups = step.relations
    assert source.says.punctuations == ("[ts < 25]",)
    assert set(windows.says.punctuations) == {"[ts < 25]", "[wid < 2]"}
    assert groups.says.punctuations == ("[wid < 2]",)
    assert groups.releases == ("open groups in [wid < 2]",)


def test_bounds_of_windows_are_described_and_closed_as_their_numbers_are() -> None:
    """Adds move to an earlier window, Alters to a later one; what closes a window closes both bounds (W5, G25)."""
    query = """
    stream r(at: timestamp, v: double) from json "r";
    windows := window[1 minute every 30 seconds on at as [begin, end]](r);
    emit aggregate[avg by begin, end except at](windows) to json "out";
    """
    time = "2013-01-01T00:01:15Z"
    add, alter, closed = traced(
        query,
        ("r", f"[[at >= {time}, +(p: double)]]"),
        ("r", f"[[at >= {time}, alter(v, y -> y * 10)]]"),
        ("r", f"[at < {time}]"),
    )
    assert add.outputs[0].says.adds == ('[[begin >= "2013-01-01T00:00:30Z", +(p: double)]]',)
    assert alter.outputs[0].says.alters == ('[[begin >= "2013-01-01T00:01:30Z", alter(v, y -> y * 10)]]',)
    assert set(closed.outputs[0].says.punctuations) == {
        '[begin < "2013-01-01T00:00:30Z"]',
        '[end <= "2013-01-01T00:01:00Z"]',
    }


UNION = """
stream a(k: int, v: double) from json "a";
stream b(k: int, v: double) from json "b";
emit a union b to json "out";
"""


def test_a_trace_names_the_input_that_lags() -> None:
    first, second = traced(UNION, ("a", "[[k > 5, alter(v, y -> y + 1)]]"), ("b", "[k > 7]"))
    assert first.relations[-1].waits == ("waits for b in [k >= 6]",)
    assert second.outputs[0].says.alters == ("[[k >= 8, alter(v, y -> y + 1)]]",)


REPLACED = """
stream r(ts: long, s: int in {1, 2}, t: double) from json "r";
emit project[ts, p](r) to json "out";
"""


def test_a_trace_says_why_a_relation_announces_nothing() -> None:
    """Its output has left the unit of sensor 2, which alone is left; and nothing comes through an input that waits."""
    markers = ["[[s = 1, +(p: double)]]", *(f"[[s = 1, alter(p, y -> y * {k})]]" for k in (2, 3))]
    markers += ["[[s = 2, +(p: double)]]", "[s = 1]", "[[s = 2, alter(p, y -> y * 2)]]"]
    *_, last = traced(REPLACED, *(("r", marker) for marker in markers))
    (why,) = last.relations[-1].does
    assert why.startswith("stays in an older unit")
    above = UNION.replace("a union b", "select[k > 0](a union b)")
    (first,) = traced(above, ("a", "[[alter(v, y -> y + 1)]]"))
    assert first.relations[-1].does == ("nothing comes to it",)


def test_a_bad_marker_is_shown_at_its_place() -> None:
    steps = trace(compile_query(UNION).plan, [("a", "[k > 7]"), ("b", "[[ k > z, -(v)]]")])
    assert next(steps).text == "[k > 7]"
    with pytest.raises(DiagnosticError) as caught:
        next(steps)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.source == marker_name(2)


def test_a_marker_that_breaks_no_syntax_is_shown_at_its_change() -> None:
    with pytest.raises(DiagnosticError) as caught:
        traced(UNION, ("a", "[[+(v: double)]]"))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "RQ205"
    assert diagnostic.span is not None
    assert "[[+(v: double)]]"[diagnostic.span.start : diagnostic.span.end] == "+(v: double)"


def test_a_table_is_closed_unless_a_marker_is_for_it() -> None:
    query = """
    stream a(k: int, v: double) from json "a";
    table b(k: int, w: double) from json "b";
    emit a join b on k to json "out";
    """
    (step,) = traced(query, ("a", "[k = 1]"))
    assert step.outputs[0].says.punctuations == ("[k = 1]",)
    (step,) = traced(query, ("b", "[[alter(w, y -> y * 2)]]"))
    assert step.outputs[0].says.alters == ("[[alter(w, y -> y * 2)]]",)


def test_a_dead_accent_is_told() -> None:
    _, step = traced(UNION, ("a", "[]"), ("a", "[[-(v)]]"))
    assert step.relations[0].does == ("concerns only tuples that are closed",)
