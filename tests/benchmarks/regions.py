"""How long the control plane takes for n descriptions `s = k`, with a coverage question after each.

`python tests/benchmarks/regions.py` prints seconds and microseconds per description; the latter stay the same
where the cost is linear (design, section 3).
"""

from collections.abc import Callable
from time import perf_counter

from cedilla.compiler import regions
from cedilla.compiler.affine import Affine
from cedilla.compiler.evolution import ABSENT, ORIGINAL, PRESENT
from cedilla.compiler.regions import Domain, Tree

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
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


def seconds(work: Callable[[int], None], n: int) -> float:
    start = perf_counter()
    work(n)
    return perf_counter() - start


def main() -> None:
    print(f"{'':20}" + "".join(f"{n:>20,}" for n in SIZES))
    for work in (covered_domain, unbounded_domain, presence_of_boxes, histories):
        cells = ((taken := seconds(work, n), taken / n * 1e6) for n in SIZES)
        print(f"{work.__name__:20}" + "".join(f"{s:9.2f} s {us:6.1f} us" for s, us in cells), flush=True)


if __name__ == "__main__":
    main()
