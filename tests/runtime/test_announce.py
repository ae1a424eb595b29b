"""What an output tells its readers, as the difference between two instants (theory 3.3)."""

from immutables import Map

from cedilla.compiler import compile_query, regions
from cedilla.compiler.affine import IDENTITY, Affine
from cedilla.compiler.evolution import ABSENT, ORIGINAL, PRESENT, Facts
from cedilla.compiler.markers import read_accent, read_punctuation
from cedilla.compiler.plan import derive
from cedilla.compiler.regions import Steps
from cedilla.compiler.types import DOUBLE, LONG
from cedilla.runtime.announce import SinkState, announce
from cedilla.runtime.control import SourceState

TWICE, SIX = Affine(2, 0), Affine(6, 0)


def by_key(ordinary: object, points: dict[int, object]) -> Steps:
    return Steps("k", ordinary, (), (ordinary,), Map(points))


def test_an_alter_concerns_cells_that_have_the_attribute() -> None:
    """After `[[k in {1, 2}, alter(t)]]` and `[[k = 1, alter(t)]]`, with t at k = 1 alone, a reader is told of k = 1
    only: an accent on an attribute that is nowhere in its description ends a query (P4, RQ206)."""
    types, universe = {"k": LONG, "t": DOUBLE}, {"k": regions.Domain(True, True)}
    before = Facts(types, universe, {"k": PRESENT, "t": by_key(ABSENT, {1: PRESENT})})
    units = by_key(ORIGINAL, {1: (IDENTITY, TWICE, SIX), 2: (IDENTITY, TWICE)})
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
    """Where windows close one after the other, units that hundreds of accents tell apart by sensor stay the same
    objects: what an epoch costs does not grow with the accents in force (D1, theory 1.4)."""
    for result in (
        "result := aggregate[avg(t) as t, count() as n by s, wid](windows);",
        "result := project[wid, s, t](windows);",
        "result := aggregate[min(t) as t by s](windows);",
    ):
        plan = compile_query(FLEET.format(result=result), "fleet.rq").plan
        state = SourceState.start(plan.sources[0], frozenset())
        for sensor in range(300):
            accent = read_accent(f"[[s = {sensor}, alter(t, y -> y * {sensor % 3 + 2})]]", state.types)
            state = state.accent(accent, 0)
        seen = []
        for time in (1_000, 2_000):
            state = state.punctuate(read_punctuation(f"[ts < {time}]", state.types), 0).next_epoch()
            seen.append(derive(plan, {"readings": state.facts()})["result"])
        assert seen[0].closed != seen[1].closed or "by s]" in result
        assert seen[0].units["t"] is seen[1].units["t"]
        assert regions.contains(seen[1].live_units("t"), {"s": 4, "wid": 9}) == (IDENTITY, Affine(3, 0))
