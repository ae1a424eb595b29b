"""Orders the nodes of a graph in layers so that few edges cross (Sugiyama, Tagawa and Toda 1981).

An edge over several layers has a bend in each layer between, so that it passes between nodes and never under one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Node = str | tuple[str, str, int]
"""A node, or a bend: the ends of its edge and its layer."""
Edge = tuple[str, str]
Orders = list[list[Node]]

_SWEEPS = 12
"""How often layers are ordered by their neighbours on either side."""


def layers_of(inputs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Returns the length of the longest way from a source to each node. `inputs`: those of each node, nodes in
    topological order."""
    layers: dict[str, int] = {}
    for node, sources in inputs.items():
        layers[node] = 1 + max((layers[name] for name in sources), default=-1)
    return layers


def rows_of(inputs: Mapping[str, Sequence[str]]) -> tuple[dict[str, float], dict[Edge, list[float]]]:
    """Returns the row of each node within its layer, and the rows of each edge's bends. Rows of a layer differ by one
    or more.

    >>> rows_of({"a": (), "b": ("a",), "both": ("a", "b")})
    ({'a': 0.5, 'b': 0.0, 'both': 0.5}, {('a', 'b'): [], ('a', 'both'): [1.0], ('b', 'both'): []})
    """
    layers = layers_of(inputs)
    edges = [(name, node) for node, names in inputs.items() for name in dict.fromkeys(names)]
    ways = {edge: _way(edge, layers) for edge in edges}
    orders: Orders = [[] for _ in range(1 + max(layers.values(), default=-1))]
    for node in inputs:
        orders[layers[node]].append(node)
    for edge, way in ways.items():
        for bend in way[1:-1]:
            orders[layers[edge[0]] + way.index(bend)].append(bend)
    neighbours = _neighbours(ways.values())
    best, fewest = orders, crossings(orders, ways.values())
    for sweep in range(_SWEEPS):
        orders = _swept(orders, neighbours, forwards=sweep % 2 == 0)
        if (crossed := crossings(orders, ways.values())) < fewest:
            best, fewest = orders, crossed
    rows = _straightened(best, neighbours)
    return {node: rows[node] for node in inputs}, {
        edge: [rows[b] for b in way[1:-1]] for edge, way in ways.items()
    }


def crossings(orders: Orders, ways: Iterable[Sequence[Node]]) -> int:
    """Returns the number of pairs of edges that cross between two layers."""
    index = {node: (layer, at) for layer, order in enumerate(orders) for at, node in enumerate(order)}
    steps: dict[int, list[tuple[int, int]]] = {}
    for way in ways:
        for left, right in pairwise(way):
            steps.setdefault(index[left][0], []).append((index[left][1], index[right][1]))
    return sum(
        (a - c) * (b - d) < 0
        for between in steps.values()
        for n, (a, b) in enumerate(between)
        for c, d in between[:n]
    )


def _way(edge: Edge, layers: Mapping[str, int]) -> list[Node]:
    first, last = edge
    return [first, *((first, last, layer) for layer in range(layers[first] + 1, layers[last])), last]


def _neighbours(ways: Iterable[Sequence[Node]]) -> dict[Node, tuple[list[Node], list[Node]]]:
    """Returns the neighbours of each node in the layer before it, and in the one after it."""
    neighbours: dict[Node, tuple[list[Node], list[Node]]] = {}
    for way in ways:
        for left, right in pairwise(way):
            neighbours.setdefault(right, ([], []))[0].append(left)
            neighbours.setdefault(left, ([], []))[1].append(right)
    return neighbours


def _swept(
    orders: Orders, neighbours: Mapping[Node, tuple[list[Node], list[Node]]], *, forwards: bool
) -> Orders:
    """Orders each layer by the mean place of its nodes' neighbours in the layer that is done."""
    done: Orders = []
    for order in orders if forwards else reversed(orders):
        at = {node: row / max(1, len(done[-1]) - 1) for row, node in enumerate(done[-1])} if done else {}
        own = {node: row / max(1, len(order) - 1) for row, node in enumerate(order)}

        def centre(node: Node, at: Mapping[Node, float] = at, own: Mapping[Node, float] = own) -> float:
            near = [at[n] for n in neighbours.get(node, ((), ()))[0 if forwards else 1] if n in at]
            return sum(near) / len(near) if near else own[node]

        done.append(sorted(order, key=centre))
    return done if forwards else done[::-1]


def _straightened(
    orders: Orders, neighbours: Mapping[Node, tuple[list[Node], list[Node]]]
) -> dict[Node, float]:
    """Returns the row of each node: near the mean of its neighbours, in the order of its layer, one or more apart."""
    tall = max(map(len, orders), default=0)
    rows = {node: at + (tall - len(order)) / 2 for order in orders for at, node in enumerate(order)}
    for sweep in range(_SWEEPS):
        for order in orders if sweep % 2 == 0 else reversed(orders):
            wished = [
                _mean([rows[n] for side in neighbours.get(node, ()) for n in side], rows[node])
                for node in order
            ]
            for node, row in zip(order, _apart(wished), strict=True):
                rows[node] = row
    least = min(rows.values(), default=0.0)
    return {node: round(row - least, 2) for node, row in rows.items()}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(wished: Sequence[float]) -> list[float]:
    """Returns rows in the same order, at least one apart, with the least squares of distances to the wished ones.

    >>> _apart([0.0, 0.0, 3.0])
    [-0.5, 0.5, 3.0]
    """
    blocks: list[list[float]] = []  # sums and counts of wishes, each less its index: such rows may be equal
    for row, wish in enumerate(wished):
        blocks.append([wish - row, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + count]
    means = [total / count for total, count in blocks for _ in range(int(count))]
    return [mean + row for row, mean in enumerate(means)]
