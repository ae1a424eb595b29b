"""Operators in plain Python, tuple by tuple; the Spark code must agree with them (theory 1.3).

This module maps operators to nodes, whose classes are in other modules. They are slow and follow the theory
literally; they take regions from `Facts`.
"""

from __future__ import annotations

from cedilla.compiler.operators import OPERATORS, Operator
from cedilla.grammar.diagnostics import failure
from cedilla.runtime.engines.plain import grouping, joins, ordering, sets, tuples, windows
from cedilla.runtime.engines.plain.node import Node

_MODULES = (grouping, joins, ordering, sets, tuples, windows)
NODES: dict[type[Operator], type[Node]] = {
    operator: getattr(module, operator.__name__)
    for operator in OPERATORS
    for module in _MODULES
    if hasattr(module, operator.__name__)
}
"""Operator -> the class of its name."""


def node_of(operator: Operator, purge: bool = True) -> Node:
    """Returns the node of an operator; `DiagnosticError` RQ406 for a user's operator, whose function needs
    Spark.
    """
    if type(operator) not in NODES:
        raise failure(
            "RQ406",
            f"`{operator.name}` cannot be simulated: its function needs Spark",
            operator.span,
            hint="`cedilla run` runs it",
        )
    return NODES[type(operator)](operator, purge)
