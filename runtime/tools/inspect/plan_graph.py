"""The plan of a checkpoint as a graph for a page: nodes in layers, with what `explain` knows of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cedilla.compiler.explain.analysis.behaviour import accents
from cedilla.compiler.explain.explanation import explain_json
from cedilla.compiler.plan import Plan
from cedilla.runtime.epochs.checkpoint.inventory import Stored
from cedilla.runtime.tools.inspect.layered_layout import layers_of, rows_of


def plan_graph(plan: Plan) -> dict[str, Any]:
    """Returns the nodes of a plan, each with its layer from the sources and its row there, and the edges, each with the
    rows that it passes in the layers between."""
    explained = explain_json(plan)
    nodes = [
        *(_source(part) for part in explained["sources"]),
        *(_operator(plan, part) for part in explained["operators"]),
        *(_emit(part) for part in explained["emits"]),
    ]
    inputs = {node["id"]: node["inputs"] for node in nodes}
    layers, (rows, bends) = layers_of(inputs), rows_of(inputs)
    for node in nodes:
        node["layer"], node["row"] = layers[node["id"]], rows[node["id"]]
    return {"nodes": nodes, "edges": [[first, last, passed] for (first, last), passed in bends.items()]}


def with_state(graph: Mapping[str, Any], state: Sequence[Stored], waiting: Mapping[str, list[str]]) -> Any:
    """Returns a graph with the rows and bytes of each operator's state, and what waits there."""
    nodes = [
        {
            **node,
            "rows": sum(stored.rows or 0 for stored in state if _is_of(stored, node["id"])),
            "bytes": sum(stored.bytes for stored in state if _is_of(stored, node["id"])),
            "waits": waiting.get(node["id"], []),
        }
        for node in graph["nodes"]
    ]
    return {**graph, "nodes": nodes}


def _is_of(stored: Stored, name: str) -> bool:
    return stored.name == name or stored.name.startswith(f"{name}.")


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    attributes = [
        f"{a['name']}{'?' if a['optional'] else ''}: {a['type']}{' in ' + a['unit'] if a['unit'] else ''}"
        for a in source["attributes"]
    ]
    facts = [f"from {source['format']} {source['path']}", *attributes]
    facts += [f"punctuated on {', '.join(scheme)}" for scheme in source["punctuated"]]
    kind = "table" if source["table"] else "stream"
    return _node(source["name"], kind, source["name"], (), source["line"], facts)


def _operator(plan: Plan, operator: Mapping[str, Any]) -> dict[str, Any]:
    invariants, keeps = operator["invariants"], operator["state"]["keeps"]
    parameters = [
        f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in operator["parameters"].items()
    ]
    facts = [
        *parameters,
        f"writes {invariants['passes']}",
        f"closes {invariants['propagates']}",
        *([f"forgets {invariants['purges']}"] if operator["stateful"] else ["keeps no tuples"]),
        *(f"keeps {kept['what']}: {kept['bound']}, {kept['because']}" for kept in keeps),
        *map(str, accents(plan, plan.operator_of[operator["name"]])),
    ]
    return _node(
        operator["name"], operator["operator"], operator["name"], operator["inputs"], operator["line"], facts
    )


def _emit(emit: Mapping[str, Any]) -> dict[str, Any]:
    facts = [f"to {emit['format']} {emit['path']}"]
    facts += [f"latest by {', '.join(emit['latest_by'])}"] if emit["latest_by"] else []
    facts += ["in original units"] if emit["original_units"] else []
    return _node(f"emit {emit['name']}", "emit", emit["name"], (emit["relation"],), emit["line"], facts)


def _node(
    id_: str, kind: str, name: str, inputs: Sequence[str], line: int, facts: Sequence[str]
) -> dict[str, Any]:
    return {"id": id_, "kind": kind, "name": name, "inputs": list(inputs), "line": line, "facts": list(facts)}
