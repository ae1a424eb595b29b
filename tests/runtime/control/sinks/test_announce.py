"""The announcements of an output: the difference between two instants (theory 3.3)."""

import pytest
from immutables import Map

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import DOUBLE, LONG
from cedilla.compiler.facts.facts import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.facts.marker_parser import read_accent, read_epoch_change, read_punctuation
from cedilla.compiler.plan import derive
from cedilla.compiler.regions import Level
from cedilla.compiler.regions.affine import IDENTITY, Affine
from cedilla.grammar.diagnostics import Diagnostic
from cedilla.runtime.connectors.records.json_objects import json_text
from cedilla.runtime.connectors.records.lines import Line
from cedilla.runtime.control.markers.epoch_changes import begun
from cedilla.runtime.control.markers.one_accent import with_accent
from cedilla.runtime.control.sinks.announce import SinkState, announce
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.engines.plain.reference import Reference
from cedilla.runtime.tools.stream_tools.schema import declared_schema
from cedilla.runtime.tools.stream_tools.validate import validate
from tests.kit.stream import Decoder, Item

TWICE, SIX = Affine(2, 0), Affine(6, 0)


def test_an_alter_concerns_cells_that_have_the_attribute() -> None:
    """After `[[k in {1, 2}, alter(t)]]` and `[[k = 1, alter(t)]]`, with t at k = 1 alone, a reader is told of k = 1
    only: an accent on an attribute that is nowhere in its description ends a query (P4, RQ206)."""
    types, universe = {"k": LONG, "t": DOUBLE}, {"k": regions.Domain(True, True)}
    before = Facts(types, universe, {"k": PRESENT, "t": Level("k", ABSENT, (), (ABSENT,), Map({1: PRESENT}))})
    units = Level("k", ORIGINAL, (), (ORIGINAL,), Map({1: (IDENTITY, TWICE, SIX), 2: (IDENTITY, TWICE)}))
    after = Facts(types, universe, before.present, {"t": units})
    _, markers = announce(SinkState.start(before), before, after)
    assert markers.alters == ("[[k = 1, alter(t, y -> y * 6)]]",)


FLEET = """
stream readings(ts: long, s: int, t: double) from json "readings" punctuated on ts;
windows := window[300 on ts as wid](readings);
{result}
emit result to json "result";
"""


def test_time_that_goes_on_changes_nothing_that_many_accents_have_said() -> None:
    """While windows close one after the other, units of hundreds of accents by sensor stay the same objects: the cost
    of an epoch does not grow with the accents in force (D1, theory 1.4)."""
    for result in (
        "result := aggregate[avg(t) as t, count() as n by s, wid](windows);",
        "result := project[wid, s, t](windows);",
        "result := aggregate[min(t) as t by s](windows);",
    ):
        plan = compile_query(FLEET.format(result=result), "fleet.rq").plan
        state = SourceState.start(plan.sources[0], frozenset())
        for sensor in range(300):
            accent = read_accent(f"[[s = {sensor}, alter(t, y -> y * {sensor % 3 + 2})]]", state.types)
            state = with_accent(state, accent, 0)
        collected = []
        for time in (1_000, 2_000):
            state = state.punctuate(read_punctuation(f"[ts < {time}]", state.types), 0).next_epoch()
            collected.append(derive(plan, {"readings": state.facts()})["result"])
        assert collected[0].closed != collected[1].closed or "by s]" in result
        assert collected[0].units["t"] is collected[1].units["t"]
        assert regions.contains(collected[1].live_units("t"), {"s": 4, "wid": 9}) == (IDENTITY, Affine(3, 0))


@pytest.mark.parametrize("units", ["", " in original units"])
def test_an_output_is_valid_by_the_schema_that_it_was_declared_with(units: str) -> None:
    """Values that an Alter has made doubles of come while it still waits for others: readers are told before."""
    query = f"""
    stream r(ts: long, s: int in {{1, 2}}, t: int, m: decimal(5,2)) from json "r" punctuated on ts;
    out := aggregate[max(t) as most, sum(t) as t, sum(m) as m, count() as n by ts](r);
    emit out to json "out"{units};
    """
    items: list[Item] = [
        {"ts": 1, "s": 1, "t": 10, "m": 1},
        {"$punctuation": "[ts < 2]"},
        {"$accent": "[[s = 1, alter(t, y -> y * 9/5 + 32)]]"},
        {"$accent": "[[s = 1, alter(m, y -> y * 3)]]"},
        {"ts": 3, "s": 1, "t": 97, "m": 1},
        {"$punctuation": "[ts < 4]"},
        {"$accent": "[[s = 2, alter(t, y -> y * 9/5 + 32)]]"},
        {"ts": 5, "s": 2, "t": 97, "m": 1},
        {"$punctuation": "[]"},
    ]
    reference = Reference(compile_query(query).plan)
    output = [line for item in items for o in reference.step([("r", item)]) for line in o["out"].items()]
    lines = [Line(json_text(item), f"out:{number}") for number, item in enumerate(output, 1)]
    findings: list[Diagnostic] = []
    types = compile_query(query).plan.start["out"].types
    schema = declared_schema(", ".join(f"{name}?: {type_}" for name, type_ in types.items()))
    validate(lines, schema, findings.append)
    assert findings == []
    announced = [item["$accent"] for item in output if "$accent" in item]
    assert announced[:3] == [f"[[alter({name}, y -> y)]]" for name in ("most", "t", "m")]


def test_a_new_value_that_no_text_has_named_is_told_of() -> None:
    """`s != 1` of 1 and 2 is written `s >= 2`, which holds for 3, too, and not for 0 (theory N1)."""
    plan = compile_query('stream r(s: int in {1, 2}, t: double) from json "r"; emit r to json "o";').plan
    state = SourceState.start(plan.source_of["r"], frozenset())
    accent = read_accent("[[s != 1, alter(t, y -> y * 2)]]", state.types)
    state = with_accent(state, accent, 0)
    sink, announcement = announce(SinkState.start(plan.start["r"]), state.facts(), state.facts())
    assert announcement.alters == ("[[s >= 2, alter(t, y -> y * 2)]]",)
    growth = read_epoch_change("[[grow(s, {0, 3})]]", state.types)
    assert growth is not None
    wider = begun(state, growth).facts()
    assert announce(sink, wider, wider)[1].alters == ("[[s < 1, alter(t, y -> y * 2)]]",)


def test_an_alter_is_not_of_tuples_that_no_text_of_it_describes() -> None:
    """Which h are above 30 degC is told by k and p; no text is of the tuples without k. Their t was written as if one
    were, so that its readers had it wrong (G22, G23)."""
    schema = "k?: long, p: double, h: double unit degF, t: double"
    plan = compile_query(f"stream r({schema}) from json 'r'; emit r to json 'out';").plan
    reference, decoder = Reference(plan), Decoder()
    items: list[Item] = [
        {"$accent": "[[p > 500, k in [3, 20), alter(h, y -> y * 2 + 1)]]"},
        {"$accent": "[[h > 30 degC, alter(t, y -> y + 1)]]"},
        {"p": 1.0, "h": 90.0, "t": 14.0},
        {"p": 1000.0, "h": 90.0, "t": 14.0},
        {"k": 4, "p": 1000.0, "h": 190.0, "t": 14.0},
        {"k": 4, "p": 1.0, "h": 90.0, "t": 14.0},
        {"k": 4, "p": 1.0, "h": 80.0, "t": 14.0},
    ]
    outputs = [out["r"] for item in items for out in reference.step([("r", item)])]
    assert [float(row["t"]) for out in outputs for row in out.canonical] == [13, 13, 13, 13, 14]
    read = [decoder.feed(item) for out in outputs for item in out.items()]
    assert [float(row["t"]) for row in read if row is not None] == [13, 13, 13, 13, 14]


SESSIONS = """
stream r(ts: long, x: double, p?: double) from json "r" punctuated on ts;
visits := session[3 on ts as since](r);
emit visits to json "visits";
"""


def test_an_alter_does_not_tell_tuples_apart_that_only_wait() -> None:
    """Tuples with `p > 500` come no more, but sessions may still contain some. An Alter of `x` by `p` could not be
    followed by an Add of `p` in other units (RQ467), which the stream itself takes."""
    reference = Reference(compile_query(SESSIONS).plan)
    lines: list[Item] = [
        {"ts": 1, "x": 5.0, "p": 7.0},
        {"$accent": "[[alter(p, y -> y / 10)]]"},
        {"$punctuation": "[p > 500]"},
        {"$accent": "[[alter(x, y -> y / 1000)]]"},
        {"$accent": "[[+(p: double)]]"},
        {"ts": 1, "x": 0.004, "p": 1000.0},
        {"$punctuation": "[]"},
    ]
    output = [
        item for line in lines for out in reference.step([("r", line)]) for item in out["visits"].items()
    ]
    assert {"$accent": "[[alter(x, y -> y / 1000)]]"} in output
    decoder = Decoder()
    assert [*filter(None, map(decoder.feed, output))] == [
        {"ts": 1, "since": 1, "x": 5, "p": 7},
        {"ts": 1, "since": 1, "x": 4, "p": 1000},
    ]
