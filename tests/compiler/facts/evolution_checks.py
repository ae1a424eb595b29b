"""Facts of operators, compared with their definitions on small worlds."""

from __future__ import annotations

from collections.abc import Callable

from cedilla.compiler import regions
from cedilla.compiler.facts.facts import ABSENT, PRESENT
from cedilla.compiler.operators import Join, Project, Union, Window
from cedilla.compiler.regions import UNDEFINED
from tests.compiler.worlds import (
    World,
    closed,
    excludes,
    history,
    presence,
)
from tests.kit.strategies import (
    WHOLE,
    rows,
    values,
)


def check_union(left: World, right: World) -> None:
    out = Union(name="u", inputs=("l", "r")).facts((left.facts, right.facts))
    names = {**left.axes, **right.axes}
    probes = (-1, 0, 1, 2, 3, 4, UNDEFINED) if len(names) < 3 else (1, 3, UNDEFINED)
    for cell in rows(dict.fromkeys(names, probes)):
        feeders = [(left, cell), (right, cell)]
        # An Alter waits for no input whose domain excludes what the other's has (D2).
        changing = [
            (world, cell)
            for world, other in ((left, right), (right, left))
            if not any(excludes(world, other, name, cell.get(name, UNDEFINED)) for name in names)
        ]
        for name in names:
            assert regions.contains(out.present[name], cell) == presence(feeders, name), (name, cell)
            gone = closed(feeders) or presence(feeders, name) is ABSENT
            if not gone and not any(w.live([c]) and w.presence(name, c) is not ABSENT for w, c in changing):
                continue  # what has it has a domain that excludes the cell: no tuple is there
            expected = () if gone else history(changing, name)
            assert regions.contains(out.live_units(name), cell) == expected, (name, cell)
        assert regions.contains(out.closed, cell) == closed(feeders)
    for name, domain in out.universe.items():
        for world in (left, right):
            possible = world.axes[name].values if name in world.axes else [UNDEFINED]
            assert all(regions.contains(domain.members, {name: v}) for v in possible)


TS = tuple(range(-13, 26))


def extents(length: int, step: int) -> dict[int, list[int]]:
    """Windows with the times that fall into them, away from the edges of `TS`."""
    inside = {k: list(range(k * step, k * step + length)) for k in range(-10 // step, 20 // step)}
    return {k: times for k, times in inside.items() if TS[0] < times[0] and times[-1] < TS[-1]}


def check_window(world: World, shape: tuple[int, int], *, exact: bool) -> None:
    length, step = shape
    out = Window(name="w", inputs=("s",), length=length, step=step, on="ts", alias="wid").facts(
        (world.facts,)
    )
    times = set(world.axes["ts"].values)
    for k, extent in extents(length, step).items():
        for cell in rows({"s": (0, 1, 3, UNDEFINED), "X": (1, UNDEFINED)}):
            feeders = [(world, {**cell, "ts": t}) for t in extent if t in times]
            image = {**cell, "wid": k}
            got = regions.contains(out.present["X"], image)
            # What is closed of times alone is closed of each, and a tuple without a time is in no window.
            live = [t for t in extent if not world.closed.meaning({**cell, "ts": t})]
            at = {**image, "ts": (live or extent)[0]}
            units = regions.contains(out.live_units("X"), at) if "X" in out.units else None
            shut = all(regions.contains(out.closed, {**image, "ts": t}) for t in extent)
            if exact:
                assert got == presence(feeders, "X"), image
                assert units is None or units == history(feeders, "X"), image
                assert shut == closed(feeders), image
            else:
                # That a window is closed by its declared times alone is not known.
                assert got >= presence(feeders, "X") or closed(feeders), image
                assert not shut or closed(feeders), image
                if units and not closed(feeders) and presence(feeders, "X") is not ABSENT:
                    assert set(units) <= set(history(feeders, "X")), image
            for t in extent:  # a pattern on the time itself stays
                if world.closed.meaning({**cell, "ts": t}):
                    assert regions.contains(out.closed, {**image, "ts": t})


STEPS: dict[str, Callable[[int], int]] = {
    "floor(ts / 3)": lambda t: t // 3,
    "floor((ts - 1) / 4)": lambda t: (t - 1) // 4,
    "2 * floor(ts * 0.2) + 1": lambda t: 2 * (t // 5) + 1,
    "floor(floor(ts / 2) / 3)": lambda t: t // 6,
    "floor((floor(ts / 2) + 1) / 2)": lambda t: (t // 2 + 1) // 2,
    "floor(2 * ts / 3)": lambda t: 2 * t // 3,
    "floor(ts * 1.5 - 2)": lambda t: (3 * t - 4) // 2,
}


def check_steps(world: World, text: str, *, kept: bool) -> None:
    """`kept`: the attribute itself is in the output too, so descriptions go on with it."""
    exact = "2 * ts / 3" not in text and "1.5" not in text
    items = {"y": text, "s": "s", "X": "X", **({"ts": "ts"} if kept else {})}
    out = Project(name="p", inputs=("s",), items=items).facts((world.facts,))
    cells: dict[int, list[int]] = {}
    for t in range(-60, 61):
        cells.setdefault(STEPS[text](t), []).append(t)
    times = set(world.axes["ts"].values)
    for y, extent in cells.items():
        if not TS[0] < extent[0] <= extent[-1] < TS[-1]:
            continue
        for cell in rows({"s": (0, 1, 3, UNDEFINED), "X": (1, UNDEFINED)}):
            feeders = [(world, {**cell, "ts": t}) for t in extent if t in times]
            image = {**cell, "y": y}
            shut = all(regions.contains(out.closed, {**image, "ts": t} if kept else image) for t in extent)
            assert shut == closed(feeders) if exact else not shut or closed(feeders), image
            if kept:
                continue
            got = regions.contains(out.present["X"], image)
            units = regions.contains(out.live_units("X"), image) if "X" in out.units else None
            if exact:
                assert got == presence(feeders, "X"), image
                assert units is None or units == history(feeders, "X"), image
            elif not closed(feeders):
                assert got >= presence(feeders, "X"), image
                assert not units or set(units) <= set(history(feeders, "X")) or not history(feeders, "X")
            if feeders:
                assert regions.contains(out.universe["y"].members, image)


def check_join(left: World, right: World) -> None:
    out = Join(name="j", inputs=("l", "r"), on=[("k", "k")]).facts((left.facts, right.facts))
    both = set(left.axes["k"].values) & set(right.axes["k"].values) - {UNDEFINED}
    for key in both:
        feeders = [(left, c) for c in left.fibre({"k": key}, ["X", "a"])]
        feeders += [(right, c) for c in right.fibre({"k": key}, ["Y", "b"])]
        if "k" in out.units:
            assert regions.contains(out.units["k"], {"k": key}) == history(feeders, "k"), key
    space = {
        "k": sorted(both),
        "a": (0, 1, UNDEFINED),
        "X": (1, 3),
        "b": (0, 2, UNDEFINED),
        "Y": (1, UNDEFINED),
    }
    for cell in rows(space):
        assert regions.contains(out.closed, cell) == (
            left.closed.meaning(cell) and right.closed.meaning(cell)
        )
        assert regions.contains(out.present["X"], cell) == left.presence("X", cell)
        assert regions.contains(out.present["Y"], cell) == right.presence("Y", cell)
        assert regions.contains(out.present["k"], cell) == PRESENT
        for name, world in (("X", left), ("Y", right)):
            assert name not in out.units or regions.contains(out.units[name], cell) == world.history(
                name, cell
            )
    for value in WHOLE:
        assert regions.contains(out.universe["k"].members, {"k": value}) == (value in both)


def check_purge(left: World, right: World, pairs: list[tuple[str, str]]) -> None:
    regions_of = Join(name="j", inputs=("l", "r"), on=pairs).purge((left.facts, right.facts))
    sides = [(left, right, pairs), (right, left, [(b, a) for a, b in pairs])]
    for (mine, other, on), purged in zip(sides, regions_of, strict=True):
        partners = list(rows(values(other.axes)))
        keys = {a for a, _ in on}
        for cell in rows({n: mine.axes[n].values for n in keys}):
            if keys - cell.keys():
                continue
            joinable = [t for t in partners if all(t.get(b) == cell[a] for a, b in on)]
            if not joinable:
                continue
            kept = any(not other.closed.meaning(t) for t in joinable)
            assert regions.contains(purged, cell) == (not kept), (pairs, cell)
