"""The layout of a plan: few edges cross, and none passes behind a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cedilla.compiler import compile_query
from cedilla.runtime.tools.inspect.layered_layout import rows_of
from cedilla.runtime.tools.inspect.plan_graph import plan_graph
from tests.kit import ROOT
from tests.runtime.hosts.ui import fleet

Segment = tuple[int, float, float]
"""A part of an edge: the layer where it begins, its row there, and its row in the next layer."""


def segments(graph: Mapping[str, Any]) -> list[list[Segment]]:
    nodes = {node["id"]: node for node in graph["nodes"]}
    ways = []
    for first, last, bends in graph["edges"]:
        rows = [nodes[first]["row"], *bends, nodes[last]["row"]]
        assert len(rows) == nodes[last]["layer"] - nodes[first]["layer"] + 1
        ways.append([(nodes[first]["layer"] + n, a, b) for n, (a, b) in enumerate(pairwise(rows))])
    return ways


def crossed(graph: Mapping[str, Any]) -> int:
    ways = segments(graph)
    return sum(
        layer == other and (a - c) * (b - d) < 0
        for n, way in enumerate(ways)
        for before in ways[:n]
        for layer, a, b in way
        for other, c, d in before
    )


QUERIES = sorted(path for path in (ROOT / "queries").rglob("*.rq") if "compose" not in path.parts)


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(ROOT / "queries")))
def test_no_edges_cross_in_the_plans_of_the_examples(path: Path) -> None:
    assert crossed(plan_graph(compile_query(str(path)).plan)) == 0


def test_an_edge_over_several_layers_passes_beside_their_nodes() -> None:
    graph = plan_graph(compile_query(fleet.QUERY).plan)
    assert crossed(graph) == 0
    rows: dict[int, list[float]] = {}
    for node in graph["nodes"]:
        rows.setdefault(node["layer"], []).append(node["row"])
    for way in segments(graph):
        for layer, row, _ in way[1:]:
            assert all(abs(row - other) >= 0.99 for other in rows[layer])


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Sequence[str]]:
    names = [f"n{n}" for n in range(draw(st.integers(1, 14)))]
    return {
        name: draw(st.lists(st.sampled_from(names[:at]), max_size=3, unique=True)) if at else []
        for at, name in enumerate(names)
    }


@given(graphs())
def test_the_rows_of_a_layer_are_apart(inputs: dict[str, Sequence[str]]) -> None:
    rows, bends = rows_of(inputs)
    layers: dict[str, int] = {}
    taken: dict[int, list[float]] = {}
    for node, sources in inputs.items():
        layers[node] = 1 + max((layers[name] for name in sources), default=-1)
        taken.setdefault(layers[node], []).append(rows[node])
    for (first, _), passed in bends.items():
        for n, row in enumerate(passed, layers[first] + 1):
            taken[n].append(row)
    for of_layer in taken.values():
        assert all(b - a >= 0.98 for a, b in pairwise(sorted(of_layer)))
    assert min(map(min, taken.values())) == 0
