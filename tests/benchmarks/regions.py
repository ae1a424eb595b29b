"""The control plane alone: how long n accents or punctuations take from their text to the commit record.

`python tests/benchmarks/regions.py` prints microseconds of processor time per marker; they stay the same where
the cost is linear (design, section 3). `--least N` and `--most N` set the smallest and the largest number, `--only
KIND` one kind of marker, or `trees`; `--json FILE` writes the figures, too.
Nothing here starts Spark.

Per kind of marker, all at points `s = k`: the epoch in which they come, step by step, and the epoch after it,
which brings one punctuation and whose cost should not depend on n. Then the trees and their feeders by themselves.
"""

import argparse
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import process_time

from attrs import define, field

from cedilla.compiler import compile_query, regions
from cedilla.compiler.expressions.types import Type
from cedilla.compiler.facts.facts import (
    ABSENT,
    ORIGINAL,
    PRESENT,
    Facts,
    fold_closed,
    fold_presence,
    fold_units,
)
from cedilla.compiler.plan import Plan, derive
from cedilla.compiler.regions import Domain, Tree
from cedilla.compiler.regions.affine import Affine
from cedilla.runtime.connectors.records.marker import MarkerLine
from cedilla.runtime.control.markers.advance import advance
from cedilla.runtime.control.sinks.announce import SinkState, begin, finish
from cedilla.runtime.control.sources.source_state import SourceState
from cedilla.runtime.epochs.checkpoint.commit_json import dump_commit
from cedilla.runtime.epochs.checkpoint.commits import Commit

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUERY = """
stream readings(ts: long, s: int, t: double, u?: double) from json "in" punctuated on ts;
hot := select[t > 10](readings);
emit hot to json "out";
"""
MARKERS: dict[str, Callable[[int], tuple[str, str]]] = {
    "alters, one function": lambda k: ("accent", f"[[s = {k}, alter(t, y -> y * 2 + 1)]]"),
    "alters, n functions": lambda k: ("accent", f"[[s = {k}, alter(t, y -> y * {k + 2} + 1)]]"),
    "adds": lambda k: ("accent", f"[[s = {k}, +(p: double)]]"),
    "drops": lambda k: ("accent", f"[[s = {k}, -(u)]]"),
    "punctuations": lambda k: ("punctuation", f"[s = {2 * k}]"),
}


@define
class Query:
    """A running query without its data; `epoch` returns the seconds that each step took."""

    plan: Plan
    states: dict[str, SourceState] = field(init=False)
    sink: SinkState = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.states = {s.name: SourceState.start(s, self.plan.droppable[s.name]) for s in self.plan.sources}
        self.sink = SinkState.start(self.plan.start[self.plan.emits[0].relation])

    def epoch(self, markers: list[MarkerLine]) -> dict[str, float]:
        source, relation = self.plan.sources[0].name, self.plan.emits[0].relation
        marks = [process_time()]

        def lap() -> None:
            marks.append(process_time())

        advanced = advance(self.plan, self.states, {source: markers})
        assert not advanced.stops
        lap()
        closed = self.states[source].closed
        derive(self.plan, {n: s.facts() for n, s in self.states.items()})
        during = derive(self.plan, {n: s.facts_during(closed) for n, s in advanced.states.items()})
        after = derive(self.plan, {n: s.facts() for n, s in advanced.states.items()})
        lap()
        self.sink, _ = finish(*begin(self.sink, during[relation]), after[relation])
        lap()
        self.states = {name: state.next_epoch() for name, state in advanced.states.items()}
        lap()
        json.dumps(dump_commit(Commit(0, sources=self.states, sinks={"out": self.sink})))
        lap()
        taken = [b - a for a, b in pairwise(marks)]
        return dict(zip(("advance", "derive", "announce", "end", "whole record"), taken, strict=True))


def epochs(kind: str, n: int) -> dict[str, float]:
    """Seconds of each step of the epoch that brings n markers, and of the next one."""
    query = Query(compile_query(QUERY).plan)
    first = query.epoch([MarkerLine(*MARKERS[kind](k), k, next=k + 1) for k in range(n)])
    query.epoch([MarkerLine("punctuation", "[ts <= 1]", 0)])
    later = query.epoch([MarkerLine("punctuation", "[ts <= 2]", 0)])
    return {**first, "next epoch": sum(s for step, s in later.items() if step != "whole record")}


# --- trees and feeders by themselves ---------------------------------------------------------------------

FUNCTION = Affine(2, 1)


def covered_domain(n: int) -> None:
    """The region grows; is the declared domain covered yet?"""
    universe = {"s": Domain(regions.values("s", range(n)), integral=True)}
    region: Tree = False
    for k in range(n):
        region = regions.union(region, regions.values("s", [k]))
        assert regions.covers(region, universe) == (k == n - 1)


def unbounded_domain(n: int) -> None:
    """The same where no domain is declared."""
    region: Tree = False
    for k in range(n):
        region = regions.union(region, regions.values("s", [k]))
        assert not regions.covers(region, {})


def presence_of_boxes(n: int) -> None:
    """An Add per point, from some time on."""
    later = regions.interval("t", (10, 0), None)
    presence: Tree = ABSENT
    for k in range(n):
        where = regions.box({"s": regions.values("s", [k]), "t": later})
        presence = regions.update(presence, where, lambda _: PRESENT)


def histories(n: int) -> None:
    """An Alter per point."""
    units: Tree = ORIGINAL
    for k in range(n):
        where = regions.values("s", [k])
        units = regions.update(units, where, lambda h: (*h, FUNCTION.after(h[-1])))


def feeders(n: int) -> None:
    """An Alter, an Add and a punctuation per point, folded as an aggregate over `s` does, and over `ts`."""
    members = Domain(regions.values("s", range(n)), integral=True)
    every = regions.values("s", range(n))
    units = regions.update(ORIGINAL, every, lambda h: (*h, FUNCTION))
    presence = regions.update(ABSENT, every, lambda _: PRESENT)
    closed = regions.union(regions.values("s", range(0, n, 2)), regions.interval("ts", None, (9, 0)))
    types = {"s": Type("int"), "ts": Type("long"), "t": Type("double")}
    facts = Facts(types, {"s": members}, {"t": presence}, {"t": units}, closed)
    for over in (frozenset({"s"}), frozenset({"ts"})):
        fold_presence(facts, presence, over)
        fold_units(facts, "t", over)
        fold_closed(facts, over)


ALONE = "trees"
TREES = (covered_domain, unbounded_domain, presence_of_boxes, histories, feeders)


def seconds(work: Callable[[int], None], n: int) -> float:
    start = process_time()
    work(n)
    return process_time() - start


def measured(sizes: Sequence[int], kinds: Collection[str]) -> Iterator[tuple[str, str, int, float]]:
    """What was measured, the step, n, and the seconds."""
    for kind in MARKERS:
        epochs(kind, 10)  # the parser is built on first use
    for kind in kinds:
        if kind != ALONE:
            for n in sizes:
                for step, taken in epochs(kind, n).items():
                    yield kind, step, n, taken
    if ALONE in kinds:
        for work in TREES:
            for n in sizes:
                yield ALONE, work.__name__.replace("_", " "), n, seconds(work, n)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = [*MARKERS, ALONE]
    parser.add_argument("--least", type=int, default=SIZES[0], help="the smallest number of markers")
    parser.add_argument("--most", type=int, default=100_000, help="the largest number of markers")
    parser.add_argument("--only", choices=kinds, action="append", help="may be repeated")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    sizes = [n for n in SIZES if options.least <= n <= options.most]
    records: list[dict[str, object]] = []
    for what, step, n, taken in measured(sizes, options.only or kinds):
        records.append({"markers": what, "step": step, "n": n, "seconds": taken})
        print(f"{what:22}{step:20}{n:>10,}{taken:10.3f} s{taken / n * 1e6:10.2f} us each", flush=True)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
